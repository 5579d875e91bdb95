package mcpserver

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/resolve"
)

// Arguments and results of tools that verify.
var (
	keysParam   = param{name: "keys", kind: object, text: "public keys by agent id, base64url, besides those of contacts and did:key ids"}
	issuerParam = param{name: "issuer_public_key_b64", kind: text, text: "of who issued it; needed if its id is neither a did:key nor a contact"}
	ageParam    = param{name: "max_age_hours", kind: number, text: "how old it may be (2160)"}

	verdictMembers = []param{
		{name: "valid", kind: yes, must: true, text: "every required check was made and passed"},
		{name: "checks", kind: object, must: true, text: "each check: pass, fail or not checked"},
		{name: "errors", kind: objects, must: true, text: "of required checks that failed or were not made"},
		{name: "warnings", kind: objects, must: true, text: "of others"},
		{name: "failure_reason", kind: text},
	}
)

func verifyTools() []*tool {
	verifier := func(name, title, text string, takes, gives []param, do func(ctx context.Context, c *call) (wire.M, error)) *tool {
		return &tool{name: name, title: title, text: text + " Nothing is asked over the network.", reads: true, repeats: true, takes: takes, gives: with(verdictMembers, gives...), do: do}
	}
	return []*tool{
		verifier("concordia_verify_mandate", "Verify a mandate", "Checks that a mandate is in force, and if action is given that it allows that.",
			[]param{{name: "mandate", kind: object, must: true}, issuerParam, {name: "algorithm", kind: text, oneOf: []string{"EdDSA", "ES256"}, text: "checked against the mandate's, if given"},
				{name: "sequence_key", kind: text}, {name: "state_active", kind: yes}, {name: "uses", kind: integer, most: wire.MaxSafeInteger, text: "how often it was used before"}, {name: "action", kind: object, text: "what is to be done under it"},
				{name: "delegation_keys", kind: object, text: "public keys of delegates by id"},
				{name: "check_revocation", kind: yes, idle: true, text: "ignored: nobody is asked, and revocations that you keep always count"},
				{name: "session_ref", kind: text, idle: true, text: "ignored: nothing is recorded"}, {name: "offer_hash", kind: text, idle: true, text: "ignored, as session_ref"},
				{name: "receipt_ref", kind: text, idle: true, text: "ignored, as session_ref"}, {name: "mandate_ref", kind: text, idle: true, text: "ignored, as session_ref"}},
			[]param{{name: "mandate_id", kind: text}, {name: "issuer", kind: text}, {name: "subject", kind: text}, {name: "revoked_at", kind: text}}, verifyMandate),
		verifier("concordia_verify_approval_receipt", "Verify an approval", "Checks that an approval receipt stands and is about exactly this offer. Look at decision: a denial verifies, too.",
			[]param{{name: "receipt", kind: object, must: true}, {name: "offer", kind: object, must: true, text: "the body of the offer"}, issuerParam, {name: "session_id", kind: id, text: "that it has to be about"}},
			[]param{{name: "decision", kind: text}, {name: "receipt_id", kind: text}, {name: "approver", kind: text}}, verifyApproval),
		verifier("concordia_verify_receipt_bundle", "Verify a bundle of receipts", "Checks what an agent shows of its history, receipt by receipt. It proves what is in it and not that it is all.",
			[]param{{name: "bundle", kind: object, must: true}, ageParam, keysParam},
			[]param{{name: "agent_id", kind: text}, {name: "summary_accurate", kind: yes, must: true}, {name: "verified_counterparties", kind: ids}, {name: "attestation_count", kind: integer, must: true},
				{name: "proven", kind: object, text: "what countersigned receipts prove"}}, verifyBundle),
		verifier("concordia_verify_competence_proof", "Verify a competence proof", "Checks a proof of experience. Its figures are the agent's own word unless aggregate_verified.",
			[]param{{name: "proof", kind: object, must: true}, ageParam, keysParam},
			[]param{{name: "proof_id", kind: text}, {name: "agent_id", kind: text}, {name: "aggregate_verified", kind: yes, must: true}, {name: "claims_asserted_not_verified", kind: yes, must: true},
				{name: "merkle_proofs_valid", kind: yes, must: true}, {name: "revealed_count", kind: integer, must: true}}, verifyCompetence),
	}
}

