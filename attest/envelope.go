package attest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A TrustEnvelope carries what a provider tells of one session to readers of
// another protocol: the trust-evidence format, version 1.0.0 (SPEC §9.6.10).
type TrustEnvelope struct {
	ID         string
	IssuedAt   time.Time
	ExpiresAt  time.Time // the last moment at which it stands
	Provider   wire.AgentID
	KeyID      string // kid: a DID URL of the provider, or the fragment of one
	Subject    wire.AgentID
	Visibility string
	References []EnvelopeReference
	Payload    EnvelopePayload

	algorithm wire.Algorithm
	signedBy  string // kid of the signature
	sequence  string
	value     wire.Value
}

// An EnvelopePayload is what an envelope tells of a session.
type EnvelopePayload struct {
	Session      string
	Outcome      EnvelopeOutcome
	Counterparty wire.AgentID // "" if it is not told
	CompletedAt  time.Time
	Rounds       int
	Committed    bool
	Commitment   wire.Hash // commitment_hash: the hash of the transcript
}

// An EnvelopeOutcome is how the session of an envelope ended (SPEC §9.6.10).
type EnvelopeOutcome string

// The outcomes of SPEC §9.6.10.
const (
	OutcomeAccepted  EnvelopeOutcome = "ACCEPTED"
	OutcomeRejected  EnvelopeOutcome = "REJECTED"
	OutcomeExpired   EnvelopeOutcome = "EXPIRED"
	OutcomeWithdrawn EnvelopeOutcome = "WITHDRAWN"
)

// An EnvelopeReference says that somebody has verified an artifact. It is another
// thing than a reference of an attestation, and no revocation follows it. (SPEC
// §11.5.2)
type EnvelopeReference struct {
	Kind       string
	URN        string
	VerifiedAt time.Time // zero if not told
	Verifier   string    // "" if not told
	Hash       string    // "" if not told
}

// The rules of trust-evidence envelopes.
var (
	RuleEnvelope           = &wire.Rule{Section: "9.6.10", Name: "envelope", Class: wire.ClassSchema, Text: "an envelope has the members of its schema"}
	RuleEnvelopeReference  = &wire.Rule{Section: "11.5.2", Name: "envelope-reference", Class: wire.ClassSchema, Text: "a reference of an envelope has kind and urn"}
	RuleEnvelopeURN        = &wire.Rule{Section: "11.5.2", Name: "envelope-urn", Class: wire.ClassSchema, Text: "the urn of an envelope's reference is a URN"}
	RuleEnvelopeKey        = &wire.Rule{Section: "9.6.10", Name: "envelope-key", Class: wire.ClassBinding, Text: "signature.kid is provider.kid"}
	RuleEnvelopeProvider   = &wire.Rule{Section: "9.6.10", Name: "envelope-provider", Class: wire.ClassBinding, Text: "provider.kid is a key of provider.did"}
	RuleEnvelopeSignature  = &wire.Rule{Section: "9.6.10", Name: "envelope-signature", Class: wire.ClassSignature, Text: "the provider signed the envelope, with the algorithm it names"}
	RuleEnvelopeExpired    = &wire.Rule{Section: "9.6.10", Name: "envelope-expired", Class: wire.ClassTemporal, Text: "expires_at has not passed"}
	RuleEnvelopeSession    = &wire.Rule{Section: "9.6.10", Name: "envelope-session", Class: wire.ClassBinding, Text: "sequence_key and a reference to the source session name the session of the payload"}
	RuleEnvelopeCommitment = &wire.Rule{Section: "9.6.10", Name: "envelope-commitment", Class: wire.ClassBinding, Text: "committed is true if and only if the outcome is ACCEPTED"}
)

var envelopeRules = []*wire.Rule{
	RuleEnvelope, RuleEnvelopeReference, RuleEnvelopeURN, RuleEnvelopeKey, RuleEnvelopeProvider, RuleEnvelopeSignature,
	RuleEnvelopeExpired, RuleEnvelopeSession, RuleEnvelopeCommitment,
}

