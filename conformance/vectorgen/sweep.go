package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// now is when everything is judged, unless a context says otherwise.
const now = "2026-09-14T09:30:00Z"

// A sweep makes the faults that many kinds have in common, in the words of one.
type sweep struct {
	what   string     // "a mandate", for sentences
	rule   *wire.Rule // of its shape
	shared bool       // the contract's schema says the same of missing and unknown members
}

// label makes the pointer of a member part of a name.
func label(pointer string) string {
	return strings.ToLower(strings.NewReplacer("/", "-", "_", "-", "~1", "-", "~0", "-").Replace(strings.TrimPrefix(pointer, "/")))
}

// last returns the member that a pointer names, for sentences.
func last(pointer string) string { return pointer[strings.LastIndex(pointer, "/")+1:] }

// without drops members that have to be there.
func (s sweep) without(pointers ...string) []fault {
	var list []fault
	for _, p := range pointers {
		list = append(list, fault{
			name: "without-" + label(p), rule: s.rule, shared: s.shared, edit: drop(p),
			why:    fmt.Sprintf("%s has %s: no reader may put a value of its own there", s.what, last(p)),
			breaks: fmt.Sprintf("each reader fills in %s as it likes, and none of them means what was signed", last(p)),
		})
	}
	return list
}

// mistyped puts a value of another kind where one is demanded; pairs are pointers
// and values.
func (s sweep) mistyped(pairs ...string) []fault {
	var list []fault
	for i := 0; i < len(pairs); i += 2 {
		p := pairs[i]
		list = append(list, fault{
			name: "mistyped-" + label(p), rule: s.rule, edit: set(p, pairs[i+1]),
			why:    fmt.Sprintf("%s of %s has one kind of value", last(p), s.what),
			breaks: fmt.Sprintf("a reader that converts what it finds takes %s for another value than the next reader", last(p)),
		})
	}
	return list
}

// closed adds a member to objects that have no others than are known.
func (s sweep) closed(pointers ...string) []fault {
	var list []fault
	for _, p := range pointers {
		list = append(list, fault{
			name: strings.Trim("unknown-member-"+label(p), "-"), rule: s.rule, shared: s.shared, edit: set(p+"/note", `"not of this shape"`),
			why:    fmt.Sprintf("an object of %s that is closed has the members that are known, and no others", s.what),
			breaks: "a condition is signed that this reader skips and the next one enforces",
		})
	}
	return list
}

// recased spells the name of a member with a capital, which careless readers take
// for the same.
func (s sweep) recased(pointers ...string) []fault {
	var list []fault
	for _, p := range pointers {
		name := last(p)
		other := p[:len(p)-len(name)] + strings.ToUpper(name[:1]) + name[1:]
		list = append(list, fault{
			name: "recased-" + label(p), rule: s.rule,
			edit: func(v wire.Value) wire.Value {
				old, _ := v.At(tokens(p)...)
				return at(drop(p)(v), tokens(other), old)
			},
			why:    fmt.Sprintf("names are case-sensitive: %s is not %s", last(other), name),
			breaks: "readers that ignore the case of names see a member that others do not",
		})
	}
	return list
}

// misdated writes timestamps that are no instants.
func (s sweep) misdated(pointers ...string) []fault {
	var list []fault
	for _, p := range pointers {
		for _, t := range []struct{ name, text, why string }{
			{"local", "2026-09-14T09:00:00", "a time without an offset is another instant in each zone"},
			{"leap-second", "2026-09-14T08:59:60Z", "a leap second is before or after the full minute, as a reader likes"},
			{"hour-24", "2026-09-14T24:00:00Z", "the day ends at 23:59:59: 24:00 is today to some and tomorrow to others"},
			{"offset", "2026-09-14T09:00:00+24:00", "an offset is less than a day"},
		} {
			list = append(list, fault{
				name: "misdated-" + label(p) + "-" + t.name, rule: s.rule, edit: set(p, quote(t.text)), why: t.why,
				breaks: fmt.Sprintf("two verifiers with the same clock disagree on %s", last(p)),
			})
		}
	}
	return list
}

