package attest

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/concordia-node/concordia/wire"
)

// A Fulfillment says whether an agreement was honored (SPEC §9.6.4). It is added
// after the attestation was issued and stands on the signature of the
// counterparty that confirms it.
type Fulfillment struct {
	Status      string
	SettledAt   time.Time
	FulfilledAt time.Time // zero if not told

	confirmedBy  wire.AgentID
	confirmation wire.Value // counterparty_attestation, absent if there is none
	freeText     []textAt
}

// A textAt is free text and where it stands.
type textAt struct{ text, at string }

func readFulfillment(r wire.Reader) *Fulfillment {
	r.Closed("status", "settled_at", "fulfilled_at", "settlement_protocol", "delivery_confirmed", "disputes", "counterparty_attestation")
	f := &Fulfillment{
		Status:    r.OneOf("status", "fulfilled", "partial", "unfulfilled", "disputed", "pending", "fulfilled_with_mediation"),
		SettledAt: r.Time("settled_at"),
	}
	if v, _ := r.Whole().Get("fulfilled_at"); v.Kind() != wire.Absent && v.Kind() != wire.Null {
		f.FulfilledAt = r.Time("fulfilled_at")
	}
	if r.Has("settlement_protocol") {
		r.OneOf("settlement_protocol", "acp", "ap2", "x402", "stripe", "lightning", "escrow", "custom")
	}
	r.OptBool("delivery_confirmed")
	if r.Has("disputes") {
		for _, d := range r.Objects("disputes") {
			d.Closed("term_id", "complainant_agent_id", "description", "resolution")
			if term := d.OptText("term_id"); term != "" { // a name that a party chose
				f.freeText = append(f.freeText, textAt{term, d.Pointer() + "/term_id"})
			}
			d.OptText("complainant_agent_id")
			f.readFreeText(d, "description", 1024)
			if v, _ := d.Whole().Get("resolution"); v.Kind() != wire.Absent && v.Kind() != wire.Null {
				d.OneOf("resolution", "resolved_favor_complainant", "resolved_favor_respondent", "resolved_compromise", "unresolved")
			}
		}
	}
	if c, ok := r.OptObject("counterparty_attestation"); ok {
		c.Closed("agent_id", "confirms_fulfillment", "notes", "signature")
		f.confirmedBy = wire.ReadID[wire.AgentID](c, "agent_id")
		c.Bool("confirms_fulfillment")
		c.Text("signature")
		f.readFreeText(c, "notes", 512)
		f.confirmation = c.Whole()
	}
	return f
}

// Confirmation returns who confirms or denies the fulfillment, and the words that it
// signed: of a fulfillment nothing else is signed, its status included. Without a
// counterparty_attestation they are "" and absent. (SPEC §9.6.5a)
func (f *Fulfillment) Confirmation() (by wire.AgentID, words wire.Value) {
	return f.confirmedBy, f.confirmation.Without("signature")
}

// Statement returns what the party that confirms or denies the fulfillment says of this
// attestation, and false if it says nothing: its words have to name the attestation in
// their notes, for without they fit every deal of whoever signed them. Whether they
// verify is for FulfillmentBound to say. (SPEC §9.6.5a)
func (a *Attestation) Statement() (by wire.AgentID, honored, ok bool) {
	if a.Fulfillment == nil {
		return "", false, false
	}
	by, words := a.Fulfillment.Confirmation()
	yes, _ := words.Get("confirms_fulfillment")
	notes, _ := words.Get("notes")
	bare := func(id string) string { return strings.TrimPrefix(id, AttestationURN("")) }
	for _, word := range strings.Fields(notes.Text()) {
		if bare(word) == bare(a.ID) {
			return by, yes.Bool(), true
		}
	}
	return by, false, false
}

func (f *Fulfillment) readFreeText(r wire.Reader, name string, most int) {
	if !r.Has(name) {
		return
	}
	text := r.Text(name)
	if utf8.RuneCountInString(text) > most {
		r.Fail(name, fmt.Errorf("want at most %d characters", most))
	}
	f.freeText = append(f.freeText, textAt{text, r.Pointer() + wire.Pointer(name)})
}

