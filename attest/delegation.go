package attest

import (
	"errors"
	"fmt"
	"time"

	"github.com/concordia-node/concordia/internal/schema"
	"github.com/concordia-node/concordia/wire"
)

// A Delegation is one link of a mandate's chain: the delegator passes on what it
// was given, or less. A link does not say which mandate it belongs to: it is worth
// what the issuer's signature over the whole mandate makes it. (SPEC §9.9.1)
type Delegation struct {
	Delegator   wire.AgentID
	Delegate    wire.AgentID
	DelegatedAt time.Time
	Algorithm   wire.Algorithm
	Restriction wire.Value // absent if the link passes on everything

	value wire.Value
}

// MaxDelegations bounds the links of a mandate (SPEC §9.9.1).
const MaxDelegations = 16

// The rules of delegation.
var (
	RuleDelegation           = &wire.Rule{Section: "9.9.1", Name: "delegation", Class: wire.ClassSchema, Text: "a delegation chain has at most 16 links"}
	RuleDelegated            = &wire.Rule{Section: "9.9.1", Name: "delegated", Class: wire.ClassBinding, Text: "a mandate that has to be delegated has a delegation chain"}
	RuleDelegationRoot       = &wire.Rule{Section: "9.9.1", Name: "delegation-root", Class: wire.ClassBinding, Text: "the first delegator is the issuer"}
	RuleDelegationTail       = &wire.Rule{Section: "9.9.1", Name: "delegation-tail", Class: wire.ClassBinding, Text: "the last delegate is the subject"}
	RuleDelegationContinuity = &wire.Rule{Section: "9.9.1", Name: "delegation-continuity", Class: wire.ClassBinding, Text: "each delegator after the first is the delegate before"}
	RuleDelegationSignature  = &wire.Rule{Section: "9.9.1", Name: "delegation-signature", Class: wire.ClassSignature, Text: "each delegator signed its link"}
	RuleDelegationOrder      = &wire.Rule{Section: "9.9.1", Name: "delegation-order", Class: wire.ClassTemporal, Text: "no link was delegated before the one it continues, but for the clock skew"}
	RuleRestriction          = &wire.Rule{Section: "9.9.2", Name: "scope-restriction", Class: wire.ClassSchema, Text: "a scope_restriction is a JSON Schema within the limits or max_spend alone with a number"}
	RuleDelegatedAction      = &wire.Rule{Section: "9.9.2", Name: "delegated-action", Class: wire.ClassBinding, Text: "the action satisfies the restriction of every link"}
)

var errTooManyLinks = fmt.Errorf("more than %d links", MaxDelegations)

// readDelegations reads the chain of a mandate that the schema has looked at.
func readDelegations(r wire.Reader) []Delegation {
	if !r.Has("delegation_chain") {
		return nil
	}
	if r.Array("delegation_chain").Len() > MaxDelegations {
		r.FailRule(RuleDelegation, "delegation_chain", errTooManyLinks)
		return nil
	}
	var chain []Delegation
	for _, l := range r.Objects("delegation_chain") {
		d := Delegation{
			Delegator: wire.ReadID[wire.AgentID](l, "delegator"), Delegate: wire.ReadID[wire.AgentID](l, "delegate"),
			DelegatedAt: l.Time("delegated_at"), Algorithm: wire.Algorithm(l.Text("algorithm")), value: l.Whole(),
		}
		if l.Has("scope_restriction") {
			d.Restriction = l.Value("scope_restriction")
		}
		chain = append(chain, d)
	}
	return chain
}

// Delegated is the check of a verifier that wants a mandate to have come through
// delegation (SPEC §9.9.1).
func Delegated() wire.Check[*MandateSubject] {
	return wire.Check[*MandateSubject]{Name: "delegated", Run: func(s *MandateSubject) error {
		if len(s.Mandate.Chain) == 0 {
			return RuleDelegated.At("/delegation_chain")
		}
		return nil
	}}
}

func linkAt(i int) string { return fmt.Sprintf("/delegation_chain/%d", i) }

