package main

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/concordia-node/concordia/wire"
)

// A member is one of an artifact's, and what it tells: the end of "it tells …".
type member struct {
	at, tells string
}

// A shape makes faults of members: one of them away, or of another type.
type shape struct {
	rule   *wire.Rule
	sound  wire.Value
	shared bool
	apart  []string // pointers at which the contract's schema demands less
}

// wordOf is a pointer as part of a name.
func wordOf(at string) string {
	text := strings.ReplaceAll(strings.Trim(at, "/"), "/", "-")
	return strings.ReplaceAll(strings.ToLower(text), "~1", "-")
}

func (s shape) fault(m member, suffix string, edit func(wire.Value) wire.Value) fault {
	f := fault{name: wordOf(m.at) + "-" + suffix, rule: s.rule, shared: s.shared, edit: edit}
	for _, at := range s.apart {
		if m.at == at {
			f.shared = false
		}
	}
	// A signature is no longer what it was when the artifact is signed again.
	if strings.HasPrefix(m.at, "/signature") || strings.HasSuffix(m.at, "/signature") || strings.HasPrefix(m.at, "/countersignatures") {
		f.edit, f.after = nil, edit
	}
	return f
}

// omitted are faults without one member each.
func (s shape) omitted(members ...member) (list []fault) {
	for _, m := range members {
		f := s.fault(m, "missing", drop(m.at))
		f.why = "a reader does not guess " + m.tells
		f.breaks = "each reader fills the gap in its own way, and two of them disagree on " + m.tells
		list = append(list, f)
	}
	return list
}

// mistyped are faults with a value of another type, and with null, in the place of
// one member each.
func (s shape) mistyped(members ...member) (list []fault) {
	for _, m := range members {
		v, _ := s.sound.At(tokens(m.at)...)
		other, kind := map[wire.Kind]string{
			wire.String: `7`, wire.Number: `"7"`, wire.Bool: `"true"`, wire.Object: `[]`, wire.Array: `{}`, wire.Null: `7`,
		}[v.Kind()], v.Kind()
		f := s.fault(m, "mistyped", set(m.at, other))
		f.why = m.tells + " is told by " + kind.String() + " and nothing that can be converted to one"
		f.breaks = "one reader converts the value and the other refuses it: " + m.tells + " depends on who reads"
		f.shared = f.shared && len(list) == 0 // one of a sort under the contract
		list = append(list, f)
	}
	return list
}

// nulled are faults with null in the place of one member each.
func (s shape) nulled(members ...member) (list []fault) {
	for _, m := range members {
		f := s.fault(m, "null", set(m.at, `null`))
		f.why = "null tells nothing: it is neither a value nor the absence of one"
		f.breaks = "one reader takes null for a default and the other for a gap: " + m.tells + " depends on who reads"
		f.shared = f.shared && len(list) == 0 // one of a sort under the contract
		list = append(list, f)
	}
	return list
}

// recased are faults with a member written with a capital letter, all else equal.
func (s shape) recased(members ...member) (list []fault) {
	for _, m := range members {
		path := tokens(m.at)
		name := path[len(path)-1]
		to := strings.TrimSuffix(m.at, name) + string(unicode.ToUpper(rune(name[0]))) + name[1:]
		f := s.fault(m, "capitalized", func(v wire.Value) wire.Value {
			moved, _ := v.At(path...)
			return at(drop(m.at)(v), tokens(to), moved)
		})
		f.why = "names of members are compared exactly; some libraries read them whatever their case"
		f.breaks = "a careless reader takes " + m.tells + " from a member that the careful one does not see"
		f.shared = f.shared && len(list) == 0 // one of a sort under the contract
		list = append(list, f)
	}
	return list
}

// added are faults with a member that the object at a pointer, which is closed,
// does not have.
func (s shape) added(objects ...string) (list []fault) {
	for _, o := range objects {
		m := member{at: o + "/undeclared"}
		f := s.fault(m, "member", set(m.at, `"not of the schema"`))
		f.why = "this object is closed: what it does not name has no meaning here"
		f.breaks = "text that nobody looks at, an instruction or a secret, travels inside what was verified"
		list = append(list, f)
	}
	return list
}

// mistimed are faults with a timestamp in a spelling that is none of RFC 3339's, or
// in one of its corners that readers do not agree on. Each means about t to a reader
// that knows it.
func (s shape) mistimed(m member, t time.Time) (list []fault) {
	date, clock := t.UTC().Format("2006-01-02"), t.UTC().Format("15:04:05")
	noSuchDay, second60 := "2026-06-31T09:00:00Z", "2026-06-30T23:59:60Z"
	if t.After(day("12:00:00")) {
		noSuchDay, second60 = "2026-09-31T09:00:00Z", "2026-09-30T23:59:60Z"
	}
	for _, spelling := range []struct{ name, text, why string }{
		{"without-zone", date + "T" + clock, "without a zone it is another instant in every city"},
		{"with-a-space", date + " " + clock + "Z", "date and time are joined by T"},
		{"in-lower-case", date + "t" + clock + "z", "T and Z are capitals"},
		{"as-date-alone", date, "a date is not an instant"},
		{"without-seconds", date + "T" + clock[:5] + "Z", "an instant has seconds"},
		{"without-punctuation", strings.NewReplacer("-", "", ":", "").Replace(date + "T" + clock + "Z"), "the basic format of ISO 8601 is not the one of RFC 3339"},
		{"with-bare-offset", date + "T" + clock + "+0000", "an offset has a colon"},
		{"with-a-comma", date + "T" + clock + ",5Z", "a fraction follows a point"},
		{"as-no-such-day", noSuchDay, "there is no such day"},
		{"as-hour-24", t.Add(-24*time.Hour).UTC().Format("2006-01-02") + "T24:00:00Z", "a day has the hours 0 to 23"},
		{"as-second-60", second60, "a leap second is not an instant that all readers know"},
		{"with-offset-24", t.Add(24*time.Hour).UTC().Format("2006-01-02") + "T" + clock + "+24:00", "an offset is less than a day"},
		{"as-unix-time", strconv.FormatInt(t.Unix(), 10), "a number of seconds is no timestamp"},
		{"before-a-line-feed", date + "T" + clock + "Z\n", "nothing follows the zone"},
		{"as-nothing", "", "an empty text is no timestamp"},
	} {
		f := s.fault(m, "spelled-"+spelling.name, set(m.at, wire.Text(spelling.text).Canonical()))
		f.why = spelling.why
		f.breaks = "readers that are more or less lenient disagree on " + m.tells
		f.shared = f.shared && len(list) < 2
		list = append(list, f)
	}
	return list
}

// other is a fault that puts a text of JSON at a pointer.
func (s shape) other(at, name, json, why, breaks string) fault {
	f := s.fault(member{at: at}, name, set(at, json))
	f.why, f.breaks = why, breaks
	return f
}

// fine is a vector with another value that is sound.
func (s shape) fine(at, name, json, why string) fault {
	f := s.other(at, name, json, why, "")
	f.rule, f.shared = nil, false
	return f
}