// ReadTrustEnvelope checks the shape of an envelope. It verifies nothing.
func ReadTrustEnvelope(v wire.Value) (*TrustEnvelope, error) {
	r, err := Shape(v, "trust_evidence_envelope", RuleEnvelope)
	if err != nil {
		return nil, err
	}
	provider, signature, payload := r.Object("provider"), r.Object("signature"), r.Object("payload")
	e := &TrustEnvelope{
		ID: r.Text("envelope_id"), IssuedAt: r.Time("issued_at"), ExpiresAt: r.Time("expires_at"),
		Provider: wire.ReadID[wire.AgentID](provider, "did"), KeyID: wire.ReadID[string](provider, "kid"),
		Subject: wire.ReadID[wire.AgentID](r.Object("subject"), "did"), Visibility: r.Text("visibility"),
		Payload:   readPayload(payload),
		algorithm: wire.Algorithm(signature.Text("alg")), signedBy: signature.Text("kid"),
		sequence: r.Object("validity_temporal").Text("sequence_key"), value: v,
	}
	if e.ExpiresAt.Before(e.IssuedAt) {
		r.Fail("expires_at", errEmptyWindow)
	}
	for _, l := range r.For(RuleEnvelopeReference).Objects("references") {
		e.References = append(e.References, readEnvelopeReference(l))
	}
	return e, r.Err()
}

func readPayload(r wire.Reader) EnvelopePayload {
	commitment := r.Object("commitment")
	p := EnvelopePayload{
		Session: r.Text("session_id"), Outcome: EnvelopeOutcome(r.Text("outcome")),
		CompletedAt: r.Time("completion_timestamp"), Rounds: int(r.Int("rounds_to_completion", 0, maxCount)),
		Committed: commitment.Bool("committed"), Commitment: commitment.Hash("commitment_hash"),
	}
	if r = r.WithoutNulls(); r.Has("counterparty_did") {
		p.Counterparty = wire.ReadID[wire.AgentID](r, "counterparty_did")
	}
	return p
}

// readEnvelopeReference reads a reference. What says that it was verified may be
// left out or null: not every kind has a verifier.
func readEnvelopeReference(r wire.Reader) EnvelopeReference {
	r.Open("kind", "urn", "verified_at", "verifier_did", "hash")
	l := EnvelopeReference{Kind: word(r, "kind", wire.MaxIDLength), URN: word(r, "urn", 2048)}
	r = r.WithoutNulls()
	l.VerifiedAt, l.Verifier, l.Hash = optTime(r, "verified_at"), r.OptText("verifier_did"), r.OptText("hash")
	return l
}

// Value returns the envelope as it was received.
func (e *TrustEnvelope) Value() wire.Value { return e.value }

// Signer returns the DID URL of the key that signs: kid, and if it is a bare name,
// the provider's key of that name. A name that somebody else uses too is no key of
// theirs.
func (e *TrustEnvelope) Signer() wire.AgentID {
	if strings.HasPrefix(e.KeyID, "did:") {
		return wire.AgentID(e.KeyID)
	}
	return e.Provider + "#" + wire.AgentID(strings.TrimPrefix(e.KeyID, "#"))
}

// An EnvelopeSubject is an envelope with what it is verified by.
type EnvelopeSubject struct {
	Verifier
	Envelope *TrustEnvelope
}

// EnvelopeChecks are the checks of an envelope in order (SPEC §9.6.10).
func EnvelopeChecks() []wire.Check[*EnvelopeSubject] {
	return []wire.Check[*EnvelopeSubject]{
		{Name: "key", Run: (*EnvelopeSubject).checkKey},
		{Name: "provider", Run: (*EnvelopeSubject).checkProvider},
		{Name: "signature", Run: (*EnvelopeSubject).checkSignature},
		{Name: "expiry", Run: (*EnvelopeSubject).checkExpiry},
		{Name: "freshness", Run: (*EnvelopeSubject).checkFreshness},
		{Name: "session", Run: (*EnvelopeSubject).checkSession},
		{Name: "commitment", Run: (*EnvelopeSubject).checkCommitment},
		{Name: "privacy", Run: (*EnvelopeSubject).checkPrivacy},
		{Name: "urns", Optional: true, Run: (*EnvelopeSubject).checkURNs},
	}
}

// VerifyEnvelope checks a trust-evidence envelope. Keys answer for Signer.
func (f Verifier) VerifyEnvelope(v wire.Value) (*TrustEnvelope, wire.Report) {
	return Judge(v, ReadTrustEnvelope, func(e *TrustEnvelope) *EnvelopeSubject {
		return &EnvelopeSubject{Verifier: f, Envelope: e}
	}, EnvelopeChecks())
}