func quote(text string) string { return wire.Text(text).Canonical() }

// A bound is one that time must not cross.
type bound struct {
	name   string
	rule   *wire.Rule
	limit  string        // the last instant that is fine
	open   bool          // or the first that is not
	beyond time.Duration // the sign says on which side it is not
	shared bool
	put    func(text string) fault // a fault that has the instant where it belongs, without name and rule
	why    string
	breaks string
}

// late makes faults of instants beyond a bound, in spellings that hide it, and
// positives of the last instant.
func late(b bound) []fault {
	limit := must(wire.ParseTime(b.limit))
	sign := time.Duration(1)
	if b.beyond < 0 {
		sign = -1
	}
	hours := func(h float64) *time.Location { return time.FixedZone("", int(h*3600)) }
	var list []fault
	for _, t := range []struct {
		name string
		off  time.Duration
		zone *time.Location
		form string
		fine bool
	}{
		{"by-a-nanosecond", 1, time.UTC, "2006-01-02T15:04:05.000000000Z", false},
		{"by-a-microsecond", time.Microsecond, time.UTC, "2006-01-02T15:04:05.000000Z", false},
		{"by-a-millisecond", time.Millisecond, time.UTC, "2006-01-02T15:04:05.000Z", false},
		{"by-half-a-second", time.Second / 2, time.UTC, "2006-01-02T15:04:05.0Z", false},
		{"by-a-second", time.Second, time.UTC, "2006-01-02T15:04:05Z", false},
		{"by-a-minute", time.Minute, time.UTC, "2006-01-02T15:04:05Z", false},
		{"by-a-second-in-the-east", time.Second, hours(5.5), "2006-01-02T15:04:05-07:00", false},
		{"by-a-second-in-the-west", time.Second, hours(-8), "2006-01-02T15:04:05-07:00", false},
		{"by-a-second-east-of-the-date-line", time.Second, hours(-12), "2006-01-02T15:04:05-07:00", false},
		{"by-a-second-west-of-the-date-line", time.Second, hours(14), "2006-01-02T15:04:05-07:00", false},
		{"by-a-second-far-away", time.Second, hours(23 + 59./60), "2006-01-02T15:04:05-07:00", false},
		{"by-a-second-with-an-offset-of-zero", time.Second, hours(0), "2006-01-02T15:04:05+00:00", false},
		{"at-the-last-moment", 0, time.UTC, "2006-01-02T15:04:05Z", true},
		{"at-the-last-moment-elsewhere", 0, hours(-8), "2006-01-02T15:04:05.0-07:00", true},
	} {
		name, off, form := t.name, t.off, t.form
		switch {
		case b.open && t.fine:
			off, form = -1, "2006-01-02T15:04:05.000000000Z07:00"
		case b.open && off == 1:
			name, off = "at-once", 0
		}
		f := b.put(limit.Add(sign * off).In(t.zone).Format(form))
		f.name, f.why = b.name+"-"+name, b.why
		f.shared = b.shared && (off == 0 || off >= time.Millisecond) // runners of the contract may cut time to milliseconds
		if t.fine {
			f.why += "; this is the last moment that is fine"
		} else {
			f.rule, f.breaks = b.rule, b.breaks
		}
		list = append(list, f)
	}
	return list
}

// edits returns a put that edits a member.
func edits(pointer string, more ...func(wire.Value) wire.Value) func(string) fault {
	return func(text string) fault { return fault{edit: all(append(more, set(pointer, quote(text)))...)} }
}

// byClock is a put that sets the verifier's clock.
func byClock(text string) fault {
	return fault{context: wire.M{"now": text}, contract: wire.M{"now": text}}
}

// withdrawal is a revocation record by an issuer, signed.
func withdrawal(id, kind, issuer, effective string, depth int) wire.Value {
	scope := "single_artifact"
	if depth > 0 {
		scope = "cascade_to_dependents"
	}
	return signedBlock(issuer)(value(wire.M{
		"revocation_id": "urn:concordia:revocation:31", "revoked_artifact_id": id, "revoked_artifact_type": kind,
		"revocation_scope": scope, "cascade_depth": depth, "issuer_did": issuer, "issued_at": "2026-09-14T09:00:00Z", "effective_at": effective,
		"reason": "the cellar keys were lost", "references": []wire.M{{"type": kind, "id": id, "relationship": "revokes"}},
		"signature": wire.M{"alg": "EdDSA", "value": ""},
	}))
}

