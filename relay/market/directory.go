package market

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"unicode"

	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

var errNoListing = refuse(relay.CodeNotFound, "the agent is not listed")

// Limits of one listing.
const (
	maxWords       = 32
	maxWord        = 64   // characters
	maxDescription = 1000 // bytes
	maxEndpoint    = 512
	maxSessions    = 1 << 20
)

var (
	errWords       = errors.New("want at most 32 words of a-z, 0-9, dots, - and _, with at most 64 characters")
	errDescription = errors.New("want at most 1000 bytes of text without control characters")
	errEndpoint    = errors.New("want an https URL of at most 512 bytes")
	errCategories  = errors.New("want at most 32 categories")
)

func isWord(s string) bool {
	return s != "" && len(s) <= maxWord && !strings.ContainsFunc(s, func(c rune) bool {
		return !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_')
	})
}

// readWords reads a list of words that may be left out.
func readWords(r wire.Reader, name string, check func(string) error, cause error) []string {
	list := []string{}
	if !r.Has(name) {
		return list
	}
	list = append(list, r.Strings(name)...)
	if len(list) > maxWords {
		r.Fail(name, cause)
	}
	for _, w := range list {
		if err := check(w); err != nil {
			r.Fail(name, err)
		}
	}
	return list
}

// A listing is what an agent says it does; all but its key and its times is its own word,
// and unsigned.
type listing struct {
	capabilities wire.M
	members      wire.M
}

// readListing reads the request to be listed.
func readListing(r wire.Reader) (listing, error) {
	word := func(s string) error {
		if isWord(s) {
			return nil
		}
		return errWords
	}
	l := listing{
		capabilities: wire.M{
			"protocol": "concordia", "version": wire.ProtocolVersion,
			"roles": readWords(r, "roles", word, errWords), "categories": readWords(r, "categories", match.CheckCategory, errCategories),
			"resolution_mechanisms": readWords(r, "resolution_mechanisms", word, errWords),
		},
		members: wire.M{"concordia_preferred": true},
	}
	if r.Has("max_concurrent_sessions") {
		l.capabilities["max_concurrent_sessions"] = r.Int("max_concurrent_sessions", 1, maxSessions)
	}
	if r.Has("endpoint") {
		text := r.Text("endpoint")
		if u, err := url.Parse(text); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(text) > maxEndpoint {
			r.Fail("endpoint", errEndpoint)
		}
		l.members["endpoint"] = text
	}
	if r.Has("description") {
		text := r.Text("description")
		if len(text) > maxDescription || strings.ContainsFunc(text, func(c rune) bool { return unicode.IsControl(c) && c != '\n' || wire.IsInvisible(c) }) {
			r.Fail("description", errDescription)
		}
		l.members["description"] = text
	}
	return l, r.Err()
}

// CheckListing says what is wrong with a request to be listed, for whoever makes it: a
// market that refuses it says less.
func CheckListing(r wire.Reader) error {
	_, err := readListing(r)
	return err
}

func (m *Market) doList(ctx context.Context, c *relay.Call) (wire.Value, error) {
	l, err := readListing(c.Request)
	if err != nil {
		return wire.Value{}, err
	}
	now := m.now()
	public, err := c.Agent.Key(c.Agent.ID, now)
	if err != nil {
		return wire.Value{}, err
	}
	expires := now.Add(seconds(m.opts.Limits.ListingLife))
	l.members["agent_id"], l.members["public_key"], l.members["capabilities"] = c.Agent.ID, public, l.capabilities
	l.members["last_seen"], l.members["expires_at"] = wire.FormatTime(now), wire.FormatTime(expires)
	var v wire.Value
	err = m.driver.Update(ctx, func(tx relay.Tx) error {
		key := keyListing + string(c.Agent.ID)
		known, err := get(tx, key)
		since := now
		switch {
		case err != nil:
			return err
		case known != nil && now.Before(known.expires):
			since = known.since
		case known == nil && !add(tx, countListings, 1, m.opts.Limits.Listings):
			return quota("listings", "the directory has as many agents as it takes")
		}
		if err := m.room(); err != nil {
			return err
		}
		l.members["registered_at"] = wire.FormatTime(since)
		if v, err = wire.Encode(l.members); err != nil {
			return err
		}
		return m.put(tx, key, known, &record{since, expires, v.Canonical()})
	})
	return v, err
}

