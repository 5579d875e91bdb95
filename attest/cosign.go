package attest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A CosignedReceipt is what a publisher tells of a session, signed by the
// counterparty. The publisher answers for it where it is published; the signature
// shows that the counterparty does too. (SPEC §9.6.9)
type CosignedReceipt struct {
	Session      wire.SessionID
	Counterparty wire.AgentID // a did:key, which is the key
	Status       string
	Rounds       int
	Terms        int
	Parties      []CosignedParty
	Fulfillment  string // its status
	Degraded     bool   // graceful_degradation

	value wire.Value
}

// A CosignedParty is one entry of a cosigned receipt's parties.
type CosignedParty struct {
	Agent wire.AgentID
	Role  Role
}

// The rules of cosigned receipts.
var (
	RuleCosigned        = &wire.Rule{Section: "9.6.9", Name: "cosigned-receipt", Class: wire.ClassSchema, Text: "a cosigned receipt has the members of its schema"}
	RuleCosignUnsigned  = &wire.Rule{Section: "9.6.9", Name: "cosign-unsigned", Class: wire.ClassSchema, Text: "only entries of parties have a member named signature: what is called so is not signed"}
	RuleCosignKey       = &wire.Rule{Section: "9.6.9", Name: "cosign-key", Class: wire.ClassSignature, Text: "counterparty_did is the did:key of an Ed25519 key, in base64url"}
	RuleCosignPublisher = &wire.Rule{Section: "9.6.9", Name: "cosign-publisher", Class: wire.ClassBinding, Text: "the publisher is not the counterparty"}
	RuleCosignEntry     = &wire.Rule{Section: "9.6.9", Name: "cosign-entry", Class: wire.ClassBinding, Text: "exactly one entry of parties is the counterparty's"}
	RuleCosignParties   = &wire.Rule{Section: "9.6.9", Name: "cosign-parties", Class: wire.ClassBinding, Text: "parties are the publisher and the counterparty, initiator and responder, and nobody twice"}
	RuleCosignSignature = &wire.Rule{Section: "9.6.9", Name: "cosign-signature", Class: wire.ClassSignature, Text: "the counterparty signed the receipt without its signatures"}
)

var cosignRules = []*wire.Rule{
	RuleCosigned, RuleCosignUnsigned, RuleCosignKey, RuleCosignPublisher, RuleCosignEntry, RuleCosignParties, RuleCosignSignature,
}

// ReadCosignedReceipt checks the shape of a cosigned receipt. It verifies nothing.
func ReadCosignedReceipt(v wire.Value) (*CosignedReceipt, error) {
	r, err := Shape(v, "cosigned_receipt", RuleCosigned)
	if err != nil {
		return nil, err
	}
	outcome := r.Object("outcome")
	c := &CosignedReceipt{
		Session: wire.ReadID[wire.SessionID](r, "session_id"), Counterparty: wire.ReadID[wire.AgentID](r, "counterparty_did"),
		Status: outcome.Text("status"), Rounds: int(outcome.Int("rounds", 0, maxCount)), Terms: int(outcome.Int("terms_count", 0, maxCount)),
		Fulfillment: r.Object("fulfillment").Text("status"), Degraded: r.Bool("graceful_degradation"), value: v,
	}
	for _, p := range r.Objects("parties") {
		c.Parties = append(c.Parties, CosignedParty{Agent: wire.ReadID[wire.AgentID](p, "agent_id"), Role: Role(p.Text("role"))})
	}
	return c, r.Err()
}

// ReadCosignedParties reads no more of a receipt than it takes to verify its
// signature: the parties. The public contract of these receipts has no schema, and
// takes the counterparty from its context.
func ReadCosignedParties(v wire.Value, counterparty wire.AgentID) (*CosignedReceipt, error) {
	if err := bounded(v); err != nil {
		return nil, err
	}
	r := wire.Read(v, "", RuleCosigned)
	c := &CosignedReceipt{Counterparty: counterparty, value: v}
	for _, p := range r.Objects("parties") {
		id, _ := p.Whole().Get("agent_id")
		role, _ := p.Whole().Get("role")
		c.Parties = append(c.Parties, CosignedParty{Agent: wire.AgentID(id.Text()), Role: Role(role.Text())})
	}
	return c, r.Err()
}

