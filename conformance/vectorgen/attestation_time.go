package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const (
	futureWhy    = "no moment that the signers assert lies later than now, but for a skew of 120 seconds"
	futureBreaks = "receipts are stockpiled with dates to come and look fresh then"
	expiredWhy   = "an attestation stands inside the validity that its signers gave it, without any skew at its end"
	expiredLoss  = "evidence of a state that its signers did not vouch for any longer is taken for the present"
	lifetimeWhy  = "a verifier bounds the whole validity, by default to 90 days, whatever the signers allow"
	lifetimeLoss = "two parties that agree to vouch for each other forever do so"
	modeWhy      = "validity_temporal has one of three forms and no members of the others"
	modeLoss     = "one reader looks at the end and another at the duration"
)

// spans returns a put that writes the end of a validity and has it begin an hour
// before: a validity that ends before it begins would break another rule.
func spans(begin, end string) func(string) func(wire.Value) wire.Value {
	return func(text string) func(wire.Value) wire.Value {
		t := must(wire.ParseTime(text))
		return all(set("/validity_temporal/"+begin, wire.Text(t.Add(-time.Hour).Format(time.RFC3339)).Canonical()),
			set("/validity_temporal/"+end, wire.Text(text).Canonical()))
	}
}

func absoluteTimes(sound wire.Value) []fault {
	s := shape{rule: attest.RuleValidity, sound: sound, shared: true}
	from, until := member{"/validity_temporal/from", "since when it holds"}, member{"/validity_temporal/until", "until when it holds"}
	mode := member{"/validity_temporal/mode", "how its validity is told"}
	lapse := limit{name: "until", rule: attest.RuleExpired, edge: day("09:30:00"), out: true, put: spans("from", "until"), why: expiredWhy, breaks: expiredLoss}
	clock := lapse
	clock.edge = must(time.Parse(time.RFC3339, "2026-12-01T09:00:00Z"))
	days := day("09:00:00").Add(attest.DefaultMaxLifetime)
	list := slices.Concat(
		limit{name: "timestamp-future", rule: attest.RuleNotYet, edge: day("09:32:00"), later: true, put: stamp("/timestamp"), why: futureWhy, breaks: futureBreaks}.instants(),
		limit{name: "timestamp-age", rule: attest.RuleAge, edge: day("09:30:00").Add(-attest.DefaultMaxAge), put: stamp("/timestamp"),
			why: "a verifier has its own bound of 90 days, whatever the signers allow", breaks: "evidence of a state long gone is taken for the present"}.instants(),
		limit{name: "from-future", rule: attest.RuleNotYet, edge: day("09:32:00"), later: true, put: func(text string) func(wire.Value) wire.Value {
			end := must(wire.ParseTime(text)).Add(time.Hour).Format(time.RFC3339)
			return all(set(from.at, wire.Text(text).Canonical()), set(until.at, wire.Text(end).Canonical()))
		}, why: futureWhy, breaks: futureBreaks}.instants(),
		lapse.instants(), clock.clocks()[:2],
		limit{name: "lifetime", rule: attest.RuleLifetime, edge: days, later: true, put: stamp("/validity_temporal/until"), why: lifetimeWhy, breaks: lifetimeLoss}.instants(),
		s.omitted(mode, from, until), s.mistyped(mode, from, until), s.nulled(mode, from, until), s.recased(mode, from, until), s.added("/validity_temporal"),
		s.mistimed(from, day("09:00:00"))[:4], s.mistimed(until, day("14:00:00"))[:4],
		s.omitted(member{"/validity_temporal", "how long it holds"}),
		[]fault{
			s.other("/validity_temporal/mode", "other", `"forever"`, "there are three modes", "a reader that knows no such mode takes it for one without an end"),
			s.other("/validity_temporal/mode", "in-capitals", `"ABSOLUTE"`, "a mode has one spelling", "a reader that knows no such mode takes it for one without an end"),
			s.other("/validity_temporal/duration_seconds", "of-another-mode", `60`, modeWhy, modeLoss),
			s.other("/validity_temporal/end", "of-another-mode", `"2027-01-01T00:00:00Z"`, modeWhy, modeLoss),
		},
		[]fault{
			{name: "validity-null", rule: attest.RuleShape, shared: true, edit: set("/validity_temporal", `null`), why: "from version 0.5.0 an attestation says how long it holds", breaks: "one without an end is taken for one that always holds"},
			{name: "validity-empty", rule: attest.RuleValidity, edit: set(until.at, `"2026-09-14T09:00:00Z"`), why: "a validity ends after it begins", breaks: "a validity of no length is taken for one without an end"},
			{name: "validity-backwards", rule: attest.RuleValidity, edit: all(set(from.at, `"2026-09-14T09:20:00Z"`), set(until.at, `"2026-09-14T09:10:00Z"`)), why: "a validity ends after it begins", breaks: "a reader that computes with it computes a negative time"},
		},
	)
	for _, p := range []struct {
		name    string
		seconds int
		fine    bool
	}{{"exactly", 78 * 86400, true}, {"less", 78*86400 - 1, false}, {"an-hour", 3600, false}, {"a-year", 366 * 86400, true}} {
		f := fault{name: "own-lifetime-" + p.name, context: wire.M{"policy": wire.M{"max_lifetime_seconds": p.seconds}}, why: "a verifier may have a bound of its own for the whole validity"}
		if !p.fine {
			f.rule, f.breaks = attest.RuleLifetime, lifetimeLoss
		}
		list = append(list, f)
	}
	longer := fault{name: "own-lifetime-longer", context: wire.M{"policy": wire.M{"max_lifetime_seconds": 200 * 86400}}, edit: set(until.at, `"2027-03-01T00:00:00Z"`), why: "a verifier may accept more than 90 days"}
	return append(list, longer)
}

