package conformance

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// A profile is an ordered list of checks: those of package attest, by their
// names, and a few that only a suite makes. "action?" is the check "action", made
// only if the context has an action. A verdict is decided by the first that
// fails. (SPEC §12.5)
type profile struct {
	kind  kind
	steps []string
}

// A kind makes the checks of one kind of artifact, by name.
type kind struct {
	names []string
	open  func(Question) func(step string) error
}

// profiles are all profiles.
var profiles = allProfiles()

func allProfiles() map[string]profile {
	all := strictProfiles()
	maps.Copy(all, contract)
	return all
}

// contract holds the profiles of the public contract.
var contract = map[string]profile{
	"decision-object-v1":         {decisionObject, []string{"decision-id"}},
	"offer-binding-v1":           {offerBinding, []string{"bindings"}},
	"receipt-v1":                 {approvalReceipt, []string{"schema", "approves-reference", "signature", "expiry", "offer-hash"}},
	"revocation-v1":              {revocationRecord, []string{"schema", "revokes-reference", "revocation-target", "signature"}},
	"attestation-v1":             {attestation, []string{"deal-terms", "schema", "published", "party-signatures", "verified-parties"}},
	"attestation-countersign-v1": {attestation, []string{"schema", "published", "digest", "countersigners"}},
	"cascade-decision-v1":        {cascadeDecision, []string{"schema", "decision-id", "expected", "signature"}},
	"fulfillment-attestation-v1": {fulfillmentAttestation, []string{
		"schema", "fulfills-reference", "mediated", "fulfills-agreement", "signature",
		"digest", "seed", "join-keys", "deal-terms",
	}},
	"cosign-v1": {cosignedReceipt, []string{
		"expected-key", "schema", "counterparty-key", "publisher", "counterparty-entry", "digest", "signature",
	}},
	"predicate-v1": {predicate, []string{"schema", "spelling", "digest", "signature", "status", "expiry"}},
	"mandate-v1": {mandate, []string{
		"schema", "digest", "signature", "status", "validity", "constraints", "action?",
	}},
	"delegation-chain-v1": {mandate, []string{
		"schema", "digest", "signature", "status", "validity",
		"delegated", "delegation-root", "delegation-tail", "delegation-continuity", "link-signatures",
		"constraints", "restrictions", "action?", "delegated-action?",
	}},
	"conditional-commitment-v1":   {conditionalCommitment, []string{"schema", "digest", "signature"}},
	"atomic-activation-proof-v1":  {activationProof, []string{"schema", "digest", "signature"}},
	"unwind-record-v1":            {unwindRecord, []string{"schema", "digest", "signature"}},
	"closure-predicate-v1":        {closurePredicate, []string{"schema", "digest", "bindings"}},
	"chain-session-v1":            {chainSession, []string{"schema", "published", "digest"}},
	"chain-session-transition-v1": {chainTransition, []string{"schema", "published", "transition"}},
	"agent-profile-v1":            {agentProfile, []string{"canonical-fields", "members", "digest", "signature"}},
	"competence-proof-v1":         {competenceProof, []string{"members", "count", "membership", "digest", "signature"}},
	"receipt-bundle-v1":           {receiptBundle, []string{"schema", "digest", "signature"}},
	"message-chain-v1": {messageChain, []string{
		"members", "count", "linkage", "signatures", "hashes",
		"receipt", "receipt-signatures", "receipt-count", "receipt-head",
	}},
}

// Profiles returns the names of the profiles, sorted.
func Profiles() []string { return slices.Sorted(maps.Keys(profiles)) }

// Steps returns the checks of a profile in order.
func Steps(name string) []string { return slices.Clone(profiles[name].steps) }