// Value returns the receipt as it was received.
func (c *CosignedReceipt) Value() wire.Value { return c.value }

// A CosignSubject is a cosigned receipt with what it is verified by.
type CosignSubject struct {
	Verifier
	Receipt   *CosignedReceipt
	Publisher wire.AgentID // who published it, as the channel says; never from the receipt
}

// CosignChecks are the checks of a cosigned receipt in order (SPEC §9.6.9).
func CosignChecks() []wire.Check[*CosignSubject] {
	return []wire.Check[*CosignSubject]{
		{Name: "counterparty-key", Run: (*CosignSubject).checkKey},
		{Name: "publisher", Run: (*CosignSubject).checkPublisher},
		{Name: "counterparty-entry", Run: (*CosignSubject).checkEntry},
		{Name: "signature", Run: (*CosignSubject).checkSignature},
		{Name: "unsigned", Run: (*CosignSubject).checkUnsigned},
		{Name: "parties", Run: (*CosignSubject).checkParties},
		{Name: "privacy", Run: (*CosignSubject).checkPrivacy},
		{Name: "publisher-signature", Optional: true, Run: (*CosignSubject).checkPublisherSignature},
	}
}

// VerifyCosigned checks a receipt that this publisher presents.
func (f Verifier) VerifyCosigned(v wire.Value, publisher wire.AgentID) (*CosignedReceipt, wire.Report) {
	return Judge(v, ReadCosignedReceipt, func(c *CosignedReceipt) *CosignSubject {
		return &CosignSubject{Verifier: f, Receipt: c, Publisher: publisher}
	}, CosignChecks())
}

var (
	errOtherSpelling = errors.New("not the spelling of this receipt")
	errOtherKey      = errors.New("the verifier knows another key of it")
	errUnpadded      = errors.New("not unpadded base64url in its one spelling")
	errNoParty       = errors.New("not listed")
	errRoles         = errors.New("one is the initiator and the other the responder; others are mediators or witnesses")
)

// checkKey checks that the counterparty's DID is a key, in the one spelling that
// readers of these receipts know, and none that the verifier knows otherwise.
func (s *CosignSubject) checkKey() error {
	k, err := wire.ParseDIDKey(s.Receipt.Counterparty)
	if err != nil {
		return RuleCosignKey.Because("/counterparty_did", err)
	}
	if wire.ReferenceDIDKey(k) != s.Receipt.Counterparty {
		return RuleCosignKey.Because("/counterparty_did", errOtherSpelling)
	}
	if s.Keys == nil {
		return nil
	}
	if known, err := s.Keys.Key(s.Receipt.Counterparty, s.Now); err == nil && known != k {
		return RuleCosignKey.Because("/counterparty_did", errOtherKey)
	}
	return nil
}

// checkPublisher compares the keys and not only the texts.
func (s *CosignSubject) checkPublisher() error {
	if s.Publisher == "" {
		return &wire.Unchecked{Why: "the publisher is not known"}
	}
	if s.same(s.Publisher, s.Receipt.Counterparty, s.Now) {
		return RuleCosignPublisher.At("/counterparty_did")
	}
	return nil
}

// entry returns the index of the one entry of that agent, or how many there are.
func (c *CosignedReceipt) entry(agent wire.AgentID) (index, count int) {
	for i, p := range c.Parties {
		if p.Agent == agent {
			index = i
			count++
		}
	}
	return index, count
}

func (s *CosignSubject) checkEntry() error {
	if _, n := s.Receipt.entry(s.Receipt.Counterparty); n != 1 {
		return RuleCosignEntry.Because("/parties", fmt.Errorf("there are %d", n))
	}
	return nil
}

