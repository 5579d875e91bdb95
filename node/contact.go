package node

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/resolve"
)

// A contactBook has the contacts in memory.
type contactBook struct {
	changing sync.Mutex // held by who changes them, from reading to writing; before mu
	telling  sync.Mutex // held by who tells the home relay of all consents

	mu   sync.RWMutex // guards what follows
	byID map[wire.AgentID]Contact
	keys wire.Keys // theirs, and of others what Options.Keys says
}

// Key implements [wire.Keys]: the node knows its own key, those of its contacts, and what
// its options let it know.
func (n *Node) Key(agent wire.AgentID, at time.Time) (wire.PublicKey, error) {
	if wire.PlainDIDKey(agent) == n.agent {
		return n.opts.Key.Public(), nil
	}
	n.contacts.mu.RLock()
	keys := n.contacts.keys
	n.contacts.mu.RUnlock()
	return keys.Key(agent, at)
}

// readContacts reads the contacts from disk.
func (n *Node) readContacts() error {
	byID := map[wire.AgentID]Contact{}
	err := each(n.disk, bucketContacts, "", func(_ string, c *Contact) bool {
		byID[wire.PlainDIDKey(c.Agent)] = *c
		return true
	})
	if err != nil {
		return err
	}
	return n.useContacts(byID, true)
}

// useContacts makes these the contacts in memory. What was verified with their keys is
// verified again if those have changed.
func (n *Node) useContacts(byID map[wire.AgentID]Contact, changed bool) error {
	book := new(resolve.Contacts)
	for _, c := range byID {
		if err := addKeys(book, c); err != nil {
			return err
		}
	}
	n.contacts.mu.Lock()
	n.contacts.byID, n.contacts.keys = byID, book.Else(n.opts.Keys)
	n.contacts.mu.Unlock()
	if changed {
		n.ledger.forget()
	}
	return nil
}

func addKeys(book *resolve.Contacts, c Contact) error {
	if len(c.Keys) == 0 {
		return nil
	}
	keys := make([]wire.M, len(c.Keys))
	for i, k := range c.Keys {
		keys[i] = wire.M{"key": k.Key}
		if !k.From.IsZero() {
			keys[i]["from"] = wire.FormatTime(k.From)
		}
		if !k.Until.IsZero() {
			keys[i]["until"] = wire.FormatTime(k.Until)
		}
	}
	v, err := wire.Encode(wire.M{string(c.Agent): keys})
	if err != nil {
		return err
	}
	return book.Add(v)
}

// Contacts implements [API].
func (n *Node) Contacts(context.Context) ([]Contact, error) {
	n.contacts.mu.RLock()
	defer n.contacts.mu.RUnlock()
	list := make([]Contact, 0, len(n.contacts.byID))
	for _, c := range n.contacts.byID {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Contact) int { return cmpID(a.Agent, b.Agent) })
	return list, nil
}

