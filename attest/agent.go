package attest

import (
	"time"

	"github.com/concordia-node/concordia/wire"
)

// key returns the key that an agent had at a time. A verifier that was given no
// keys knows nobody.
func (f *Verifier) key(agent wire.AgentID, at time.Time) (wire.PublicKey, error) {
	if f.Keys == nil {
		return wire.KeyMap(nil).Key(agent, at)
	}
	return f.Keys.Key(agent, at)
}

// identify is key, but a did:key is its key to everybody. It returns the zero key if
// none is known.
func (f *Verifier) identify(agent wire.AgentID, at time.Time) wire.PublicKey {
	if k, err := (wire.DIDKeys{}).Key(agent, at); err == nil {
		return k
	}
	k, err := f.key(agent, at)
	if err != nil {
		return wire.PublicKey{}
	}
	return k
}

// same reports whether two ids name one agent: they are equal, or they have one key
// at that time, as the two spellings of a did:key have (SPEC §9.1).
func (f *Verifier) same(a, b wire.AgentID, at time.Time) bool {
	if a == b {
		return true
	}
	k := f.identify(a, at)
	return !k.IsZero() && k == f.identify(b, at)
}

// A roster tells agents apart by their ids and keys: what shares one of them, be it
// by way of others, is one agent. The zero Roster is empty.
type roster struct {
	ids  map[wire.AgentID]int
	keys map[wire.PublicKey]int
	up   []int // of each entry, one that stands for the same agent, or itself
}

// add enters an id and a key, which may be zero, and returns the agent's number. It
// holds until the next call: see number.
func (r *roster) add(id wire.AgentID, key wire.PublicKey) int {
	if r.ids == nil {
		r.ids, r.keys = make(map[wire.AgentID]int), make(map[wire.PublicKey]int)
	}
	id = wire.PlainDIDKey(id)
	n, ok := r.ids[id]
	if !ok {
		n = len(r.up)
		r.ids[id], r.up = n, append(r.up, n)
	}
	n = r.root(n)
	if key.IsZero() {
		return n
	}
	if m, ok := r.keys[key]; ok {
		m = r.root(m)
		r.up[max(n, m)] = min(n, m)
		return min(n, m)
	}
	r.keys[key] = n
	return n
}

// knows reports whether an agent of that id or key was entered.
func (r *roster) knows(id wire.AgentID, key wire.PublicKey) bool {
	_, listed := r.ids[wire.PlainDIDKey(id)]
	_, known := r.keys[key]
	return listed || known
}

// number returns the number of the agent of an id that was entered.
func (r *roster) number(id wire.AgentID) int { return r.root(r.ids[wire.PlainDIDKey(id)]) }

func (r *roster) root(n int) int {
	for r.up[n] != n {
		r.up[n] = r.up[r.up[n]]
		n = r.up[n]
	}
	return n
}

// Twice returns the index of the first id that names an agent named before, or -1.
// The two spellings of a did:key name one. It asks for no keys.
func Twice[ID ~string](ids []ID) int {
	seen := make(map[wire.AgentID]bool, len(ids))
	for i, id := range ids {
		plain := wire.PlainDIDKey(wire.AgentID(id))
		if seen[plain] {
			return i
		}
		seen[plain] = true
	}
	return -1
}