func (s *CosignSubject) checkSignature() error {
	i, n := s.Receipt.entry(s.Receipt.Counterparty)
	if n != 1 {
		return &wire.Unchecked{Why: "it is not clear which signature is the counterparty's"}
	}
	return s.verifyEntry(i, s.Receipt.Counterparty, wire.DIDKeys{})
}

// verifyEntry verifies the signature in an entry of parties.
func (s *CosignSubject) verifyEntry(i int, agent wire.AgentID, keys wire.Keys) error {
	at := fmt.Sprintf("/parties/%d/signature", i)
	text, ok := s.Receipt.value.At("parties", fmt.Sprint(i), "signature")
	if ok && !s.Unpadded {
		if text, ok = padded(text.Text()); !ok {
			return RuleCosignSignature.Because(at, errUnpadded)
		}
	}
	f := s.Verifier
	f.Keys = keys
	return f.CheckSignature(Claim{
		Rule: RuleCosignSignature, Signer: agent, Algorithm: wire.EdDSA, Signed: s.Now,
		Preimage: s.Receipt.value.StripSignatures(), Text: text, At: at,
	})
}

// padded returns unpadded base64url with its padding. In this lane a signature is
// written without.
func padded(text string) (wire.Value, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || base64.RawURLEncoding.EncodeToString(raw) != text { // the decoder skips line breaks
		return wire.Value{}, false
	}
	return wire.Text(base64.URLEncoding.EncodeToString(raw)), true
}

// checkUnsigned refuses a member named signature outside the entries of parties:
// it is stripped before signing, so anybody can write anything into it.
func (s *CosignSubject) checkUnsigned() error {
	if at, ok := findSignature(s.Receipt.value.Without("parties"), ""); ok {
		return RuleCosignUnsigned.At(at)
	}
	parties, _ := s.Receipt.value.Get("parties")
	for i, p := range parties.Elems() {
		if at, ok := findSignature(p.Without("signature"), fmt.Sprintf("/parties/%d", i)); ok {
			return RuleCosignUnsigned.At(at)
		}
	}
	return nil
}

// findSignature returns the pointer of the first member named signature.
func findSignature(v wire.Value, at string) (string, bool) {
	return find(v, at, func(wire.Value) bool { return false }, func(name string) bool { return name == "signature" })
}

// checkParties checks who is listed: the two, one role each, nobody twice.
func (s *CosignSubject) checkParties() error {
	if s.Publisher == "" {
		return &wire.Unchecked{Why: "the publisher is not known"}
	}
	listed := make(map[wire.AgentID]Role, len(s.Receipt.Parties))
	named := make(map[wire.AgentID]bool, len(s.Receipt.Parties)) // in one spelling
	for i, p := range s.Receipt.Parties {
		plain := wire.PlainDIDKey(p.Agent)
		if named[plain] {
			return RuleCosignParties.Because(fmt.Sprintf("/parties/%d/agent_id", i), errDuplicate)
		}
		listed[p.Agent], named[plain] = p.Role, true
		third := p.Agent != s.Publisher && p.Agent != s.Receipt.Counterparty
		if third == (p.Role == RoleInitiator || p.Role == RoleResponder) {
			return RuleCosignParties.Because(fmt.Sprintf("/parties/%d/role", i), errRoles)
		}
	}
	publisher, ok := listed[s.Publisher]
	if !ok {
		return RuleCosignParties.Because("/parties", errNoParty)
	}
	if publisher == listed[s.Receipt.Counterparty] {
		return RuleCosignParties.Because("/parties", errRoles)
	}
	return nil
}

// checkPrivacy scans all text but the ids (SPEC §9.6.6).
func (s *CosignSubject) checkPrivacy() error {
	free := withoutAll(s.Receipt.value, "session_id", "counterparty_did", "parties", "signature")
	if at, ok := findTerms(free, ""); ok {
		return RuleDealTerms.At(at)
	}
	parties, _ := s.Receipt.value.Get("parties")
	for i, p := range parties.Elems() {
		if at, ok := findTerms(withoutAll(p, "agent_id", "signature"), fmt.Sprintf("/parties/%d", i)); ok {
			return RuleDealTerms.At(at)
		}
	}
	return nil
}