// direct is what is said of a chain that is not there, else nil.
func (s *MandateSubject) direct() error {
	if len(s.Mandate.Chain) == 0 {
		return &wire.Unchecked{Why: "the mandate is not delegated", Moot: true}
	}
	return nil
}

func (s *MandateSubject) checkRoot() error {
	if moot := s.direct(); moot != nil {
		return moot
	}
	if s.Mandate.Chain[0].Delegator != s.Mandate.Issuer {
		return RuleDelegationRoot.At(linkAt(0) + "/delegator")
	}
	return nil
}

func (s *MandateSubject) checkTail() error {
	if moot := s.direct(); moot != nil {
		return moot
	}
	if last := len(s.Mandate.Chain) - 1; s.Mandate.Chain[last].Delegate != s.Mandate.Subject {
		return RuleDelegationTail.At(linkAt(last) + "/delegate")
	}
	return nil
}

func (s *MandateSubject) checkContinuity() error {
	if moot := s.direct(); moot != nil {
		return moot
	}
	for i, d := range s.Mandate.Chain[1:] {
		if d.Delegator != s.Mandate.Chain[i].Delegate {
			return RuleDelegationContinuity.At(linkAt(i+1) + "/delegator")
		}
	}
	return nil
}

func (s *MandateSubject) checkLinks() error {
	if moot := s.direct(); moot != nil {
		return moot
	}
	var unknown error
	for i, d := range s.Mandate.Chain {
		text, _ := d.value.Get("signature")
		err := s.CheckSignature(Claim{
			Rule: RuleDelegationSignature, Signer: d.Delegator, Algorithm: d.Algorithm, Signed: d.DelegatedAt,
			Preimage: d.value.Without("signature"), Text: text, At: linkAt(i) + "/signature",
		})
		if err := later(err, &unknown); err != nil {
			return err
		}
	}
	return unknown
}

// checkOrder checks when the links say they were made. Each delegator has a clock
// of its own, so that the skew counts between two of them as well. The reference
// does not look at these times.
func (s *MandateSubject) checkOrder() error {
	if moot := s.direct(); moot != nil {
		return moot
	}
	skew := s.Policy.or().Skew
	for i, d := range s.Mandate.Chain {
		at := linkAt(i) + "/delegated_at"
		if err := s.CheckAnchor(d.DelegatedAt, at); err != nil {
			return err
		}
		if i > 0 && d.DelegatedAt.Add(skew).Before(s.Mandate.Chain[i-1].DelegatedAt) {
			return RuleDelegationOrder.At(at)
		}
	}
	return nil
}

// restrictionKeywords are the keywords by which a restriction is known to be a
// JSON Schema. An object without any of them would restrict nothing.
var restrictionKeywords = []string{
	"$schema", "$id", "$ref", "$defs", "type", "properties", "required", "additionalProperties", "items",
	"allOf", "anyOf", "oneOf", "not", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
	"minLength", "maxLength", "pattern", "minItems", "maxItems", "format",
}

var errRestriction = errors.New("want a JSON Schema, or max_spend alone with a number")

// restriction reads the restriction of link i. {"max_spend": n} demands that the
// action names what it spends: the reference takes silence for zero, so that a
// spender escapes the cap by saying nothing.
func (s *MandateSubject) restriction(i int) (*schema.Constraint, error) {
	v, at := s.Mandate.Chain[i].Restriction, linkAt(i)+"/scope_restriction"
	most, capped := v.Get("max_spend")
	if capped && v.Len() == 1 && most.Kind() == wire.Number {
		// The number is canonical text of a value that was parsed: nothing can be
		// smuggled in with it.
		text := `{"properties":{"max_spend":{"maximum":` + most.Canonical() + `,"type":"number"}},"required":["max_spend"],"type":"object"}`
		c, err := schema.ParseConstraint(text)
		if err != nil {
			return nil, RuleRestriction.Because(at, err)
		}
		return c, nil
	}
	for _, keyword := range restrictionKeywords {
		if _, ok := v.Get(keyword); ok {
			return constraint(v, RuleRestriction, at)
		}
	}
	return nil, RuleRestriction.Because(at, errRestriction)
}