func (s *EnvelopeSubject) checkKey() error {
	if s.Envelope.signedBy != s.Envelope.KeyID {
		return RuleEnvelopeKey.At("/signature/kid")
	}
	return nil
}

func (s *EnvelopeSubject) checkProvider() error {
	signer, provider := s.Envelope.Signer(), s.Envelope.Provider
	if signer != provider && !strings.HasPrefix(string(signer), string(provider)+"#") {
		return RuleEnvelopeProvider.At("/provider/kid")
	}
	return nil
}

// checkSignature requires the key to be of the algorithm that is named. The
// reference leaves the choice of the algorithm to its caller.
func (s *EnvelopeSubject) checkSignature() error {
	text, _ := s.Envelope.value.At("signature", "value")
	return s.CheckSignature(Claim{
		Rule: RuleEnvelopeSignature, Signer: s.Envelope.Signer(), Algorithm: s.Envelope.algorithm, Signed: s.Envelope.IssuedAt,
		Preimage: s.Envelope.value.Without("signature"), Text: text, At: "/signature/value",
	})
}

func (s *EnvelopeSubject) checkExpiry() error {
	if s.Now.After(s.Envelope.ExpiresAt) {
		return RuleEnvelopeExpired.At("/expires_at")
	}
	return nil
}

// checkFreshness judges what the verifier itself accepts, and that nothing is told
// to have happened that has not (SPEC §9.7.1).
func (s *EnvelopeSubject) checkFreshness() error {
	e := s.Envelope
	if err := s.CheckAge(e.IssuedAt, "/issued_at"); err != nil {
		return err
	}
	if e.ExpiresAt.Sub(e.IssuedAt) > s.Policy.or().MaxLifetime {
		return RuleLifetime.At("/expires_at")
	}
	if err := s.CheckAnchor(e.Payload.CompletedAt, "/payload/completion_timestamp"); err != nil {
		return err
	}
	for i, l := range e.References {
		if err := s.CheckAnchor(l.VerifiedAt, fmt.Sprintf("/references/%d/verified_at", i)); err != nil {
			return err
		}
	}
	return nil
}

const sessionURN = "urn:concordia:session:"

var errOtherSession = errors.New("it names another session")

// checkSession checks that the envelope is about one session throughout. It need
// not refer to its source; if it does, one such reference is to the session.
func (s *EnvelopeSubject) checkSession() error {
	e := s.Envelope
	if e.sequence != e.Payload.Session {
		return RuleEnvelopeSession.Because("/validity_temporal/sequence_key", errOtherSession)
	}
	sources := 0
	for _, l := range e.References {
		if l.Kind != "source_session" {
			continue
		}
		if l.URN == sessionURN+e.Payload.Session {
			return nil
		}
		sources++
	}
	if sources > 0 {
		return RuleEnvelopeSession.Because("/references", errOtherSession)
	}
	return nil
}

func (s *EnvelopeSubject) checkCommitment() error {
	if p := s.Envelope.Payload; p.Committed != (p.Outcome == OutcomeAccepted) {
		return RuleEnvelopeCommitment.At("/payload/commitment/committed")
	}
	return nil
}

// checkPrivacy scans all text of the payload but the ids (SPEC §9.6.6).
func (s *EnvelopeSubject) checkPrivacy() error {
	payload, _ := s.Envelope.value.Get("payload")
	if at, ok := findTerms(withoutAll(payload, "session_id", "counterparty_did"), "/payload"); ok {
		return RuleDealTerms.At(at)
	}
	return nil
}

// checkURNs looks for references of older writers, whose urn is some other text:
// they are read, as the reference reads them.
func (s *EnvelopeSubject) checkURNs() error {
	for i, l := range s.Envelope.References {
		if !strings.HasPrefix(l.URN, "urn:") {
			return RuleEnvelopeURN.At(fmt.Sprintf("/references/%d/urn", i))
		}
	}
	return nil
}

// DefaultEnvelopeLife is how long an envelope stands if its draft does not say.
const DefaultEnvelopeLife = 7 * 24 * time.Hour