var (
	errNoFulfillment = errors.New("there is no fulfillment")
	errUnconfirmed   = errors.New("no counterparty confirms it")
	errDenied        = errors.New("the counterparty denies what the status says")
	errNotAParty     = errors.New("who confirms it is no party")
	errNoDealer      = errors.New("who confirms it is neither initiator nor responder")
)

// checkFulfillmentBound reports whether the fulfillment is signed by the party
// that confirms it, which made the deal, and is not told to come. The
// countersignatures do not cover a fulfillment: it came later. Nor does the
// confirmation say which attestation it is about: see history.fulfilled. (SPEC
// §9.6.5a)
func (s *AttestationSubject) checkFulfillmentBound() error {
	f := s.Attestation.Fulfillment
	if f == nil {
		return RuleFulfillment.Because("/fulfillment", errNoFulfillment)
	}
	const at = "/fulfillment/counterparty_attestation"
	if f.confirmation.Kind() == wire.Absent {
		return RuleFulfillment.Because(at, errUnconfirmed)
	}
	i, ok := s.Attestation.listed[f.confirmedBy]
	if !ok {
		return RuleFulfillment.Because(at+"/agent_id", errNotAParty)
	}
	if r := s.Attestation.Parties[i].Role; r != RoleInitiator && r != RoleResponder {
		return RuleFulfillment.Because(at+"/agent_id", errNoDealer)
	}
	if yes, _ := f.confirmation.Get("confirms_fulfillment"); !yes.Bool() && strings.HasPrefix(f.Status, "fulfilled") {
		return RuleFulfillment.Because(at+"/confirms_fulfillment", errDenied)
	}
	if err := s.CheckAnchor(f.SettledAt, "/fulfillment/settled_at"); err != nil {
		return err
	}
	if err := s.CheckAnchor(f.FulfilledAt, "/fulfillment/fulfilled_at"); err != nil {
		return err
	}
	return s.verify(RuleFulfillment, f.confirmedBy, f.confirmation.Without("signature"), f.confirmation, at)
}

// checkFulfillment judges a fulfillment if there is one.
func (s *AttestationSubject) checkFulfillment() error {
	if s.Attestation.Fulfillment == nil {
		return &wire.Unchecked{Why: errNoFulfillment.Error(), Moot: true}
	}
	return s.checkFulfillmentBound()
}

// Confirm puts a fulfillment into a receipt, confirmed or denied by the issuer, who
// has to be a party. The draft says the status and, in counterparty_attestation,
// confirms_fulfillment. Notes that it leaves out name the receipt, without which the
// words would fit every deal between the two. The parties signed the receipt without
// it, and have to have: of an old version, in which they sign no outcome, anybody can
// make one with the name of another. (SPEC §9.6.4, §9.6.5a)
func (i Issuer) Confirm(receipt, v wire.Value) (wire.Value, error) {
	d := i.draft("a fulfillment", v)
	d.only(wire.EdDSA)
	d.fill(wire.FormatTime(d.Now), "settled_at")
	d.fill(strings.HasPrefix(d.text("status"), "fulfilled"), "counterparty_attestation", "confirms_fulfillment")
	d.signer("counterparty_attestation", "agent_id")
	if id, _ := receipt.Get("attestation_id"); !TellsTerms(id.Text()) {
		d.fill(id.Text(), "counterparty_attestation", "notes")
	}
	own, _ := d.v.Get("counterparty_attestation")
	d.sign(own.Without("signature"), "counterparty_attestation", "signature")
	if d.err == nil {
		d.v = receipt.With("fulfillment", d.v)
	}
	return d.done(func(f Verifier, v wire.Value) wire.Report {
		a, report := f.VerifyAttestation(v, FulfillmentBound())
		if a != nil && !a.version.since(2) {
			report = append(report, wire.Find("outcome-bound", false, RuleOutcome.Because("/concordia_attestation", errUnbound)))
		}
		return report
	})
}
