package market

import (
	"errors"
	"fmt"
	"time"

	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/wire"
)

// Limits are what one agent, or all together, may take from a market. Zero fields of
// the Limits that [Open] is given are the defaults.
type Limits struct {
	EntriesAgent int64 `json:"entries_per_agent"` // wants, and as many haves
	Entries      int64 `json:"entries"`           // wants, and as many haves, of all
	EntrySize    int64 `json:"entry_bytes"`       // of one
	Size         int64 `json:"bytes"`             // of all that is kept
	EntryLife    int64 `json:"entry_seconds"`     // the longest ttl
	Listings     int64 `json:"listings"`          // agents in the directory
	ListingLife  int64 `json:"listing_seconds"`   // since the agent was last listed
	Profiles     int64 `json:"profiles"`          // and marks of those that were taken back
	ProfileSize  int64 `json:"profile_bytes"`     // of one
	ProfileLife  int64 `json:"profile_seconds"`   // the longest ttl, and how long it is remembered what was newest
}

var defaultLimits = Limits{
	EntriesAgent: 100, Entries: 50_000, EntrySize: match.MaxSize, Size: 256 << 20, EntryLife: 604_800,
	Listings: 10_000, ListingLife: 2_592_000, Profiles: 10_000, ProfileSize: 16 << 10, ProfileLife: 2_592_000,
}

// DefaultLimits returns the limits of a market that serves strangers from one machine.
func DefaultLimits() Limits { return defaultLimits }

// fields are the limits by their names in RFC 0004.
func (l *Limits) fields() map[string]*int64 {
	return map[string]*int64{
		"entries_per_agent": &l.EntriesAgent, "entries": &l.Entries, "entry_bytes": &l.EntrySize, "bytes": &l.Size, "entry_seconds": &l.EntryLife,
		"listings": &l.Listings, "listing_seconds": &l.ListingLife, "profiles": &l.Profiles, "profile_bytes": &l.ProfileSize, "profile_seconds": &l.ProfileLife,
	}
}

// ParseLimits reads limits by the names of RFC 0004, as in {"entries_per_agent": 10}. What
// is left out is zero, which stands for the default.
func ParseLimits(text []byte) (Limits, error) {
	var l Limits
	v, err := wire.Parse(text, wire.Limits{Size: 64 << 10, Depth: 1})
	if err != nil {
		return l, fmt.Errorf("reading limits: %w", err)
	}
	if v.Kind() != wire.Object {
		return l, errors.New("reading limits: want a JSON object")
	}
	fields := l.fields()
	for name, value := range v.Members() {
		field := fields[name]
		if field == nil {
			return l, fmt.Errorf("reading limits: there is no limit %q", name)
		}
		n, ok := value.Int()
		if !ok || n < 1 {
			return l, fmt.Errorf("reading limits: %s: want a whole number from 1", name)
		}
		*field = n
	}
	return l, l.check()
}

// check reports what limits no market can keep. Zero fields are the defaults.
func (l *Limits) check() error {
	most := Limits{EntrySize: match.MaxSize, EntryLife: int64(match.MaxTTL / time.Second), ListingLife: maxSeconds, ProfileSize: maxProfile, ProfileLife: maxSeconds}
	highest := most.fields()
	for name, n := range l.fields() {
		if *n < 0 || *highest[name] > 0 && *n > *highest[name] {
			return fmt.Errorf("the limit %s is not from 1 to %d", name, *highest[name])
		}
	}
	return nil
}

const (
	maxSeconds = 366 * 24 * 3600
	maxProfile = 64 << 10
)

// fill sets the zero fields to the defaults.
func (l *Limits) fill() {
	ordinary := defaultLimits
	defaults := ordinary.fields()
	for name, n := range l.fields() {
		if *n == 0 {
			*n = *defaults[name]
		}
	}
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
