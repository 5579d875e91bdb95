package store

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"iter"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/wire"
)

// An Entry is an artifact of the store and what there is to say of it.
type Entry struct {
	Hash       wire.Hash
	Kind       string         // SPEC §12.3
	ID         string         // "" if its kind has none
	Session    string         // that it is about; "" if none
	Time       time.Time      // when it was made, as it says; zero if it does not
	Agents     []wire.AgentID // its signers and parties, and whom it is about
	Stored     time.Time
	Unverified bool
	Value      wire.Value // as it was received

	Fuller    wire.Hash  // the version with the most signatures; zero if this is it
	Conflicts []Conflict // none: it is in no conflict
}

// A Position is a place in the order of listings: by the time at which artifacts were
// made, then by hash. The zero Position is the beginning.
type Position struct {
	time time.Time
	hash wire.Hash
}

// Position returns where an entry stands.
func (e *Entry) Position() Position { return Position{e.Time, e.Hash} }

func (a *artifact) position() Position { return Position{a.time, a.hash} }

// bytes are ordered as positions are.
func (p Position) bytes() []byte { return append(timeBytes(p.time), p.hash[:]...) }

const (
	timeSize     = 12
	positionSize = timeSize + len(wire.Hash{})
)

func timeBytes(t time.Time) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(t.Unix())^1<<63)
	return binary.BigEndian.AppendUint32(b, uint32(t.Nanosecond()))
}

func (p Position) String() string { return hex.EncodeToString(p.bytes()) }

var errPosition = errors.New("not a position of a listing")

// ParsePosition reads what String wrote.
func ParsePosition(s string) (Position, error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != positionSize {
		return Position{}, errPosition
	}
	t := time.Unix(int64(binary.BigEndian.Uint64(b)^1<<63), int64(binary.BigEndian.Uint32(b[8:]))).UTC()
	if p := (Position{t, wire.Hash(b[timeSize:])}); bytes.Equal(p.bytes(), b) {
		return p, nil
	}
	return Position{}, errPosition // no time has such seconds
}

// A Filter says which artifacts are listed. Zero fields admit all.
type Filter struct {
	Kind      string // SPEC §12.3
	Agent     wire.AgentID
	Session   string    // id or URN
	ID        string    // an attestation's id or URN
	Since     time.Time // the earliest time at which an artifact was made
	Until     time.Time // the time before which it was made
	Conflicts bool      // those in conflict only
	After     Position  // those that come later in the order only
}

// prefix returns the part of the index to walk: that of the narrowest condition.
func (f *Filter) prefix() []byte {
	switch {
	case f.ID != "":
		return indexKey(byID, plainID(f.ID), nil)
	case f.Session != "":
		return indexKey(bySession, plainSession(f.Session), nil)
	case f.Agent != "":
		return indexKey(byAgent, string(wire.PlainDIDKey(f.Agent)), nil)
	case f.Kind != "":
		return indexKey(byKind, f.Kind, nil)
	}
	return []byte{byTime}
}

// admits reports whether the filter admits an artifact, but for Conflicts and After.
func (f *Filter) admits(a *artifact) bool {
	return (f.ID == "" || plainID(f.ID) == plainID(a.id)) &&
		(f.Session == "" || plainSession(f.Session) == a.session) &&
		(f.Agent == "" || slices.Contains(a.agents, wire.PlainDIDKey(f.Agent))) &&
		(f.Kind == "" || f.Kind == a.kind) &&
		(f.Since.IsZero() || !a.time.Before(f.Since)) &&
		(f.Until.IsZero() || a.time.Before(f.Until))
}

var errIndex = errors.New("reading the artifact store: its index is damaged: export what is left, and import it into a new one")

// A walk over the index reads at most so much in one transaction, the first time less:
// many callers want the first few.
const (
	firstEntries = 16
	walkEntries  = 256
	walkBytes    = 1 << 20
)

// List returns the artifacts that a filter admits, in the order of their positions.
// What is added or deleted while it runs is listed or not. An error comes with the
// hash if it is of that artifact alone; the listing goes on if the caller does.
func (s *Store) List(f Filter) iter.Seq2[Entry, error] {
	if f.Conflicts {
		return s.listContested(f)
	}
	return func(yield func(Entry, error) bool) {
		prefix := f.prefix()
		from := slices.Clone(prefix)
		if start := timeBytes(f.Since); !f.Since.IsZero() {
			from = append(from, start...)
		}
		if after := slices.Concat(prefix, f.After.bytes(), []byte{0}); f.After != (Position{}) && bytes.Compare(after, from) > 0 {
			from = after
		}
		for most := firstEntries; from != nil; most = min(2*most, walkEntries) {
			var found []found
			err := s.db.View(func(tx *bolt.Tx) error {
				looked, size, start := 0, 0, from
				from = nil
				for k := range entriesFrom(tx.Bucket(bucketIndex), prefix, start) {
					tail := k[len(prefix):]
					if len(tail) != positionSize {
						return errIndex
					}
					if !f.Until.IsZero() && bytes.Compare(tail[:timeSize], timeBytes(f.Until)) >= 0 {
						return nil
					}
					if looked == most || size >= walkBytes {
						from = slices.Clone(k)
						return nil
					}
					looked++
					r, ok := find(tx, wire.Hash(tail[timeSize:]), &f)
					size += r.size
					if ok {
						found = append(found, r)
					}
				}
				return nil
			})
			for _, r := range found {
				if !yield(r.entry, r.err) {
					return
				}
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
		}
	}
}

// A found is an artifact of a listing, or what is wrong with it.
type found struct {
	entry Entry
	size  int
	err   error
}

// find reads an artifact and reports whether it is to be listed.
func find(tx *bolt.Tx, hash wire.Hash, f *Filter) (found, bool) {
	a, err := readArtifact(tx, hash)
	r := found{Entry{Hash: hash}, len(a.value.Canonical()), err}
	if err != nil || !f.admits(&a) {
		return r, err != nil
	}
	e, err := a.entry(tx)
	if err != nil {
		r.err = err
		return r, true
	}
	r.entry = e
	return r, !f.Conflicts || len(e.Conflicts) > 0
}

// entriesOf yields the entries of a bucket whose keys have a prefix, in order. They are
// valid until the next.
func entriesOf(b *bolt.Bucket, prefix []byte) iter.Seq2[[]byte, []byte] {
	return entriesFrom(b, prefix, prefix)
}

func entriesFrom(b *bolt.Bucket, prefix, from []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		c := b.Cursor()
		for k, v := c.Seek(from); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
			if !yield(k, v) {
				return
			}
		}
	}
}

func (a *artifact) entry(tx *bolt.Tx) (Entry, error) {
	e := Entry{
		Hash: a.hash, Kind: a.kind, ID: a.id, Session: a.session, Time: a.time, Agents: a.agents,
		Stored: a.stored, Unverified: a.unverified, Value: a.value,
	}
	if full, _ := fullest(tx, a.core); full != a.hash {
		e.Fuller = full
	}
	var err error
	e.Conflicts, err = a.conflicts(tx)
	return e, err
}