// besides are keys of a call besides those of contacts, of this agent and of did:key ids. Whoever shows
// an artifact may have brought them along: for who is known otherwise they stand for
// nothing, and of whom the call brings another key than is known nothing is verified.
type besides struct {
	contacts *resolve.Contacts
	given    wire.KeyMap
}

var errOtherKey = errors.New("the call brings another key than is known")

// Key implements [wire.Keys].
func (k besides) Key(agent wire.AgentID, at time.Time) (wire.PublicKey, error) {
	known, err := k.contacts.Else(wire.AnyKeys{wire.DIDKeys{}, k.given}).Key(agent, at)
	if brought, ok := k.given[agent]; ok && err == nil && brought != known {
		return wire.PublicKey{}, wire.RuleUnknownKey.Because("", errOtherKey)
	}
	return known, err
}

// verifier makes what the call brings to an artifact. issuer is who the artifact says
// issued it, for whom the call may bring a key.
func (c *call) verifier(ctx context.Context, issuer wire.AgentID) (attest.Verifier, error) {
	none := attest.Verifier{}
	list, err := c.api.Contacts(ctx)
	if err != nil {
		return none, err
	}
	self, err := c.api.Self(ctx)
	if err != nil {
		return none, err
	}
	known := wire.M{}
	if !strings.HasPrefix(string(self.Agent), "did:key:") {
		known[string(self.Agent)] = self.Key
	}
	for _, x := range list {
		if len(x.Keys) > 0 && x.Agent != self.Agent {
			known[string(x.Agent)] = x.Keys
		}
	}
	v, err := wire.Encode(known)
	if err != nil {
		return none, err
	}
	contacts := new(resolve.Contacts)
	if err := contacts.Add(v); err != nil {
		return none, err
	}
	given := wire.KeyMap{}
	for _, name := range []string{"keys", "delegation_keys"} {
		for id, k := range c.value(name).Members() {
			if given[wire.AgentID(id)], err = wire.DecodePublicKey(k.Text()); err != nil {
				return none, refuse("/"+name, "want public keys by agent id, in padded base64url")
			}
		}
	}
	if s := c.text("issuer_public_key_b64"); s != "" {
		if given[issuer], err = wire.DecodePublicKey(s); err != nil {
			return none, refuse("/issuer_public_key_b64", "want a public key, in padded base64url")
		}
	}
	f := attest.Verifier{Keys: besides{contacts, given}, Now: c.opts.Now()}
	if c.args.Has("max_age_hours") {
		hours, _ := c.value("max_age_hours").Float()
		const most = 24 * 365 * 100
		f.Policy.MaxAge = max(1, time.Duration(min(max(hours, 0), most)*float64(time.Hour)))
	}
	return f, nil
}

// unrevoked adds to the report on an artifact what the revocations say that the node keeps.
func (c *call) unrevoked(ctx context.Context, artifact wire.Value, report wire.Report) (wire.Report, error) {
	revoked, err := c.api.Revoked(ctx, artifact)
	if err != nil {
		return nil, err
	}
	var broken error
	if revoked {
		broken = attest.RuleRevoked.At("")
	}
	for i, f := range report {
		if f.Check == "revocation" && (revoked || report[0].Outcome == wire.Passed) {
			report[i] = wire.Find(f.Check, false, broken)
		}
	}
	return report, nil
}

// verdict is a report as a result has it. What rules say of the data is left out: it may
// repeat it.
func verdict(report wire.Report) wire.M { return verdictOf(node.ChecksOf(report)) }

// verdictOf is verdict of checks that the node made.
func verdictOf(list []node.CheckView) wire.M {
	checks, errs, warnings := wire.M{}, []any{}, []any{}
	r := wire.M{}
	for _, f := range list {
		checks[f.Check] = f.Outcome
		if f.Outcome == wire.Passed.String() {
			continue
		}
		m := wire.M{"check": f.Check, "outcome": f.Outcome}
		if f.Rule != nil {
			m["rule"], m["section"], m["text"] = f.Rule.Name, f.Rule.Section, f.Text
			if isPlain(f.Rule.At) {
				m["pointer"] = f.Rule.At
			}
		}
		if f.Optional {
			warnings = append(warnings, m)
			continue
		}
		if len(errs) == 0 {
			r["failure_reason"] = f.Check
		}
		errs = append(errs, m)
	}
	r["valid"], r["checks"], r["errors"], r["warnings"] = len(errs) == 0, checks, errs, warnings
	return r
}

