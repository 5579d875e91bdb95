package market

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay"
)

// Audited is what an audit has found in a market.
type Audited struct {
	Wants    int `json:"wants"`
	Haves    int `json:"haves"`
	Listings int `json:"listings"`
	Profiles int `json:"profiles"` // marks of those that were taken back included
}

// Audit looks at all of a market, which nobody changes meanwhile: each record can be read
// and fits the others, and each counter is what counting anew comes to. It tells each
// problem, and fails if the driver does. Where there is no market, all is well.
func Audit(ctx context.Context, d relay.Driver, tell func(relay.Problem)) (Audited, error) {
	var n Audited
	err := d.View(ctx, func(r relay.Reader) error {
		a := audit{r: r, tell: tell, counted: map[string]uint64{}, kept: map[string]uint64{}}
		for k, b := range r.Scan(keys, "") {
			a.record(k, b)
		}
		a.sums()
		n = a.n
		return ctx.Err()
	})
	if err != nil {
		return n, fmt.Errorf("auditing a market: %w", err)
	}
	return n, nil
}

// keys is what all keys of a market begin with.
const keys = "M"

type audit struct {
	r       relay.Reader
	tell    func(relay.Problem)
	n       Audited
	counted map[string]uint64 // the counters, as they have to be
	kept    map[string]uint64 // and as they are
	last    uint64            // number of an entry
}

func (a *audit) wrong(what, of string, err error) {
	a.tell(relay.Problem{Where: what + " " + strconv.QuoteToASCII(of), Err: err})
}

var (
	errNotFound = errors.New("there is no such record")
	errUnswept  = errors.New("the sweeper will not look at it")
	errIndex    = errors.New("its id names another entry, or none")
	errNumber   = errors.New("an entry has a greater one")
	errUnknown  = errors.New("it is of no kind that a market keeps")
)

func (a *audit) record(k string, b []byte) {
	kind, rest := k[:min(2, len(k))], k[min(2, len(k)):]
	switch kind {
	case keyEntry:
		n := number([]byte(rest))
		a.last = max(a.last, n)
		p, err := posted(n, b)
		if err != nil {
			a.wrong("entry", strconv.FormatUint(n, 10), err)
			return
		}
		if p.Kind == match.Want {
			a.n.Wants++
		} else {
			a.n.Haves++
		}
		a.counted[countOf(p.Kind)]++
		a.counted[countOf(p.Kind)+string(p.Owner())]++
		if string(a.r.Get(keyID+string(p.ID))) != rest {
			a.wrong("entry", string(p.ID), errIndex)
		}
		a.common(k, b, "entry", string(p.ID))
	case keyListing:
		a.n.Listings++
		a.counted[countListings]++
		a.common(k, b, "the listing of", rest)
	case keyProfile:
		a.n.Profiles++
		a.counted[countProfiles]++
		if rec := a.common(k, b, "the profile of", rest); rec.text != "" {
			v, err := parse(rec.text)
			if err == nil {
				_, err = attest.ReadAgentProfile(v)
			}
			if err != nil {
				a.wrong("the profile of", rest, err)
			}
		}
	case keyID:
		if a.r.Get(keyEntry+string(b)) == nil {
			a.wrong("the id", rest, errNotFound)
		}
	case keyDue:
		if len(rest) < 8 || a.r.Get(rest[8:]) == nil {
			a.wrong("when to look at", rest[min(8, len(rest)):], errNotFound)
		}
	case keyCount:
		a.kept[k] = number(b)
	case keyLast: // sums looks at it
	default:
		a.wrong("record", k, errUnknown)
	}
}

// common reads what all kept records have.
func (a *audit) common(k string, b []byte, what, of string) record {
	rec, err := decode(b)
	if err == nil && a.r.Get(keyDue+instant(rec.expires)+k) == nil {
		err = errUnswept
	}
	if err != nil {
		a.wrong(what, of, err)
	}
	a.counted[countBytes] += uint64(len(rec.text))
	return rec
}

// sums compares the counters, and the number that was given last.
func (a *audit) sums() {
	if last := number(a.r.Get(keyLast)); last < a.last {
		a.wrong("the last number", strconv.FormatUint(last, 10), errNumber)
	}
	all := maps.Clone(a.kept)
	maps.Copy(all, a.counted)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if a.kept[k] != a.counted[k] {
			a.wrong("counter", k[len(keyCount):], fmt.Errorf("it is %d, and counting anew comes to %d", a.kept[k], a.counted[k]))
		}
	}
}
