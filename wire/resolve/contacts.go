package resolve

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/concordia-node/concordia/wire"
)

// Bounds of contacts.
const (
	MaxContacts       = 1 << 16 // keys, all together
	MaxKeysPerContact = 64
	MaxContactName    = 256 // characters
)

// RuleContacts is broken by a contacts file that cannot be read one way.
var RuleContacts = &wire.Rule{Section: "9.1", Name: "contacts", Class: wire.ClassSchema, Text: "a contacts file gives each agent its keys, one at a time"}

// Contacts are the keys of agents as their owner wrote them down, each for a time. The
// zero Contacts know nobody.
type Contacts struct {
	agents map[wire.AgentID][]tenure // by id, a did:key in its plain spelling
	listed map[wire.AgentID]bool     // by plain
	keys   int
}

// A tenure is a key and when it is an agent's: from its beginning, up to but not
// including its end. A zero time is no bound.
type tenure struct {
	key         wire.PublicKey
	from, until time.Time
}

func (t tenure) covers(at time.Time) bool {
	return !at.Before(t.from) && (t.until.IsZero() || at.Before(t.until))
}

func (t tenure) overlaps(o tenure) bool {
	return (t.until.IsZero() || o.from.Before(t.until)) && (o.until.IsZero() || t.from.Before(o.until))
}

func (t tenure) equal(o tenure) bool {
	return t.key == o.key && t.from.Equal(o.from) && t.until.Equal(o.until)
}

var (
	errKeyOrKeys  = errors.New("want a public key, or a list of objects with key, from, until and name")
	errNoKeys     = errors.New("an empty list")
	errManyKeys   = fmt.Errorf("more than %d keys of one agent", MaxKeysPerContact)
	errManyAll    = fmt.Errorf("more than %d keys", MaxContacts)
	errNoTime     = errors.New("not after from: the key is never the agent's")
	errOverlap    = errors.New("overlaps another key of the agent: at no time has it two")
	errOtherKey   = errors.New("a did:key is another key than this")
	errName       = fmt.Errorf("more than %d characters", MaxContactName)
	errNotThen    = errors.New("the contacts have no key of the agent for that time")
	errNotContact = errors.New("not among the contacts")
)

// Add takes in the value of a contacts file: an object of agent id and key, or agent
// id and a list of objects with key and, optionally, from, until and name (SPEC §9.1).
// It fails with RuleContacts, or RuleWeakKey, and has then taken in a part of it.
func (c *Contacts) Add(v wire.Value) error {
	r := wire.Read(v, "", RuleContacts)
	for id, entry := range r.Whole().Members() {
		if err := wire.CheckID(wire.AgentID(id)); err != nil {
			r.Fail(id, err)
			break
		}
		switch {
		case entry.Kind() == wire.String:
			c.take(r, id, wire.AgentID(id), tenure{key: readKey(r, id)})
		case entry.Kind() != wire.Array:
			r.Fail(id, errKeyOrKeys)
		case entry.Len() == 0:
			r.Fail(id, errNoKeys)
		default:
			for _, e := range r.Objects(id) {
				c.take(e, "key", wire.AgentID(id), readTenure(e))
			}
		}
		if r.Err() != nil {
			break
		}
	}
	return r.Err()
}

func readTenure(r wire.Reader) tenure {
	r.Closed("key", "from", "until", "name")
	if utf8.RuneCountInString(r.OptText("name")) > MaxContactName {
		r.Fail("name", errName)
	}
	t := tenure{readKey(r, "key"), optTime(r, "from"), optTime(r, "until")}
	if !t.until.IsZero() && !t.from.Before(t.until) {
		r.Fail("until", errNoTime)
	}
	return t
}

func readKey(r wire.Reader, name string) wire.PublicKey {
	key, err := wire.DecodePublicKey(r.Text(name))
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		r.FailRule(v.Rule, name, v.Err)
	}
	return key
}

func optTime(r wire.Reader, name string) time.Time {
	if !r.Has(name) {
		return time.Time{}
	}
	return r.Time(name)
}

// take takes in one key, which stands in the named member of r, if all is well so far.
func (c *Contacts) take(r wire.Reader, name string, id wire.AgentID, t tenure) {
	if strings.HasPrefix(string(id), "did:key:") {
		if own, err := (wire.DIDKeys{}).Key(id, time.Time{}); err != nil || own != t.key {
			r.Fail(name, errOtherKey)
		}
	}
	if r.Err() == nil {
		if err := c.enter(id, t); err != nil {
			r.Fail(name, err)
		}
	}
}

// enter takes in one key. The same one again, of another file, says nothing new.
func (c *Contacts) enter(id wire.AgentID, t tenure) error {
	id = wire.PlainDIDKey(id)
	for _, o := range c.agents[id] {
		switch {
		case o.equal(t):
			return nil
		case o.overlaps(t):
			return errOverlap
		}
	}
	switch {
	case len(c.agents[id]) == MaxKeysPerContact:
		return errManyKeys
	case c.keys == MaxContacts:
		return errManyAll
	}
	if c.agents == nil {
		c.agents, c.listed = make(map[wire.AgentID][]tenure), make(map[wire.AgentID]bool)
	}
	c.listed[plain(id)] = true
	c.agents[id] = append(c.agents[id], t)
	c.keys++
	return nil
}

// Key implements wire.Keys.
func (c *Contacts) Key(agent wire.AgentID, at time.Time) (wire.PublicKey, error) {
	agent = wire.PlainDIDKey(agent)
	for _, t := range c.agents[agent] {
		if t.covers(at) {
			return t.key, nil
		}
	}
	if len(c.agents[agent]) > 0 {
		return wire.PublicKey{}, wire.RuleUnknownKey.Because("", errNotThen)
	}
	return wire.PublicKey{}, wire.RuleUnknownKey.Because("", errNotContact)
}

// plain returns an id in the one spelling in which what resolves to one key is equal: of
// a did:key the plain one, of a did:web with the host in lower case and without the port
// that it has anyway.
func plain(id wire.AgentID) wire.AgentID {
	text, ok := strings.CutPrefix(string(id), didWeb)
	if !ok {
		return wire.PlainDIDKey(id)
	}
	end := strings.IndexAny(text, ":#")
	if end < 0 {
		end = len(text)
	}
	host := strings.TrimSuffix(strings.ToLower(text[:end]), "%3a443")
	return wire.AgentID(didWeb + host + text[end:])
}

// Else returns keys that ask others for the agents that c does not list. An agent that
// it lists has no other keys, also not at a time for which there is none, nor under
// another spelling of its id or a DID URL of its DID: a key that its owner has ended
// must not come back from elsewhere.
func (c *Contacts) Else(others wire.Keys) wire.Keys { return contactsElse{c, others} }

type contactsElse struct {
	contacts *Contacts
	others   wire.Keys
}

// Key implements wire.Keys.
func (k contactsElse) Key(agent wire.AgentID, at time.Time) (wire.PublicKey, error) {
	did, _, _ := strings.Cut(string(agent), "#")
	if k.contacts.listed[plain(agent)] || k.contacts.listed[plain(wire.AgentID(did))] {
		return k.contacts.Key(agent, at)
	}
	return k.others.Key(agent, at)
}