// otherMode returns the specimen of another mode of validity.
func otherMode(mode, validity string, faults func(wire.Value) []fault) func() specimen {
	return func() specimen {
		context, contractContext := attestationContexts()
		v := signAttestation(set("/validity_temporal", validity)(unsignedReceipt()))
		list := faults(v)
		for _, f := range changes(v) {
			f.shared = false // the contract has another profile for this
			list = append(list, f)
		}
		return specimen{
			kind: "attestation", form: mode, record: "attestation", sign: signAttestation, value: v, context: context,
			contract: "attestation-v1", contractContext: contractContext, faults: list,
		}
	}
}

// duration is a vector with another duration.
func duration(name string, seconds int, rule *wire.Rule, why, breaks string) fault {
	return fault{name: name, rule: rule, edit: set("/validity_temporal/duration_seconds", fmt.Sprint(seconds)), why: why, breaks: breaks}
}

// durations are faults of a duration that is none.
func durations(s shape) []fault {
	s.shared = false
	const at, loss = "/validity_temporal/duration_seconds", "readers disagree on how long it holds"
	m := member{at, "how long it holds"}
	return slices.Concat(s.omitted(m), s.mistyped(m), s.nulled(m), s.recased(m), []fault{
		s.other(at, "zero", `0`, "a duration is at least a second", "a validity of no length is taken for one without an end"),
		s.other(at, "negative", `-60`, "a duration is at least a second", loss),
		s.other(at, "fraction", `90.5`, "a duration is of whole seconds", loss),
		s.other(at, "boolean", `true`, "a boolean is no number, although some languages convert it", loss),
		s.other(at, "text", `"PT1H"`, "a duration is a number of seconds", loss),
	})
}

