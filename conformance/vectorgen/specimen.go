package main

import (
	"cmp"
	"maps"
	"strings"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/wire"
)

// A specimen is a sound artifact and what can be wrong with it.
type specimen struct {
	kind    string // of SPEC §12.3; its strict profile judges every fault
	form    string // tells several specimens of a kind apart; "" if there is one
	profile string // the profile, if it is not the strict one of the kind
	record  string // record_type
	value   wire.Value
	sign    func(wire.Value) wire.Value // signs again what was changed; nil: nobody signs this
	context wire.M                      // of the strict profile: now and public_keys at least
	inner   []string                    // pointers to objects inside whose members are given twice as well

	// The profile of the public contract for this kind, if there is one, judges the
	// faults that are marked as shared.
	contract        string
	contractRecord  string // record_type there, if it is another
	contractContext func(wire.Value) wire.M

	faults []fault
}

// A fault is one thing that is wrong, or, without a rule, one that is not although
// a verifier might think so.
type fault struct {
	name   string     // unique in its kind, lower case with hyphens
	rule   *wire.Rule // the one rule that is broken; nil: the artifact is sound
	shared bool       // the contract's profile has this check, too
	class  wire.Class // the reason there, if it is not the rule's
	open   bool       // whether the rule is broken cannot be known: the reason is left open
	theirs *wire.Rule // broken there, of a sound artifact: a check that the product leaves to its caller

	edit     func(wire.Value) wire.Value // before it is signed again
	after    func(wire.Value) wire.Value // after that: a change that nobody signed
	context  wire.M                      // replaces members of the context; nil members are removed
	contract wire.M                      // the same for the contract's context

	why    string // why a verifier has to look at this
	breaks string // what goes wrong if it passes; empty for a sound artifact
}

// A vector is a fault as a file.
type vector struct {
	id, section, title, record, profile string
	input                               string // JSON text
	discriminates                       string // of a canary: which laziness it finds
	context                             wire.M
	rule                                *wire.Rule
	reason                              wire.Class
	why, breaks                         string
	specimen                            int // which it is made from
}

// vectors returns the vectors of a specimen: of each fault one under the strict
// profile, and if it is shared another under the contract's.
func (s specimen) vectors() []vector {
	var list []vector
	for _, f := range append([]fault{{name: "sound", shared: true, why: "a sound artifact is accepted: a verifier that rejects everything proves nothing"}}, s.faults...) {
		v := s.value
		if f.edit != nil {
			v = f.edit(v)
			if s.sign != nil {
				v = s.sign(v)
			}
		}
		if f.after != nil {
			v = f.after(v)
		}
		made := vector{
			id: s.name(f.name), title: strings.NewReplacer("_", " ", "-", " ").Replace(s.name(f.name)), record: s.record,
			profile: s.strict(), input: v.Canonical(), context: override(s.context, f.context),
			why: f.why, breaks: f.breaks,
		}
		if f.theirs != nil {
			made.breaks = ""
		}
		made = made.judged(f.rule)
		if f.open {
			made.reason = ""
		}
		list = append(list, made)
		if f.shared && s.contract != "" {
			made.id, made.profile, made.breaks = "contract-"+made.id, s.contract, f.breaks
			made.context = override(s.contractContext(v), f.contract)
			if s.contractRecord != "" {
				made.record = s.contractRecord
			}
			made = made.judged(cmp.Or(f.theirs, f.rule))
			if made.rule != nil && f.class != "" {
				made.reason = f.class
			}
			list = append(list, made)
		}
	}
	return append(list, s.duplicates()...)
}

// duplicates returns, for each member of the artifact and of the objects inside it
// that are listed, a vector in which that member is there twice: first with another
// value, then as it was signed. Whoever lets the last one win sees a sound artifact.
// (RFC 7493, Section 2.3) The contract does not say which of two counts, so that its
// profiles are not asked.
func (s specimen) duplicates() []vector {
	if !strings.HasSuffix(s.strict(), "-strict-v1") {
		return nil
	}
	const hole = "what is replaced"
	var list []vector
	for _, pointer := range append([]string{""}, s.inner...) {
		object, ok := s.value, true
		before, after := "", ""
		if pointer != "" {
			object, ok = s.value.At(tokens(pointer)...)
			before, after, _ = strings.Cut(at(s.value, tokens(pointer), wire.Text(hole)).Canonical(), wire.Text(hole).Canonical())
		}
		if !ok || pointer != "" && object.Kind() != wire.Object {
			panic("vectorgen: no object at " + pointer)
		}
		where := strings.TrimPrefix(label(pointer)+"-", "-")
		for name, v := range object.Members() {
			list = append(list, vector{
				id: s.name("duplicate-" + where + fileName(label(name))), section: conformance.Mutation, record: s.record,
				title:   strings.ReplaceAll(s.kind+" with "+strings.TrimPrefix(pointer+"/"+name, "/")+" twice", "_", " "),
				profile: s.strict(), context: s.context, rule: wire.RuleDuplicate, reason: wire.ClassSchema,
				input:  before + "{" + value(name).Canonical() + ":" + other(v) + "," + object.Canonical()[1:] + after,
				why:    "a member that is there twice is two documents: the reader that takes the last " + name + " and the one that takes the first disagree",
				breaks: "what was signed, checked and shown is not what is acted on",
			})
		}
	}
	return list
}

// fileName replaces what does not belong into the name of a file.
func fileName(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '-' {
			return c
		}
		return '-'
	}, s)
}

// judged returns the vector with what is expected of it.
func (v vector) judged(rule *wire.Rule) vector {
	v.rule, v.section = rule, conformance.Positive
	if rule != nil {
		v.section, v.reason = conformance.Mutation, rule.Class
	}
	return v
}

// other returns another value of the same type.
func other(v wire.Value) string {
	switch v.Kind() {
	case wire.String:
		return `"other"`
	case wire.Number:
		return `7`
	case wire.Object:
		return `{}`
	case wire.Array:
		return `[]`
	case wire.Bool:
		return value(!v.Bool()).Canonical()
	}
	return `{"was":null}`
}

// strict returns the profile that judges every fault.
func (s specimen) strict() string { return cmp.Or(s.profile, conformance.StrictProfile(s.kind)) }

// name returns the id of one of the specimen's vectors.
func (s specimen) name(fault string) string {
	if s.form != "" {
		fault = s.form + "-" + fault
	}
	return s.kind + "-" + fault
}

// override returns context with other members; nil members are removed.
func override(context, with wire.M) wire.M {
	context = maps.Clone(context)
	for name, v := range with {
		if v == nil {
			delete(context, name)
		} else {
			context[name] = v
		}
	}
	return context
}
