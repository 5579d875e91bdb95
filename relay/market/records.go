package market

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// The records of a market, by the first two bytes of their key. An id is the rest of a
// key, a number and a time have eight bytes.
const (
	keyEntry   = "Me" // number: a record
	keyID      = "Mi" // id of an entry: its number
	keyListing = "Ml" // agent: a record
	keyProfile = "Mp" // agent: a record; its text is empty when it was taken back
	keyDue     = "Mx" // time, key of a record: the sweeper has to look
	keyCount   = "Mc" // what, perhaps of which agent: how many
	keyLast    = "Mn" // the number that was given last
)

// What is counted.
const (
	countWants    = keyCount + "w"
	countHaves    = keyCount + "h"
	countListings = keyCount + "l"
	countProfiles = keyCount + "p"
	countBytes    = keyCount + "b"
)

// counters are the counts of all agents, by their names in health and metrics.
var counters = map[string]string{"wants": countWants, "haves": countHaves, "listings": countListings, "profiles": countProfiles, "bytes": countBytes}

func countOf(k match.Kind) string {
	if k == match.Want {
		return countWants
	}
	return countHaves
}

// A record is a text with two times: of an entry, when it was posted, of a listing, when
// the agent was first listed, of a profile, when the agent updated it.
type record struct {
	since   time.Time
	expires time.Time
	text    string
}

func big(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }

// instant is a time in a key or a record, in nanoseconds.
func instant(t time.Time) string { return big(uint64(max(0, t.UnixNano()))) }

var errDamaged = errors.New("reading a record of the market: damaged record")

func number(s []byte) uint64 {
	if len(s) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(s)
}

func (r *record) encode() []byte { return []byte(instant(r.since) + instant(r.expires) + r.text) }

func decode(b []byte) (record, error) {
	if len(b) < 16 {
		return record{}, errDamaged
	}
	at := func(b []byte) time.Time { return time.Unix(0, int64(number(b))).UTC() }
	return record{at(b[:8]), at(b[8:16]), string(b[16:])}, nil
}

// get reads a record; nil: there is none.
func get(r relay.Reader, key string) (*record, error) {
	b := r.Get(key)
	if b == nil {
		return nil, nil
	}
	rec, err := decode(b)
	return &rec, err
}

// put writes a record in place of what was there, has the sweeper look at it when it
// expires, and counts its bytes. It refuses what there is no room for.
func (m *Market) put(tx relay.Tx, key string, was, rec *record) error {
	grown := int64(len(rec.text))
	if was != nil {
		grown -= int64(len(was.text))
		tx.Delete(keyDue + instant(was.expires) + key)
	}
	if !add(tx, countBytes, grown, m.opts.Limits.Size) {
		return quota("bytes", "the market has as much as it takes")
	}
	tx.Put(keyDue+instant(rec.expires)+key, []byte{})
	tx.Put(key, rec.encode())
	return nil
}

// drop removes a record.
func drop(tx relay.Tx, key string, was *record) {
	add(tx, countBytes, -int64(len(was.text)), 0)
	tx.Delete(keyDue + instant(was.expires) + key)
	tx.Delete(key)
}

// add changes a counter, and reports false if it would grow beyond a limit. Whoever
// refuses then fails the transaction.
func add(tx relay.Tx, key string, by, limit int64) bool {
	n := int64(number(tx.Get(key))) + by
	switch {
	case by > 0 && n > limit:
		return false
	case n <= 0:
		tx.Delete(key)
	default:
		tx.Put(key, []byte(big(uint64(n))))
	}
	return true
}

func quota(limit, message string) error {
	return &relay.Error{Code: relay.CodeQuota, Message: message, Limit: limit}
}

func refuse(code relay.Code, message string) error {
	return &relay.Error{Code: code, Message: message}
}

// parse reads what was kept.
func parse(text string) (wire.Value, error) {
	v, err := wire.Parse([]byte(text), wire.Limits{Size: len(text), Depth: wire.MaxDepth})
	if err != nil {
		return v, errDamaged
	}
	return v, nil
}