// Answer judges a question. The report ends with the first check that failed.
func (q Question) Answer() wire.Report {
	if q.Unreadable != nil {
		return wire.Report{wire.Find("read", false, q.Unreadable)}
	}
	q.twice = newTwice()
	if err := q.twice.compare(q.Input, q.raw); err != nil {
		return wire.Report{wire.Find("canonical", false, err)}
	}
	p, ok := profiles[q.Profile]
	if !ok {
		return wire.Report{wire.Find("profile", false, ruleVector.Because("/verification_profile", errProfile))}
	}
	run := p.kind.open(q)
	var report wire.Report
	for _, step := range p.steps {
		step, conditional := strings.CutSuffix(step, "?")
		if conditional && !q.hasAction() {
			continue
		}
		err := run(step)
		if u, ok := errors.AsType[*wire.Unchecked](err); ok && !u.Moot {
			err = ruleContext.Because("/context", u) // the context does not say what the check needs
		}
		finding := wire.Find(step, false, err)
		report = append(report, finding)
		if finding.Outcome != wire.Passed && !finding.Optional {
			break
		}
	}
	return report
}

func (q Question) hasAction() bool {
	v, ok := q.Context.Get("action")
	return ok && v.Kind() != wire.Null
}

// Reason returns the class of the rule that decided a rejection.
func Reason(r wire.Report) wire.Class {
	if v, ok := errors.AsType[*wire.Violation](r.Err()); ok {
		return v.Rule.Class
	}
	return ""
}

// artifactKind makes the kind of an artifact of package attest. The step "schema"
// reads it; checks are those of its verifier; own are steps that only a suite has,
// which may come before "schema" and then get the zero A.
func artifactKind[A, S any](read func(Question) (A, error), subject func(Question, A) (S, error), checks []wire.Check[S], own map[string]func(Question, A) error) kind {
	k := kind{names: append(slices.Collect(maps.Keys(own)), "schema")}
	byName := make(map[string]func(S) error, len(checks))
	for _, c := range checks {
		k.names = append(k.names, c.Name)
		byName[c.Name] = c.Run
	}
	k.open = func(q Question) func(string) error {
		var a A
		return func(step string) (err error) {
			if step == "schema" {
				a, err = read(q)
				return err
			}
			if run, ok := own[step]; ok {
				return run(q, a)
			}
			s, err := subject(q, a)
			if err != nil {
				return err
			}
			return byName[step](s)
		}
	}
	return k
}

// input reads an artifact from the input alone.
func input[A any](read func(wire.Value) (A, error)) func(Question) (A, error) {
	return func(q Question) (A, error) { return read(q.Input) }
}

// ownKind makes a kind that only suites have.
func ownKind(own map[string]func(Question) error) kind {
	return kind{names: slices.Collect(maps.Keys(own)), open: func(q Question) func(string) error {
		return func(step string) error { return own[step](q) }
	}}
}

// The rules of suites. They are about vectors, not about the protocol.
var (
	ruleContext = &wire.Rule{Section: "12.5", Name: "context", Class: wire.ClassSchema, Text: "the context of a vector has what its profile needs"}
	ruleDigest  = &wire.Rule{Section: "12.5", Name: "expected-digest", Class: wire.ClassDigest, Text: "a digest is the one that the context expects"}
)

var (
	errMissing = errors.New("missing")
	errNoText  = errors.New("want a text")
	errNoList  = errors.New("want an array")
)

// text returns a text of the context, and whether it is there: null is not. What is
// there and no text is an error: an expectation of another type is none that can be
// met.
func (q Question) text(path ...string) (text string, given bool, err error) {
	v, _ := q.Context.At(path...)
	switch v.Kind() {
	case wire.Absent, wire.Null:
		return "", false, nil
	case wire.String:
		return v.Text(), true, nil
	}
	return "", true, ruleContext.Because("/context"+wire.Pointer(path...), errNoText)
}

// needText is text for what has to be there.
func (q Question) needText(path ...string) (string, error) {
	text, given, err := q.text(path...)
	if err == nil && !given {
		err = ruleContext.Because("/context"+wire.Pointer(path...), errMissing)
	}
	return text, err
}

// list returns an array of the context, and whether it is there.
func (q Question) list(name string) (list wire.Value, given bool, err error) {
	v, _ := q.Context.Get(name)
	switch v.Kind() {
	case wire.Absent, wire.Null:
		return v, false, nil
	case wire.Array:
		return v, true, nil
	}
	return v, true, ruleContext.Because("/context/"+name, errNoList)
}

