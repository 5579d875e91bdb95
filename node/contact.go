package node

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/resolve"
)

// A contactBook has the contacts in memory.
type contactBook struct {
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
	return n.useContacts(byID)
}

// useContacts makes these the contacts in memory.
func (n *Node) useContacts(byID map[wire.AgentID]Contact) error {
	book := new(resolve.Contacts)
	for _, c := range byID {
		if err := addKeys(book, c); err != nil {
			return err
		}
	}
	n.contacts.mu.Lock()
	defer n.contacts.mu.Unlock()
	n.contacts.byID, n.contacts.keys = byID, book.Else(n.opts.Keys)
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
	plain := wire.PlainDIDKey(id)
	n.contacts.mu.RLock()
	byID := make(map[wire.AgentID]Contact, len(n.contacts.byID)+1)
	for k, v := range n.contacts.byID {
		byID[k] = v
	}
	n.contacts.mu.RUnlock()
	before, had := byID[plain]
	var err error
	switch {
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
		err = n.useContacts(byID)
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
		if err == nil {
			err = home.client.SetConsent(ctx, plain, map[Consent]relay.Consent{Undecided: relay.Unknown, Allowed: relay.Allowed, Denied: relay.Denied}[now])
		}
		if err != nil {
			return n.failed(fmt.Errorf("telling the relay of a consent: %w", err))
		}
	}
	return nil
}

// tellConsents has the home relay know with whom the owner deals, as the contacts and the
// policy say.
func (n *Node) tellConsents(ctx context.Context) {
	home, err := n.carrier(n.opts.Relay)
	if err != nil {
		return
	}
	want := map[wire.AgentID]relay.Consent{}
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
			break
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
