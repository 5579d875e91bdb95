package main

import (
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A limit is a timestamp with an edge: the last instant, or the first, at which an
// artifact stands.
type limit struct {
	name   string
	rule   *wire.Rule // which is broken beyond the edge
	edge   time.Time
	later  bool // whether beyond is after the edge
	out    bool // the edge itself is already beyond
	put    func(text string) func(wire.Value) wire.Value
	shared bool // the contract's profile looks at it, in milliseconds
	why    string
	breaks string
}

const (
	withNanos = "2006-01-02T15:04:05.000000000"
	withMilli = "2006-01-02T15:04:05.000"
	withoutTZ = "2006-01-02T15:04:05"
)

// instants are vectors at the edge and beyond it, in several spellings: what counts
// is the instant and not its text.
func (b limit) instants() []fault {
	side := time.Duration(1)
	if !b.later {
		side = -1
	}
	in, out := b.edge, b.edge.Add(side*time.Second)
	if b.out {
		in, out = b.edge.Add(-side*time.Second), b.edge
	}
	beyond := out.Add(side) // the first nanosecond that is beyond, or the second
	if !b.out {
		beyond = b.edge.Add(side)
	}
	day := 24 * time.Hour
	list := []fault{
		b.at("edge", false, in.Format(time.RFC3339), "is the last value that is fine"),
		b.at("edge-to-the-east", false, zoned(5*60+30, "+05:30")(in), "is the same instant with an offset"),
		b.at("edge-with-fraction", false, in.Format(withMilli)+"Z", "is the same instant with a fraction of zero"),
		b.at("beyond-at-offset-zero", true, out.Format(withoutTZ)+"+00:00", "is beyond by as little as a second, with another spelling of the zone"),
		b.at("beyond", true, out.Format(time.RFC3339), "is beyond by as little as a second"),
		b.at("beyond-to-the-east", true, zoned(5*60+30, "+05:30")(out), "has an offset: its text does not sort as the instants do"),
		b.at("beyond-to-the-west", true, zoned(-8*60, "-08:00")(out), "has an offset: its text does not sort as the instants do"),
		b.at("beyond-in-the-farthest-east", true, zoned(14*60, "+14:00")(out), "has an offset that makes it another day"),
		b.at("beyond-in-the-farthest-west", true, zoned(-12*60, "-12:00")(out), "has an offset that makes it another day"),
		b.at("beyond-by-a-nanosecond", true, beyond.Format(withNanos)+"Z", "has a fraction, which counts"),
		b.at("beyond-by-a-minute", true, out.Add(side*time.Minute).Format(time.RFC3339), "is beyond by a minute"),
		b.at("beyond-by-an-hour", true, out.Add(side*time.Hour).Format(time.RFC3339), "is beyond by an hour, as of a zone that somebody forgot"),
		b.at("beyond-by-a-day", true, out.Add(side*day).Format(time.RFC3339), "is beyond by a day"),
		b.at("beyond-by-a-year", true, out.Add(side*400*day).Format(time.RFC3339), "is far beyond"),
		b.at("beyond-by-ages", true, out.Add(side*9000*day).Format(time.RFC3339), "is beyond by decades"),
	}
	for i := range list {
		if list[i].name == b.name+"-beyond-by-a-nanosecond" {
			list[i].shared = false
		}
	}
	return list
}

func (b limit) at(name string, beyond bool, text, what string) fault {
	f := fault{name: b.name + "-" + name, shared: b.shared, edit: b.put(text), why: b.why + "; here it " + what}
	if beyond {
		f.rule, f.breaks = b.rule, b.breaks
	}
	return f
}

// zoned returns a function that writes an instant with an offset of that many
// minutes.
func zoned(minutes int, offset string) func(time.Time) string {
	return func(t time.Time) string {
		return t.Add(time.Duration(minutes)*time.Minute).UTC().Format(withoutTZ) + offset
	}
}

// clocks are vectors of a bound for which the verifier's clock moves and the
// artifact stays as it is: the edge is the artifact's own.
func (b limit) clocks() []fault {
	edge := b.edge
	if b.out {
		edge = edge.Add(-time.Second)
	}
	var list []fault
	for _, c := range []struct {
		name   string
		beyond time.Duration
	}{{"at-the-edge", 0}, {"a-second-beyond", time.Second}, {"an-hour-beyond", time.Hour}, {"a-year-beyond", 366 * 24 * time.Hour}} {
		f := fault{name: b.name + "-now-" + c.name, shared: b.shared, why: b.why + "; here the verifier's clock moves"}
		if c.beyond > 0 {
			f.rule, f.breaks = b.rule, b.breaks
		}
		f.context = wire.M{"now": edge.Add(c.beyond).Format(time.RFC3339)}
		f.contract = f.context
		list = append(list, f)
	}
	return list
}

// stamp returns the put of a bound whose timestamp is at a pointer.
func stamp(pointer string, more ...func(wire.Value) wire.Value) func(string) func(wire.Value) wire.Value {
	return func(text string) func(wire.Value) wire.Value {
		return all(append(more, set(pointer, wire.Text(text).Canonical()))...)
	}
}

// day is the time on the day of which all vectors tell.
func day(clock string) time.Time {
	return must(time.Parse(time.RFC3339, "2026-09-14T"+clock+"Z"))
}