// verifier returns what the context gives: keys, and now if it is needed.
func (q Question) verifier(keys wire.Keys, timed bool) (attest.Verifier, error) {
	f := attest.Verifier{Keys: keys, Canonical: q.twice.canonical, Unpadded: true}
	if !timed {
		return f, nil
	}
	var err error
	f.Now, err = q.now()
	return f, err
}

func (q Question) now() (time.Time, error) {
	text, err := q.needText("now")
	if err != nil {
		return time.Time{}, err
	}
	now, err := wire.ParseTime(text)
	if err != nil {
		return now, ruleContext.Because("/context/now", err)
	}
	return now, nil
}

// keyText is a key of a context. It passes the gate when somebody asks for it.
type keyText struct {
	text string
	ok   bool
}

func (k keyText) key() (wire.PublicKey, error) {
	if !k.ok {
		return wire.PublicKey{}, wire.RuleUnknownKey.Because("", errMissing)
	}
	padded := k.text + strings.Repeat("=", -len(k.text)&3) // the contract takes keys without padding
	return wire.DecodePublicKey(padded)
}

// anybody answers with one key, whoever is asked for: the context says whose
// signature it is.
type anybody keyText

// Key implements wire.Keys.
func (k anybody) Key(wire.AgentID, time.Time) (wire.PublicKey, error) { return keyText(k).key() }

func (q Question) oneKey(path ...string) wire.Keys {
	v, ok := q.Context.At(path...)
	return anybody{v.Text(), ok}
}

// named answers with the key that an object of the context has under the agent's id.
type named struct{ keys wire.Value }

// Key implements wire.Keys.
func (n named) Key(agent wire.AgentID, _ time.Time) (wire.PublicKey, error) {
	v, ok := n.keys.Get(string(agent))
	return keyText{v.Text(), ok}.key()
}

func (q Question) namedKeys(member string) wire.Keys {
	v, _ := q.Context.Get(member)
	return named{v}
}

// digestOf returns the SHA-256 of v's canonical bytes, made twice.
func (q Question) digestOf(v wire.Value) (string, error) {
	b, err := q.twice.canonical(v)
	return wire.HashOf(b).String(), err
}

// expectDigest compares the digest of v with a text of the context that may be
// left out.
func (q Question) expectDigest(v wire.Value, member string) error {
	want, given, err := q.text(member)
	if err != nil || !given {
		return err
	}
	got, err := q.digestOf(v)
	if err != nil {
		return err
	}
	if got != want {
		return ruleDigest.Because("", fmt.Errorf("the context expects another %s", member))
	}
	return nil
}

// digest is the step "digest" of artifacts whose preimage is cut by preimage.
func digest[A any](preimage func(wire.Value) wire.Value) func(Question, A) error {
	return func(q Question, _ A) error { return q.expectDigest(preimage(q.Input), "canonical_sha256") }
}

// unsigned is the preimage of most artifacts.
func unsigned(v wire.Value) wire.Value { return v.Without("signature") }

// dealTerms is the scan that a context asks for: of every name and every text but
// signatures (SPEC §9.6.6).
func dealTerms[A any](q Question, _ A) error {
	if wanted, _ := q.Context.Get("forbid_raw_deal_terms"); !wanted.Bool() {
		return nil
	}
	return scan(q.Input, "")
}

func scan(v wire.Value, at string) error {
	if at == "/signature/value" || strings.HasSuffix(at, "/signature") || strings.HasPrefix(at, "/countersignatures/") {
		return nil
	}
	if v.Kind() == wire.String && attest.TellsTerms(v.Text()) {
		return attest.RuleDealTerms.At(at)
	}
	for name, member := range v.Members() {
		if attest.TellsTerms(name) {
			return attest.RuleDealTerms.At(at)
		}
		if err := scan(member, at+wire.Pointer(name)); err != nil {
			return err
		}
	}
	for i, e := range v.Elems() {
		if err := scan(e, fmt.Sprintf("%s/%d", at, i)); err != nil {
			return err
		}
	}
	return nil
}