func cmpID(a, b wire.AgentID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// SetContact implements [API].
func (n *Node) SetContact(ctx context.Context, c Contact) error {
	switch {
	case wire.CheckID(c.Agent) != nil:
		return refuse(CodeBadRequest, "the agent id is no id")
	case utf8.RuneCountInString(c.Name) > resolve.MaxContactName:
		return refuse(CodeBadRequest, "the name is too long")
	case c.Consent != Undecided && c.Consent != Allowed && c.Consent != Denied:
		return refuse(CodeBadRequest, "the consent is one of allowed and denied, or nothing")
	case len(c.Keys) > resolve.MaxKeysPerContact:
		return refuse(CodeBadRequest, "the contact has too many keys")
	}
	if c.URL != "" {
		if err := n.outbound.CheckURL(c.URL); err != nil {
			return n.failed(err)
		}
	}
	if err := addKeys(new(resolve.Contacts), c); err != nil {
		return n.failed(err)
	}
	return n.changeContacts(ctx, c.Agent, &c)
}

// RemoveContact implements [API].
func (n *Node) RemoveContact(ctx context.Context, id wire.AgentID) error {
	return n.changeContacts(ctx, id, nil)
}

// changeContacts sets a contact, or removes it, and tells the home relay what it has to
// know.
func (n *Node) changeContacts(ctx context.Context, id wire.AgentID, c *Contact) error {
	n.contacts.changing.Lock()
	defer n.contacts.changing.Unlock()
	plain := wire.PlainDIDKey(id)
	n.contacts.mu.RLock()
	byID := make(map[wire.AgentID]Contact, len(n.contacts.byID)+1)
	for k, v := range n.contacts.byID {
		byID[k] = v
	}
	n.contacts.mu.RUnlock()
	before, had := byID[plain]
	var keys []ContactKey
	if c != nil {
		keys = c.Keys
	}
	sameKey := func(a, b ContactKey) bool { return a.Key == b.Key && a.From.Equal(b.From) && a.Until.Equal(b.Until) }
	var err error
	switch {
	case c != nil && !had && len(byID) >= maxContacts:
		return refuse(CodeRefused, "there are as many contacts as a node keeps: remove some")
	case c != nil:
		byID[plain] = *c
		err = n.disk.put(ctx, bucketContacts, string(plain), c)
	case !had:
		return refuse(CodeNotFound, "there is no such contact")
	default:
		delete(byID, plain)
		err = n.disk.delete(ctx, bucketContacts, string(plain))
	}
	if err == nil {
		err = n.useContacts(byID, !slices.EqualFunc(before.Keys, keys, sameKey))
	}
	if err != nil {
		return n.failed(err)
	}
	now := Undecided
	if c != nil {
		now = c.Consent
	}
	if n.opts.Relay != "" && now != before.Consent {
		home, err := n.carrier(n.opts.Relay)
		switch {
		case err != nil:
		case !home.client.Connected(): // it is told when it is there again
			err = n.untold(ctx, plain)
		default:
			err = home.client.SetConsent(ctx, plain, map[Consent]relay.Consent{Undecided: relay.Unknown, Allowed: relay.Allowed, Denied: relay.Denied}[now])
		}
		if err != nil {
			return n.failed(fmt.Errorf("telling the relay of a consent: %w", err))
		}
	}
	return nil
}

// untold notes that the home relay has to be told of an agent of whom the contacts, now or
// soon, say nothing.
func (n *Node) untold(ctx context.Context, id wire.AgentID) error {
	return n.disk.update(ctx, func(tx *bolt.Tx) error {
		var memory relayMemory
		if _, err := get(tx, bucketRelays, n.opts.Relay, &memory); err != nil {
			return err
		}
		if slices.Contains(memory.Untold, id) || len(memory.Untold) >= maxContacts {
			return nil
		}
		memory.Untold = append(memory.Untold, id)
		return put(tx, bucketRelays, n.opts.Relay, &memory)
	})
}

// told notes that it was.
func (n *Node) told(ctx context.Context, id wire.AgentID) error {
	return n.disk.update(ctx, func(tx *bolt.Tx) error {
		var memory relayMemory
		if _, err := get(tx, bucketRelays, n.opts.Relay, &memory); err != nil {
			return err
		}
		memory.Untold = without(memory.Untold, id)
		return put(tx, bucketRelays, n.opts.Relay, &memory)
	})
}

// maxContacts bounds the contacts of a node.
const maxContacts = 10_000

// tellConsents has the home relay know with whom the owner deals, as the contacts and the
// policy say.
func (n *Node) tellConsents(ctx context.Context) {
	n.contacts.telling.Lock()
	defer n.contacts.telling.Unlock()
	home, err := n.carrier(n.opts.Relay)
	if err != nil || ctx.Err() != nil {
		return
	}
	var memory relayMemory
	if _, err := n.disk.get(bucketRelays, n.opts.Relay, &memory); err != nil {
		n.log.Error("reading whom the relay was not told of", "why", kindOf(err))
	}
	want := map[wire.AgentID]relay.Consent{}
	for _, a := range memory.Untold {
		want[a] = relay.Unknown
	}
	for _, a := range n.opts.Policy.Allow {
		want[wire.PlainDIDKey(a)] = relay.Allowed
	}
	list, _ := n.Contacts(ctx)
	for _, c := range list {
		switch c.Consent {
		case Allowed:
			want[wire.PlainDIDKey(c.Agent)] = relay.Allowed
		case Denied:
			want[wire.PlainDIDKey(c.Agent)] = relay.Denied
		}
	}
	for _, a := range n.opts.Policy.Deny {
		want[wire.PlainDIDKey(a)] = relay.Denied
	}
	if len(want) == 0 {
		return
	}
	for after, more := wire.AgentID(""), true; more; { // what it knows it is not told again
		ids, consents, err := home.client.Consents(ctx, after)
		if err != nil {
			return // the next time it is there
		}
		for i, id := range ids {
			if want[id] == consents[i] {
				delete(want, id)
			}
			after = id
		}
		more = len(ids) > 0
	}
	for id, consent := range want {
		if err := home.client.SetConsent(ctx, id, consent); err != nil && ctx.Err() == nil {
			n.log.Warn("the relay was not told of a consent", "why", kindOf(err))
			memory.Untold = without(memory.Untold, id)
		}
	}
	if ctx.Err() != nil {
		return
	}
	for _, id := range memory.Untold {
		if err := n.told(ctx, id); err != nil && ctx.Err() == nil {
			n.log.Error("noting what the relay was told", "why", kindOf(err))
			return
		}
	}
}

// standingOf says whether the node deals with an agent: Denied, Allowed, or Undecided for
// strangers.
func (n *Node) standingOf(id wire.AgentID) Consent {
	plain := wire.PlainDIDKey(id)
	is := func(a wire.AgentID) bool { return wire.PlainDIDKey(a) == plain }
	n.contacts.mu.RLock()
	c, known := n.contacts.byID[plain]
	n.contacts.mu.RUnlock()
	switch p := &n.opts.Policy; {
	case slices.ContainsFunc(p.Deny, is), known && c.Consent == Denied:
		return Denied
	case slices.ContainsFunc(p.Allow, is), known:
		return Allowed
	}
	return Undecided
}

// runsReference reports whether an agent is a contact with the reference implementation.
func (n *Node) runsReference(id wire.AgentID) bool {
	n.contacts.mu.RLock()
	defer n.contacts.mu.RUnlock()
	return n.contacts.byID[wire.PlainDIDKey(id)].Reference
}
