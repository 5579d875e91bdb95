package market

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// A Market keeps wants, haves, listings and profiles. Its methods may be called from many
// goroutines, and on several relays that share one driver's mail.
type Market struct {
	driver relay.Driver
	opts   Options

	mu   sync.Mutex // guards what follows
	book match.Book
	last uint64 // number up to which the book has what was posted
}

// Options of [Open].
type Options struct {
	Limits Limits           // zero fields are those of DefaultLimits
	Now    func() time.Time // the clock; required

	// FreeSpace is how many bytes the disk must have left, or nothing is taken.
	FreeSpace int64
}

// Open reads the market in a relay's mail.
func Open(ctx context.Context, driver relay.Driver, opts Options) (*Market, error) {
	if opts.Now == nil {
		return nil, errors.New("opening a market: a clock is required")
	}
	if err := opts.Limits.check(); err != nil {
		return nil, fmt.Errorf("opening a market: %w", err)
	}
	opts.Limits.fill()
	m := &Market{driver: driver, opts: opts}
	if err := m.look(ctx, func(relay.Reader) error { return nil }); err != nil {
		return nil, fmt.Errorf("opening a market: %w", err)
	}
	return m, nil
}

func (m *Market) now() time.Time { return m.opts.Now().UTC() }

// look runs f with a book that has all that was posted before.
func (m *Market) look(ctx context.Context, f func(relay.Reader) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.driver.View(ctx, func(r relay.Reader) error {
		for k, b := range r.Scan(keyEntry, keyEntry+big(m.last)) {
			m.last = number([]byte(k[len(keyEntry):]))
			if p, err := posted(m.last, b); err == nil { // else an audit finds it
				m.book.Add(p)
			}
		}
		return f(r)
	})
}

// posted makes an entry of a book of a record.
func posted(number uint64, b []byte) (*match.Posted, error) {
	rec, err := decode(b)
	if err != nil {
		return nil, err
	}
	e, err := match.Parse([]byte(rec.text))
	if err != nil {
		return nil, errDamaged
	}
	return &match.Posted{Entry: e, Number: number, Posted: rec.since, Expires: rec.expires}, nil
}

// room refuses what takes space when the disk is full.
func (m *Market) room() error {
	if _, free := m.driver.Size(); free >= 0 && free < m.opts.FreeSpace {
		return quota("free_bytes", "the relay's disk is full")
	}
	return nil
}

// sweepBatch bounds what one transaction of a sweep does.
const sweepBatch = 256

// BUG(market): One look into the book is made after the other. Each takes some
// milliseconds at most, but many agents who search at once wait for each other.

// BUG(market): Whom an agent has denied at the relay can still match its entries: the market
// knows nothing of consent, which decides about invitations.

// Sweep removes what has expired, and returns how many records that were.
func (m *Market) Sweep(ctx context.Context) (int, error) {
	total := 0
	for {
		now := m.now()
		var removed []*match.Posted
		n := 0
		err := m.driver.Update(ctx, func(tx relay.Tx) error {
			removed, n = nil, 0
			var due []string
			for k := range tx.Scan(keyDue, "") {
				if k > keyDue+instant(now)+"\xff" || len(due) == sweepBatch {
					break
				}
				due = append(due, k)
			}
			for _, at := range due {
				n++
				k := at[min(len(at), len(keyDue)+8):]
				rec, err := get(tx, k)
				if err != nil || rec == nil {
					tx.Delete(at) // what cannot be read nobody finds, either
					continue
				}
				switch kind, rest := k[:2], k[2:]; kind {
				case keyEntry:
					if p, err := posted(number([]byte(rest)), tx.Get(k)); err == nil {
						m.removeEntry(tx, p)
						removed = append(removed, p)
						continue
					}
					drop(tx, k, rec)
				case keyListing:
					add(tx, countListings, -1, 0)
					drop(tx, k, rec)
				case keyProfile:
					if err := m.forget(tx, k, rec, now); err != nil {
						return err
					}
				default:
					tx.Delete(at)
				}
			}
			return nil
		})
		if err != nil {
			return total, err
		}
		m.forgetEntries(removed)
		if total += n; n < sweepBatch {
			return total, nil
		}
	}
}

// forgetEntries takes entries out of the book, unless others have come with their ids.
func (m *Market) forgetEntries(removed []*match.Posted) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range removed {
		if known := m.book.Get(p.ID); known != nil && known.Number == p.Number {
			m.book.Remove(p.ID)
		}
	}
}

