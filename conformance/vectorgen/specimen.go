package main

import (
	"maps"
	"strings"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/wire"
)

// A specimen is a sound artifact and what can be wrong with it.
type specimen struct {
	kind    string // of SPEC §12.3; its strict profile judges every fault
	prefix  string // of the names of the vectors, if the kind has other specimens
	profile string // the profile, if it is not the strict one of the kind
	record  string // record_type
	value   wire.Value
	sign    func(wire.Value) wire.Value // signs again what was changed; nil: nobody signs this
	context wire.M                      // of the strict profile: now and public_keys at least

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
	input                               wire.Value
	context                             wire.M
	rule                                *wire.Rule
	reason                              wire.Class
	why, breaks                         string
}

// vectors returns the vectors of a specimen: of each fault one under the strict
// profile, and if it is shared another under the contract's.
func (s specimen) vectors() []vector {
	var list []vector
	profile := s.profile
	if profile == "" {
		profile = conformance.StrictProfile(s.kind)
	}
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
			id: s.kind + "-" + s.prefix + f.name, title: strings.ReplaceAll(s.kind+" "+s.prefix+f.name, "_", " "), record: s.record,
			profile: profile, input: v, context: override(s.context, f.context),
			rule: f.rule, why: f.why, breaks: f.breaks, section: conformance.Positive,
		}
		if f.rule != nil {
			made.section, made.reason = conformance.Mutation, f.rule.Class
		}
		list = append(list, made)
		if f.shared && s.contract != "" {
			made.id, made.profile = "contract-"+made.id, s.contract
			made.context = override(s.contractContext(v), f.contract)
			if s.contractRecord != "" {
				made.record = s.contractRecord
			}
			if f.rule != nil && f.class != "" {
				made.reason = f.class
			}
			list = append(list, made)
		}
	}
	return list
}

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
