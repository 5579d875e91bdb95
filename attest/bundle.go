package attest

import (
	"fmt"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A ReceiptBundle is what an agent shows of its history: receipts and what they add
// up to. It proves what is in it and not that it is all. (SPEC §9.6.6a)
type ReceiptBundle struct {
	ID        string
	Agent     wire.AgentID // who shows it
	CreatedAt time.Time
	Summary   wire.Value // as the agent claims it: see Summarize and Credit
	Credit    Credit     // what is proven; zero unless VerifyBundle found no fault

	value wire.Value
}

// The rules of receipt bundles.
var (
	RuleBundle          = &wire.Rule{Section: "9.6.6a", Name: "bundle", Class: wire.ClassSchema, Text: "a receipt bundle has the members of its schema"}
	RuleBundleSignature = &wire.Rule{Section: "9.6.6a", Name: "bundle-signature", Class: wire.ClassSignature, Text: "the agent that shows a bundle signed it"}
)

var bundleRules = []*wire.Rule{RuleBundle, RuleBundleSignature}

// ReadReceiptBundle checks the shape of a bundle, of its receipts only which members
// they have. It verifies nothing.
func ReadReceiptBundle(v wire.Value) (*ReceiptBundle, error) {
	r, err := shapeOfHistory(v, "receipt_bundle", RuleBundle, "attestations")
	if err != nil {
		return nil, err
	}
	for _, e := range r.Objects("attestations") {
		for _, name := range []string{"concordia_attestation", "attestation_id", "session_id", "timestamp", "outcome", "parties"} {
			e.Value(name)
		}
	}
	b := &ReceiptBundle{
		ID: r.Text("bundle_id"), Agent: wire.ReadID[wire.AgentID](r, "agent_id"), CreatedAt: r.Time("created_at"),
		Summary: r.Object("summary").Whole(), value: v,
	}
	return b, r.Err()
}

// Value returns the bundle as it was received.
func (b *ReceiptBundle) Value() wire.Value { return b.value }

// A BundleSubject is a bundle with what it is verified by.
type BundleSubject struct {
	Verifier
	Bundle *ReceiptBundle

	shown *history
}

// history verifies the receipts, once.
func (s *BundleSubject) history() *history {
	if s.shown == nil {
		list, _ := s.Bundle.value.Get("attestations")
		s.shown = s.readHistory(list, "/attestations", s.Bundle.Agent)
	}
	return s.shown
}

// BundleChecks are the checks of a receipt bundle in order (SPEC §9.6.6a).
func BundleChecks() []wire.Check[*BundleSubject] {
	checks := []wire.Check[*BundleSubject]{
		{Name: "signature", Run: (*BundleSubject).checkSignature},
		{Name: "version", Run: func(s *BundleSubject) error { return checkVersion(s.Bundle.value, "concordia_receipt_bundle") }},
		{Name: "freshness", Run: func(s *BundleSubject) error { return s.CheckAge(s.Bundle.CreatedAt, "/created_at") }},
	}
	checks = append(checks, historyChecks[*BundleSubject]()...)
	return append(checks, wire.Check[*BundleSubject]{Name: "summary", Run: (*BundleSubject).checkSummary})
}

// VerifyBundle checks a receipt bundle and every receipt in it. It makes a signature
// check for each party of each receipt and its countersignature: set Each to spread
// them.
func (f Verifier) VerifyBundle(v wire.Value) (*ReceiptBundle, wire.Report) {
	var s *BundleSubject
	b, report := Judge(v, ReadReceiptBundle, func(b *ReceiptBundle) *BundleSubject {
		s = &BundleSubject{Verifier: f, Bundle: b}
		return s
	}, BundleChecks())
	if report.Outcome() == wire.Passed {
		b.Credit = s.history().credit()
	}
	return b, report
}

func (s *BundleSubject) checkSignature() error {
	text, _ := s.Bundle.value.Get("agent_signature")
	return s.CheckSignature(Claim{
		Rule: RuleBundleSignature, Signer: s.Bundle.Agent, Algorithm: wire.EdDSA, Signed: s.Bundle.CreatedAt,
		Preimage: s.Bundle.value.Without("agent_signature").Without("concordia_receipt_bundle"),
		Text:     text, At: "/agent_signature",
	})
}

func (s *BundleSubject) checkSummary() error {
	receipts, err := s.history().complete()
	if err != nil {
		return err
	}
	return checkSummary(s.Bundle.Summary, s.Bundle.Agent, receipts, "/summary")
}

// Bundle issues a bundle of receipts, with what they add up to. Receipts of others
// verify with the issuer's Keys; one that does not verify is not shown. (SPEC §9.6.6a)
func (i Issuer) Bundle(receipts []wire.Value) (wire.Value, error) {
	d := i.draft("a receipt bundle", emptyObject)
	d.only(wire.EdDSA)
	d.fill(HistoryVersion, "concordia_receipt_bundle")
	d.fillID("bundle_", "bundle_id")
	d.signer("agent_id")
	d.fillTimes("created_at", 0, "")
	d.set(append([]wire.Value{}, receipts...), "attestations")
	d.set(d.summarize(receipts), "summary")
	d.sign(withoutAll(d.v, "agent_signature", "concordia_receipt_bundle"), "agent_signature")
	return d.done(func(f Verifier, v wire.Value) wire.Report {
		_, report := f.VerifyBundle(v)
		return report
	})
}

// summarize adds receipts up for the issuer.
func (d *draft) summarize(receipts []wire.Value) wire.Value {
	list := make([]*Attestation, 0, len(receipts))
	for n, v := range receipts {
		a, err := ReadAttestation(v)
		if err != nil {
			if d.err == nil {
				d.err = fmt.Errorf("receipt %d: %w", n, err)
			}
			return emptyObject
		}
		list = append(list, a)
	}
	return Summarize(d.Agent, list).Value()
}