func (m *Market) doUnlist(ctx context.Context, c *relay.Call) (wire.Value, error) {
	err := m.driver.Update(ctx, func(tx relay.Tx) error {
		key := keyListing + string(c.Agent.ID)
		known, err := get(tx, key)
		switch {
		case err != nil:
			return err
		case known == nil:
			return errNoListing
		}
		add(tx, countListings, -1, 0)
		drop(tx, key, known)
		return nil
	})
	if err != nil {
		return wire.Value{}, err
	}
	return wire.Encode(wire.M{})
}

// one reads the record of an agent that counts now; nil: there is none.
func (m *Market) one(ctx context.Context, kind string, r wire.Reader) (v wire.Value, found bool, err error) {
	agent := wire.PlainDIDKey(wire.ReadID[wire.AgentID](r, "agent_id"))
	if err := r.Err(); err != nil {
		return v, false, err
	}
	err = m.driver.View(ctx, func(r relay.Reader) error {
		rec, err := get(r, kind+string(agent))
		if err != nil || rec == nil || rec.text == "" || !m.now().Before(rec.expires) {
			return err
		}
		found = true
		v, err = parse(rec.text)
		return err
	})
	return v, found, err
}

// scan collects the records of agents behind one that count now and are wanted: as many
// as fit into an answer, of those that it looks at. It returns behind whom to go on, ""
// if there are no more.
func (m *Market) scan(ctx context.Context, kind string, after wire.AgentID, want func(wire.Value) bool) (list []wire.Value, next wire.AgentID, err error) {
	now := m.now()
	err = m.driver.View(ctx, func(r relay.Reader) error {
		list, next = []wire.Value{}, ""
		looked, size := 0, 0
		last := after
		for k, b := range r.Scan(kind, kind+string(after)) {
			if looked == lookAt || len(list) == pageLength || size > pageSize {
				next = last
				return nil
			}
			looked++
			last = wire.AgentID(k[len(kind):])
			rec, err := decode(b)
			if err != nil || rec.text == "" || !now.Before(rec.expires) {
				continue
			}
			if v, err := parse(rec.text); err == nil && want(v) { // else an audit finds it
				size += len(rec.text)
				list = append(list, v)
			}
		}
		return nil
	})
	return list, next, err
}

func (m *Market) doAgent(ctx context.Context, c *relay.Call) (wire.Value, error) {
	v, found, err := m.one(ctx, keyListing, c.Request)
	if err == nil && !found {
		err = errNoListing
	}
	return v, err
}

// texts returns the strings of an array.
func texts(v wire.Value) (list []string) {
	for _, e := range v.Elems() {
		list = append(list, e.Text())
	}
	return list
}

// has reports whether a list has a word, or none is asked for.
func has(list []string, word string) bool {
	if word == "" {
		return true
	}
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
}

func (m *Market) doAgents(ctx context.Context, c *relay.Call) (wire.Value, error) {
	r := c.Request
	category, role, mechanism := readCategory(r), r.OptText("role"), r.OptText("resolution_mechanism")
	return m.answerScan(ctx, c, keyListing, "agents", func(v wire.Value) bool {
		roles, _ := v.At("capabilities", "roles")
		categories, _ := v.At("capabilities", "categories")
		mechanisms, _ := v.At("capabilities", "resolution_mechanisms")
		return covers(texts(categories), category) && has(texts(roles), role) && has(texts(mechanisms), mechanism)
	})
}

// answerScan answers with the records of agents that are wanted.
func (m *Market) answerScan(ctx context.Context, c *relay.Call, kind, name string, want func(wire.Value) bool) (wire.Value, error) {
	after := wire.OptID[wire.AgentID](c.Request, "after")
	if err := c.Request.Err(); err != nil {
		return wire.Value{}, err
	}
	list, next, err := m.scan(ctx, kind, after, want)
	if err != nil {
		return wire.Value{}, err
	}
	answer := wire.M{name: list}
	if next != "" {
		answer["after"] = next
	}
	return wire.Encode(answer)
}