var relative = otherMode("relative", `{"mode":"relative","from":"2026-09-14T09:00:00Z","duration_seconds":3600}`, func(sound wire.Value) []fault {
	s := shape{rule: attest.RuleValidity, sound: sound, shared: true}
	from := member{"/validity_temporal/from", "since when it holds"}
	lapse := limit{name: "lapse", rule: attest.RuleExpired, edge: day("08:30:00"), out: true, put: stamp(from.at), why: expiredWhy, breaks: expiredLoss}
	clock := lapse
	clock.edge = day("10:00:00")
	return slices.Concat(
		limit{name: "from-future", rule: attest.RuleNotYet, edge: day("09:32:00"), later: true, put: stamp(from.at), why: futureWhy, breaks: futureBreaks}.instants(),
		lapse.instants(), clock.clocks()[:3], durations(s), s.omitted(from), s.mistyped(from), s.added("/validity_temporal"), s.mistimed(from, day("09:00:00"))[:2],
		[]fault{
			s.other("/validity_temporal/until", "of-another-mode", `"2026-09-15T00:00:00Z"`, modeWhy, modeLoss),
			duration("last-second", 1801, nil, "at 09:30:00 a second of it is left", ""),
			duration("over", 1800, attest.RuleExpired, expiredWhy, expiredLoss),
			duration("long-over", 1, attest.RuleExpired, expiredWhy, expiredLoss),
			duration("lifetime", 90*86400, nil, "90 days are the longest validity", ""),
			duration("lifetime-beyond", 90*86400+1, attest.RuleLifetime, lifetimeWhy, lifetimeLoss),
			duration("lifetime-of-years", 20*366*86400, attest.RuleLifetime, lifetimeWhy, lifetimeLoss),
			duration("lifetime-of-ages", 9007199254740991, attest.RuleLifetime, "a duration that overflows a clock is still a long one", lifetimeLoss),
		},
	)
})

var window = otherMode("window", `{"mode":"window","start":"2026-09-14T09:00:00Z","end":"2026-09-14T12:00:00Z","duration_seconds":600}`, func(sound wire.Value) []fault {
	s := shape{rule: attest.RuleValidity, sound: sound, shared: true}
	start, end := member{"/validity_temporal/start", "since when it holds"}, member{"/validity_temporal/end", "until when it holds"}
	room := limit{name: "room", rule: attest.RuleExpired, edge: day("09:40:00"), put: spans("start", "end"),
		why: "a window holds while as much of it is left as its duration says", breaks: "what is begun is not finished while the evidence stands"}
	clock := room
	clock.edge = day("11:50:00")
	days := day("09:00:00").Add(attest.DefaultMaxLifetime)
	exact := set("/validity_temporal", `{"mode":"window","start":"2026-09-14T09:30:00Z","end":"2026-09-14T10:30:00Z","duration_seconds":3600}`)
	return slices.Concat(
		limit{name: "start-future", rule: attest.RuleNotYet, edge: day("09:32:00"), later: true, put: func(text string) func(wire.Value) wire.Value {
			over := must(wire.ParseTime(text)).Add(time.Hour).Format(time.RFC3339)
			return all(set(start.at, wire.Text(text).Canonical()), set(end.at, wire.Text(over).Canonical()))
		}, why: futureWhy, breaks: futureBreaks}.instants(),
		room.instants(), clock.clocks()[:3],
		limit{name: "lifetime", rule: attest.RuleLifetime, edge: days, later: true, put: stamp(end.at), why: lifetimeWhy, breaks: lifetimeLoss}.instants(),
		durations(s), s.omitted(start, end), s.mistyped(start, end), s.nulled(start, end), s.recased(start, end), s.added("/validity_temporal"),
		s.mistimed(end, day("14:00:00"))[:2],
		[]fault{
			s.other("/validity_temporal/from", "of-another-mode", `"2026-09-14T09:00:00Z"`, modeWhy, modeLoss),
			{name: "exact", edit: exact, why: "a duration may be the whole window: at its start all of it is left"},
			{name: "exact-a-second-later", rule: attest.RuleExpired, edit: exact, context: wire.M{"now": "2026-09-14T09:30:01Z"}, why: "a duration may be the whole window: a second later not all of it is left", breaks: expiredLoss},
			{name: "narrower-than-its-duration", rule: attest.RuleValidity, edit: set("/validity_temporal/duration_seconds", `10801`), why: "a duration fits into its window", breaks: "a window that never holds is taken for one that does"},
			{name: "backwards", rule: attest.RuleValidity, edit: set(end.at, `"2026-09-14T08:00:00Z"`), why: "a window ends after it begins", breaks: "a reader that computes with it computes a negative time"},
		},
	)
})