// checkPublisherSignature looks at a signature of the publisher, which a receipt
// need not have: it answers for the receipt by publishing it.
func (s *CosignSubject) checkPublisherSignature() error {
	i, n := s.Receipt.entry(s.Publisher)
	if _, signed := s.Receipt.value.At("parties", fmt.Sprint(i), "signature"); n != 1 || !signed {
		return &wire.Unchecked{Why: "the publisher did not sign", Moot: true}
	}
	keys := wire.AnyKeys{wire.DIDKeys{}}
	if s.Keys != nil {
		keys = append(keys, s.Keys)
	}
	return s.verifyEntry(i, s.Publisher, keys)
}

// Cosigned returns the receipt that a publisher, the first party of an attestation
// that has been verified, presents of it, signed by nobody yet (SPEC §9.6.9). The
// other party is the counterparty, known by the did:key of its key.
func Cosigned(a *Attestation, publisher wire.AgentID, counterparty wire.PublicKey) (wire.Value, error) {
	own, ok := a.listed[publisher]
	if !ok || len(a.Parties) != 2 {
		return wire.Value{}, fmt.Errorf("making a cosigned receipt: %w", errTwoParties)
	}
	did := wire.ReferenceDIDKey(counterparty)
	entry := func(agent wire.AgentID, role Role, behavior wire.M) wire.M {
		return wire.M{"agent_id": agent, "role": role, "behavior": behavior}
	}
	status := "pending"
	if a.Fulfillment != nil {
		status = a.Fulfillment.Status
	}
	mine := a.Parties[own]
	return wire.Encode(wire.M{
		"concordia": "0.5", "session_id": a.Session, "counterparty_did": did,
		"outcome": wire.M{
			"status": a.Outcome.Status, "rounds": a.Outcome.Rounds,
			"duration_seconds": int64(a.Outcome.Duration / time.Second), "terms_count": a.Outcome.TermsCount,
		},
		"parties": []wire.M{
			entry(publisher, mine.Role, wire.M{"concessions": mine.Behavior.Concessions}),
			entry(did, a.Parties[1-own].Role, wire.M{}),
		},
		"fulfillment": wire.M{"status": status}, "graceful_degradation": false,
	})
}

var errTwoParties = errors.New("want an attestation of the publisher and one other party")

// Cosign signs, as its counterparty, a receipt that this publisher presents, and puts
// the signature, unpadded, into its one entry (SPEC §9.6.9).
func (i Issuer) Cosign(v wire.Value, publisher wire.AgentID) (wire.Value, error) {
	i.Agent = wire.ReferenceDIDKey(i.Key.Public())
	d := i.draft("a cosigned receipt", v)
	d.only(wire.EdDSA)
	d.signer("counterparty_did")
	c, err := ReadCosignedParties(v, i.Agent)
	if d.err == nil {
		d.err = err
	}
	if d.err != nil {
		return d.done(nil)
	}
	entry, n := c.entry(i.Agent)
	if n != 1 {
		d.err = RuleCosignEntry.Because("/parties", fmt.Errorf("there are %d", n))
		return d.done(nil)
	}
	text, err := i.Key.SignText([]byte(v.StripSignatures().Canonical()))
	if err != nil {
		d.err = err
		return d.done(nil)
	}
	parties, _ := v.Get("parties")
	party, _ := v.At("parties", fmt.Sprint(entry))
	d.v = v.With("parties", parties.WithElem(entry, party.With("signature", wire.Text(strings.TrimRight(text, "=")))))
	return d.done(func(f Verifier, v wire.Value) wire.Report {
		_, report := f.VerifyCosigned(v, publisher)
		return report
	})
}