func (s *MandateSubject) checkRestrictions() error {
	if moot := s.direct(); moot != nil {
		return moot
	}
	for i, d := range s.Mandate.Chain {
		if d.Restriction.Kind() == wire.Absent {
			continue
		}
		if _, err := s.restriction(i); err != nil {
			return err
		}
	}
	return nil
}

// checkDelegatedAction checks the action against every link. Each schema is judged
// by itself, so that a reference inside one of them means what it meant where it
// was signed.
func (s *MandateSubject) checkDelegatedAction() error {
	if moot := s.direct(); moot != nil {
		return moot
	}
	if err := s.ready(); err != nil {
		return err
	}
	for i, d := range s.Mandate.Chain {
		if d.Restriction.Kind() == wire.Absent {
			continue
		}
		c, err := s.restriction(i)
		if err != nil {
			return err
		}
		if err := s.allows(c, RuleDelegatedAction, linkAt(i)+"/scope_restriction"); err != nil {
			return err
		}
	}
	return nil
}

// Link makes a link by which the issuer, as the delegator, passes on to the delegate
// what it was given, or less: restriction is a JSON Schema or {"max_spend": n}, and
// absent if the link restricts nothing. The link is of no mandate until the mandate's
// issuer takes it into one: see Delegate. (SPEC §9.9.1)
func (i Issuer) Link(delegate wire.AgentID, restriction wire.Value) (wire.Value, error) {
	link := wire.M{
		"delegator": i.Agent, "delegate": delegate, "delegated_at": wire.FormatTime(i.Now), "algorithm": i.Key.Public().Algorithm(),
	}
	if restriction.Kind() != wire.Absent {
		link["scope_restriction"] = restriction
	}
	v, err := wire.Encode(link)
	if err != nil {
		return v, fmt.Errorf("issuing a delegation: %w", err)
	}
	d := i.draft("a delegation", v)
	d.signBare()
	return d.done(func(f Verifier, v wire.Value) wire.Report {
		// A mandate of nothing but the link says whether it is a sound one.
		chain := arrayOf([]wire.Value{v})
		s := &MandateSubject{Verifier: f, Mandate: &Mandate{}}
		r := wire.Read(emptyObject.With("delegation_chain", chain), "", RuleMandate)
		s.Mandate.Chain = readDelegations(r)
		if err := r.Err(); err != nil {
			return wire.Report{wire.Find("shape", false, err)}
		}
		return wire.Report{
			wire.Find("restriction", false, s.checkRestrictions()), wire.Find("signature", false, s.checkLinks()),
		}
	})
}

// Delegate takes links into a mandate of the issuer and signs it anew: the signature
// covers the chain, and a link alone is worth nothing. The last delegate becomes the
// subject. The links of others are verified with the issuer's Keys, and so is its own
// signature: what it did not issue it does not pass on. (SPEC §9.9.1)
func (i Issuer) Delegate(mandate wire.Value, links ...wire.Value) (wire.Value, error) {
	m, err := ReadMandate(mandate)
	if err == nil {
		err = (&MandateSubject{Verifier: i.Verifier(), Mandate: m}).checkSignature()
	}
	if err != nil {
		return wire.Value{}, fmt.Errorf("issuing a mandate: the one to pass on: %w", err)
	}
	chain, _ := mandate.Get("delegation_chain")
	var all []wire.Value
	for _, l := range chain.Elems() {
		all = append(all, l)
	}
	all = append(all, links...)
	if len(all) == 0 {
		return mandate, fmt.Errorf("issuing a mandate: %w", RuleDelegated.At("/delegation_chain"))
	}
	subject, _ := all[len(all)-1].Get("delegate")
	return i.Mandate(mandate.With("delegation_chain", arrayOf(all)).With("subject", subject))
}