// name puts what an artifact calls itself or others into a result: beside the verdict if
// it is plain, else among the words of others.
func name(r wire.M, words *external, member, s string) {
	switch {
	case s == "":
	case isPlain(s):
		r[member] = s
	default:
		words.say(member, s)
	}
}

func verifyMandate(ctx context.Context, c *call) (wire.M, error) {
	artifact := c.value("mandate")
	issuer, _ := artifact.Get("issuer")
	f, err := c.verifier(ctx, wire.AgentID(issuer.Text()))
	if err != nil {
		return nil, err
	}
	use := attest.Use{Action: c.value("action"), SequenceKey: c.text("sequence_key")}
	if c.args.Has("state_active") {
		active := c.yes("state_active")
		use.StateActive = &active
	}
	if c.args.Has("uses") {
		uses := c.int("uses", 0)
		use.Uses = &uses
	}
	m, report := f.VerifyMandate(artifact, use)
	if report, err = c.unrevoked(ctx, artifact, report); err != nil {
		return nil, err
	}
	r, words := verdict(report), newExternal()
	if m != nil {
		name(r, words, "mandate_id", m.ID)
		name(r, words, "issuer", string(m.Issuer))
		name(r, words, "subject", string(m.Subject))
		if !m.RevokedAt.IsZero() {
			r["revoked_at"] = wire.FormatTime(m.RevokedAt)
		}
		if said := c.text("algorithm"); said != "" && said != string(m.Algorithm) {
			return nil, refuse("/algorithm", "the mandate is signed with another algorithm")
		}
	}
	return words.into(r), nil
}

func verifyApproval(ctx context.Context, c *call) (wire.M, error) {
	artifact := c.value("receipt")
	approver, err := attest.ReadApprovalReceipt(artifact)
	var issuer wire.AgentID
	if err == nil {
		issuer = approver.Approver
	}
	f, err := c.verifier(ctx, issuer)
	if err != nil {
		return nil, err
	}
	about := "" // any session
	if id := c.text("session_id"); id != "" {
		about = "urn:concordia:session:" + id
	}
	a, report := f.VerifyApproval(artifact, c.value("offer"), about)
	if report, err = c.unrevoked(ctx, artifact, report); err != nil {
		return nil, err
	}
	r, words := verdict(report), newExternal()
	if a != nil {
		name(r, words, "receipt_id", a.ID)
		name(r, words, "approver", string(a.Approver))
		r["decision"] = a.Decision
	}
	return words.into(r), nil
}

func verifyBundle(ctx context.Context, c *call) (wire.M, error) {
	f, err := c.verifier(ctx, "")
	if err != nil {
		return nil, err
	}
	b, report := f.VerifyBundle(c.value("bundle"))
	receipts, _ := c.value("bundle").Get("attestations")
	r, words := verdict(report), newExternal()
	r["attestation_count"], r["summary_accurate"] = receipts.Len(), passed(report, "summary")
	if b != nil {
		name(r, words, "agent_id", string(b.Agent))
		r["verified_counterparties"] = agents(b.Credit.Counterparties)
		r["proven"] = wire.M{"receipts": b.Credit.Bound, "agreements": b.Credit.Agreements, "fulfilled": b.Credit.Fulfilled, "patterns": len(b.Credit.Patterns)}
	}
	return words.into(r), nil
}

func verifyCompetence(ctx context.Context, c *call) (wire.M, error) {
	f, err := c.verifier(ctx, "")
	if err != nil {
		return nil, err
	}
	p, report := f.VerifyCompetence(c.value("proof"))
	r, words := verdict(report), newExternal()
	verified := passed(report, "aggregate")
	r["aggregate_verified"], r["claims_asserted_not_verified"] = verified, !verified
	r["merkle_proofs_valid"], r["revealed_count"] = passed(report, "membership"), 0
	if p != nil {
		name(r, words, "proof_id", p.ID)
		name(r, words, "agent_id", string(p.Agent))
		r["revealed_count"] = p.Revealed
	}
	return words.into(r), nil
}

// passed reports whether a check passed.
func passed(report wire.Report, check string) bool {
	for _, f := range report {
		if f.Check == check {
			return f.Outcome == wire.Passed
		}
	}
	return false
}