// Counts returns how many wants, haves, listings and profiles there are.
func (m *Market) Counts() map[string]int64 {
	all := map[string]int64{}
	for name := range counters {
		all[name] = 0
	}
	_ = m.driver.View(context.Background(), func(r relay.Reader) error { // the relay says itself when it cannot be read
		for name, key := range counters {
			all[name] = int64(number(r.Get(key)))
		}
		return nil
	})
	return all
}

// doStats says how much there is. The counters are kept with what they count: nothing is
// looked through.
func (m *Market) doStats(ctx context.Context, c *relay.Call) (wire.Value, error) {
	if err := c.Request.Err(); err != nil {
		return wire.Value{}, err
	}
	all := wire.M{}
	err := m.driver.View(ctx, func(r relay.Reader) error {
		for name, key := range counters {
			all[name] = number(r.Get(key))
		}
		return nil
	})
	if err != nil {
		return wire.Value{}, err
	}
	delete(all, "bytes") // the operator's
	return wire.Encode(all)
}

//go:embed schemas.json
var schemas []byte

// Service returns the market as a service of a relay.
func (m *Market) Service() relay.Service {
	v, err := wire.Parse(schemas, wire.DocumentLimits)
	if err != nil {
		panic("market: schemas.json: " + err.Error())
	}
	return relay.Service{
		Name: "market", Limits: m.opts.Limits, Schemas: v, Sweep: m.Sweep, Counts: m.Counts,
		Operations: []relay.Operation{
			{Name: "market_post", Summary: "Post a want or a have, and see what matches.", Members: "entry", Do: m.doPost,
				Codes: []relay.Code{relay.CodeRejected, relay.CodeIDConflict, relay.CodeQuota}},
			{Name: "market_withdraw", Summary: "Take a want or a have back.", Members: "id", Do: m.doWithdraw, Codes: []relay.Code{relay.CodeNotFound}},
			{Name: "market_entry", Summary: "Show a want or a have.", Members: "id", Do: m.doEntry, Codes: []relay.Code{relay.CodeNotFound}},
			{Name: "market_search", Summary: "Search wants or haves by category or agent, the newest first.", Members: "type category? agent_id? before?", Do: m.doSearch},
			{Name: "market_matches", Summary: "Show what matches an own want or have.", Members: "id after?", Do: m.doMatches, Codes: []relay.Code{relay.CodeNotFound}},
			{Name: "market_list", Summary: "Be listed in the directory.", Do: m.doList, Codes: []relay.Code{relay.CodeQuota},
				Members: "roles? categories? resolution_mechanisms? max_concurrent_sessions? endpoint? description?"},
			{Name: "market_unlist", Summary: "Be listed no more.", Do: m.doUnlist, Codes: []relay.Code{relay.CodeNotFound}},
			{Name: "market_agents", Summary: "Search the directory.", Members: "category? role? resolution_mechanism? after?", Do: m.doAgents},
			{Name: "market_agent", Summary: "Show an agent of the directory.", Members: "agent_id", Do: m.doAgent, Codes: []relay.Code{relay.CodeNotFound}},
			{Name: "market_publish", Summary: "Publish a signed profile.", Members: "profile", Do: m.doPublish,
				Codes: []relay.Code{relay.CodeRejected, relay.CodeOutdated, relay.CodeQuota}},
			{Name: "market_unpublish", Summary: "Take the profile back.", Do: m.doUnpublish, Codes: []relay.Code{relay.CodeNotFound}},
			{Name: "market_profile", Summary: "Show the profile of an agent.", Members: "agent_id", Do: m.doProfile, Codes: []relay.Code{relay.CodeNotFound}},
			{Name: "market_profiles", Summary: "Search profiles.", Members: "category? offer_type? after?", Do: m.doProfiles},
			{Name: "market_stats", Summary: "Say how much there is.", Do: m.doStats},
		},
	}
}

// Sizes of answers.
const (
	bestLength = 20    // matches in the answer to a post
	pageLength = 100   // entries, matches, listings or profiles
	lookAt     = 1_000 // listings or profiles that one answer looks at
	pageSize   = 1 << 20
	matchSize  = 256 << 10 // of matches, each of which is worked out: a hundred ordinary ones have room
)

// readCategory reads a category to search for, "" if there is none.
func readCategory(r wire.Reader) string {
	c := r.OptText("category")
	if r.Has("category") {
		if err := match.CheckCategory(c); err != nil {
			r.Fail("category", err)
		}
	}
	return c
}

// covers reports whether one of the categories of an agent is on one path with c. Who
// names none has all.
func covers(categories []string, c string) bool {
	if c == "" || len(categories) == 0 {
		return true
	}
	for _, own := range categories {
		if own = strings.ToLower(own); match.CheckCategory(own) == nil && (match.Within(own, c) || match.Within(c, own)) {
			return true
		}
	}
	return false
}