// revoked makes the faults of artifacts that revocation records meet or miss. Both
// issuer and other have a key in the context.
func revoked(id, kind, issuer, other string) []fault {
	records := func(list ...wire.Value) wire.M { return wire.M{"revocation_records": list} }
	forged := signedBlock("did:web:mallory.example")(withdrawal(id, kind, issuer, now, 0))
	const gone, missed = "what was withdrawn is no longer in force, however good its signature is", "a record counts against what it names, from the moment it says, if its issuer signed it"
	const passes = "whoever keeps a copy of a withdrawn artifact goes on using it"
	list := []fault{
		{name: "revoked", rule: attest.RuleRevoked, context: records(withdrawal(id, kind, issuer, "2026-09-14T09:00:00Z", 0)), why: gone, breaks: passes},
		{name: "revoked-this-second", rule: attest.RuleRevoked, context: records(withdrawal(id, kind, issuer, now, 0)), why: "a revocation counts from effective_at on, that moment included", breaks: passes},
		{name: "revoked-with-dependents", rule: attest.RuleRevoked, context: records(withdrawal(id, kind, issuer, now, 4)), why: "a record that reaches dependents reaches first what it names", breaks: passes},
		{name: "revoked-in-the-east", rule: attest.RuleRevoked, context: records(withdrawal(id, kind, issuer, "2026-09-14T14:59:59+05:30", 0)), why: "effective_at is an instant, not a text: this one was a second ago", breaks: passes},
		{name: "revoked-in-the-west", rule: attest.RuleRevoked, context: records(withdrawal(id, kind, issuer, "2026-09-14T01:29:59-08:00", 0)), why: "effective_at is an instant, not a text: this one was a second ago", breaks: passes},
		{name: "revoked-a-nanosecond-ago", rule: attest.RuleRevoked, context: records(withdrawal(id, kind, issuer, "2026-09-14T09:29:59.999999999Z", 0)), why: "effective_at has passed, be it by a nanosecond", breaks: passes},
		{name: "revoked-years-ago", rule: attest.RuleRevoked, context: records(withdrawal(id, kind, issuer, "2019-01-01T00:00:00Z", 0)), why: "a revocation does not get old", breaks: passes},
		{name: "revoked-anew", rule: attest.RuleRevoked, context: records(withdrawal(id, kind, issuer, "2026-09-14T09:30:01Z", 0), withdrawal(id, kind, issuer, now, 0)), why: "a record that is to come does not put off one that counts", breaks: passes},
		{name: "revoked-second-record", rule: attest.RuleRevoked, context: records(withdrawal(id+"-b", kind, issuer, now, 0), withdrawal(id, kind, issuer, now, 0)), why: "all records count, not the first one alone", breaks: passes},
		{name: "revoked-to-come", context: records(withdrawal(id, kind, issuer, "2026-09-14T09:30:01Z", 0)), why: missed},
		{name: "revoked-another", context: records(withdrawal(id+"-b", kind, issuer, now, 0)), why: missed},
		{name: "revoked-by-forgery", context: records(forged), why: missed + "; anybody else could withdraw everything"},
		{name: "revoked-by-a-stranger", context: records(withdrawal(id, kind, "did:web:mallory.example", now, 0)), why: "whose key the verifier does not know revokes nothing"},
		{name: "revoked-nothing", context: wire.M{"revocation_records": []any{}}, why: "a verifier that knows of no revocation finds none"},
	}
	if other != "" {
		list = append(list, fault{name: "revoked-by-another", rule: attest.RuleRevoked, context: records(withdrawal(id, kind, other, now, 0)),
			why: "in a case whoever has a key in it may revoke, not the issuer alone", breaks: passes})
	}
	return list
}