// Envelope issues an envelope about the session of a receipt, which has to verify with
// the issuer's Keys and to bind its outcome. The draft, which may be empty, may say
// the subject (else the first party), the visibility (else public), provider.kid (else
// #key-1, or of a did:key its key) and further references. (SPEC §9.6.10)
func (i Issuer) Envelope(receipt, v wire.Value) (wire.Value, error) {
	d := i.draft("an envelope", v)
	a, report := i.Verifier().VerifyAttestation(receipt, OutcomeBound())
	if err := report.Err(); err != nil && d.err == nil {
		d.err = fmt.Errorf("the receipt: %w", err)
	}
	if d.err != nil {
		return d.done(nil)
	}
	d.fill("1.0.0", "envelope_version")
	d.fillUUID("urn:uuid:", "envelope_id")
	d.fillTimes("issued_at", DefaultEnvelopeLife, "expires_at")
	d.signer("provider", "did")
	d.fill("transactional", "provider", "category")
	d.fill("Concordia", "provider", "name")
	d.fill(keyURL(d.Agent), "provider", "kid")
	d.fill(a.Parties[0].Agent, "subject", "did")
	d.fill("transactional", "category")
	d.fill("public", "visibility")
	d.fill(wire.M{
		"strategy": "event_driven", "events": []string{"session_completed", "dispute_raised", "commitment_verified"},
		"max_age_seconds": int64(DefaultEnvelopeLife / time.Second),
	}, "refresh_hint")
	d.fill(wire.M{"mode": "sequence", "sequence_key": a.Session, "baseline": nil, "aliasing_risk": nil}, "validity_temporal")
	urn := sessionURN + string(a.Session)
	references := []any{wire.M{
		"kind": "source_session", "urn": urn, "verified_at": wire.FormatTime(d.Now), "verifier_did": d.Agent, "hash": a.ChainHead,
	}}
	given, _ := d.v.Get("references")
	for _, r := range given.Elems() {
		if of, _ := r.Get("urn"); of.Text() != urn {
			references = append(references, r)
		}
	}
	d.set(references, "references")
	d.set(payload(a, wire.AgentID(d.text("subject", "did")), i.Verifier()), "payload")
	d.signBlock(d.Key.Public().Algorithm(), wire.M{"kid": d.text("provider", "kid")})
	return d.done(func(f Verifier, v wire.Value) wire.Report {
		_, report := f.VerifyEnvelope(v)
		return report
	})
}

// keyURL returns the DID URL of an agent's key: that of a did:key repeats it.
func keyURL(agent wire.AgentID) string {
	if key, ok := strings.CutPrefix(string(agent), "did:key:"); ok {
		return string(agent) + "#" + key
	}
	return string(agent) + "#key-1"
}

// payload tells of a session what its attestation does, about the subject and not, as
// the reference, about whoever is listed first. That the deal was honored the subject
// does not say of itself.
func payload(a *Attestation, subject wire.AgentID, f Verifier) wire.M {
	var own Behavior
	if i, ok := a.listed[subject]; ok {
		own = a.Parties[i].Behavior
	}
	var counterparty any
	for _, p := range a.Parties {
		if len(a.Parties) == 2 && p.Agent != subject {
			counterparty = p.Agent
		}
	}
	var honored, since any
	s := &AttestationSubject{Verifier: f, Attestation: a}
	if by, yes, ok := a.Statement(); ok && s.checkFulfillmentBound() == nil && !f.same(by, subject, a.Time) {
		honored, since = yes, wire.FormatTime(f.Now)
	}
	return wire.M{
		"session_id": a.Session, "session_protocol": "concordia", "session_protocol_version": wire.ProtocolVersion,
		"outcome": envelopeOutcomes[a.Outcome.Status], "counterparty_did": counterparty,
		"completion_timestamp": wire.FormatTime(a.Time), "rounds_to_completion": a.Outcome.Rounds,
		"quality_signals": wire.M{
			"concession_magnitude": own.ConcessionMagnitude, "reasoning_quality": own.ReasoningProvided,
			"response_latency_p50_ms": own.ResponseTime.Milliseconds(),
		},
		"commitment": wire.M{
			"committed": a.Outcome.Status == StatusAgreed, "commitment_hash": a.TranscriptHash,
			"honored": honored, "honored_verified_at": since,
		},
		"privacy_guarantees": wire.M{"deal_terms_disclosed": false, "counterparty_identity_disclosed": counterparty != nil, "zk_proof_available": false},
	}
}

var envelopeOutcomes = map[Status]EnvelopeOutcome{
	StatusAgreed: OutcomeAccepted, StatusRejected: OutcomeRejected, StatusExpired: OutcomeExpired, StatusWithdrawn: OutcomeWithdrawn,
}
