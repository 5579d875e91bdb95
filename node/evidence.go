package node

import (
	"context"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/wire"
)

// Evidence is what a node keeps, and issues, of receipts: its own and those of others
// (SPEC §9.6). What it signs it makes itself of receipts that verify: there is no
// method that signs what the caller brings.
type Evidence interface {
	// Ingest takes a receipt that all its parties signed, or a fulfillment attestation, into
	// the evidence, if it verifies with the keys that this node knows and is not revoked.
	// One that does not is refused in the result, check by check. Taking one in again
	// changes nothing. Receipts of own sessions are there by themselves.
	Ingest(ctx context.Context, artifact wire.Value) (Ingested, error)

	// Revoked says whether a revocation record that this node keeps counts against a mandate
	// or an approval receipt, of which nothing is verified. Of what is neither it is false.
	Revoked(ctx context.Context, artifact wire.Value) (bool, error)

	// Score says what the evidence proves of an agent (SPEC §9.6.7). Of one whose key this
	// node does not know it proves nothing.
	Score(ctx context.Context, q Question) (Standing, error)

	// Answer is Score as a response that this agent signs as the service, for whoever
	// knows its key.
	Answer(ctx context.Context, q Question) (wire.Value, error)

	// Bundle signs a bundle of own receipts that stand, and keeps it (SPEC §9.6.6a): of a
	// session that ended more than once the last one, if that is meant, and at most
	// attest.MaxReceipts, the newest. Of what others added to a receipt later it has the
	// counterparty's word on the fulfillment of that deal, and nothing else.
	Bundle(ctx context.Context, f ReceiptFilter) (Issued, error)

	// Bundles returns the bundles that are kept, newest first, without the artifacts.
	Bundles(ctx context.Context) ([]Issued, error)

	// Competence signs a competence proof over own receipts, which reveals the newest of
	// them, and keeps it. Figures are proven only if it reveals all.
	Competence(ctx context.Context, reveal int) (Issued, error)

	// Envelope signs a trust-evidence envelope about a session that has its receipt, with
	// this agent as the provider, and keeps it (SPEC §9.6.10).
	Envelope(ctx context.Context, e Enveloping) (Issued, error)

	// Artifact returns a bundle, proof or envelope that this node issued, by its id. The
	// last MaxIssued of each kind are kept.
	Artifact(ctx context.Context, id string) (wire.Value, error)

	// Report tells a provider of reputation of a session that has its receipt, if the
	// policy allows that provider (Policy.ReportTo): how it ended and how long it took, and
	// no terms.
	Report(ctx context.Context, r Reporting) (Reported, error)
}

// Bounds of what is kept. Receipts of own sessions come in beyond MaxEvidence; of what
// was issued the oldest goes.
const (
	MaxEvidence = 20_000 // receipts, in all their versions, and fulfillment attestations
	MaxIssued   = 100    // of each kind

	MaxEvidenceSize = 64 << 10 // bytes of one that is taken in: a receipt of as many parties as there can be fits
)

// Ingested is what became of a piece of evidence.
type Ingested struct {
	Status  IngestStatus `json:"status"`
	ID      string       `json:"id,omitempty"`         // that it gives itself
	Session string       `json:"session_id,omitempty"` // that a receipt says it is of
	Checks  []CheckView  `json:"checks"`
	Kept    int          `json:"kept"` // how much evidence there is
}

// An IngestStatus is what became of a piece of evidence.
type IngestStatus string

// The statuses.
const (
	IngestNew     IngestStatus = "accepted"
	IngestKnown   IngestStatus = "known" // it was there before
	IngestRefused IngestStatus = "refused"
)

// A CheckView is what became of one check of an artifact. It repeats nothing of it.
type CheckView struct {
	Check    string    `json:"check"`
	Outcome  string    `json:"outcome"`            // "pass", "fail", "not checked"
	Optional bool      `json:"optional,omitempty"` // it does not decide the verdict
	Rule     *RuleView `json:"rule,omitempty"`     // that is broken
	Text     string    `json:"text,omitempty"`     // of the rule
}

// A Question is about an agent, and perhaps about one kind of deal.
type Question struct {
	Subject   wire.AgentID `json:"subject_agent_id"`
	Requester wire.AgentID `json:"requester_agent_id,omitempty"` // who asks, as it says; "": this agent
	Category  string       `json:"category,omitempty"`           // and those below it
	Range     string       `json:"value_range,omitempty"`
	Role      attest.Role  `json:"role,omitempty"` // receipts prove initiator and responder
}

// A Standing is what the evidence of a node proves of an agent, of 0 to 1 where it is a
// share (SPEC §9.6.7).
type Standing struct {
	Subject    wire.AgentID      `json:"agent_id"`
	At         time.Time         `json:"computed_at"`
	Overall    float64           `json:"overall_score"` // 0: nothing is proven
	Confidence float64           `json:"confidence"`    // what Overall would be if all had gone well
	Figures    StandingFigures   `json:"figures"`
	Context    wire.Value        `json:"context_specific"` // the members of a response of that name
	Flags      []reputation.Flag `json:"flags"`
	Circle     []wire.AgentID    `json:"closed_circle,omitempty"` // with whom it deals in a circle
}

// StandingFigures are what the credited receipts of an agent add up to.
type StandingFigures struct {
	Negotiations    int      `json:"total_negotiations"`
	Agreements      int      `json:"total_agreements"`
	AgreementRate   float64  `json:"agreement_rate"`
	FulfillmentRate float64  `json:"fulfillment_rate"` // of the deals of which a counterparty said something
	AvgConcession   float64  `json:"avg_concession_willingness"`
	ReasoningRate   float64  `json:"reasoning_rate"`
	MedianRounds    int      `json:"median_rounds_to_agreement"`
	Categories      []string `json:"categories_active"`
	Counterparties  int      `json:"counterparty_count"`
	Attestations    int      `json:"attestation_count"` // credited or not
}

// A ReceiptFilter says which own receipts are meant. Zero fields admit all.
type ReceiptFilter struct {
	Category string         `json:"category,omitempty"` // and those below it
	With     wire.AgentID   `json:"counterparty,omitempty"`
	After    time.Time      `json:"after,omitzero"`  // the earliest
	Before   time.Time      `json:"before,omitzero"` // the time before which
	Session  wire.SessionID `json:"session_id,omitempty"`
}

// Issued is an artifact that this node made of own receipts.
type Issued struct {
	Kind     string     `json:"kind"` // SPEC §12.3: receipt_bundle, competence_proof or envelope
	ID       string     `json:"id"`
	Created  time.Time  `json:"created_at"`
	Receipts int        `json:"receipts"`           // that it is made of
	Revealed int        `json:"revealed"`           // of them, whole
	LeftOut  int        `json:"left_out,omitempty"` // receipts that would fit, and are too many or name this agent in another spelling
	Summary  wire.Value `json:"summary,omitzero"`   // of a bundle, or the claims of a proof
	Artifact wire.Value `json:"artifact,omitzero"`  // as it was signed
}

// An Enveloping says what an envelope is to be. Zero fields are filled in.
type Enveloping struct {
	Session    wire.SessionID `json:"session_id"`
	Provider   wire.AgentID   `json:"provider_did,omitempty"` // this agent, or it is refused
	KeyID      string         `json:"provider_kid,omitempty"` // a DID URL of this agent's key, or its fragment
	Subject    wire.AgentID   `json:"subject_did,omitempty"`  // a party; "": who opened the session
	Algorithm  wire.Algorithm `json:"algorithm,omitempty"`    // that of this agent's key, or it is refused
	Visibility string         `json:"visibility,omitempty"`   // public (""), restricted or private
	References []Referral     `json:"references,omitempty"`
}

// A Referral points from an envelope to something else. That this node has verified it
// is not said.
type Referral struct {
	Kind string `json:"kind"`
	URN  string `json:"urn"`
	Hash string `json:"hash,omitempty"`
}

// A Reporting says what is reported, and to whom.
type Reporting struct {
	Session  wire.SessionID `json:"session_id"`
	Endpoint string         `json:"endpoint"` // one of Policy.ReportTo

	// Fulfillment is what the caller believes the receipt says of it: pending, if it says
	// nothing. "": whatever it says. Nothing else can be reported.
	Fulfillment string `json:"fulfillment_status,omitempty"`

	// Cosigned is the receipt of a DryRun which the counterparty has signed (SPEC §9.6.9).
	// Absent: the report has this agent's signature alone.
	Cosigned wire.Value `json:"cosigned,omitzero"`

	DryRun bool `json:"dry_run,omitempty"` // nothing is signed and sent
}

// Reported is what was reported.
type Reported struct {
	Sent     bool          `json:"sent"`
	Endpoint string        `json:"endpoint"`
	DID      wire.AgentID  `json:"did"` // this agent's key, as the report names it
	Outcome  attest.Status `json:"outcome"`
	Cosigned bool          `json:"cosigned"` // the counterparty signed the receipt too
	Receipt  wire.Value    `json:"receipt"`
	Answer   wire.Value    `json:"answer,omitzero"` // of the provider, if it is JSON; data, never instructions
}

type (
	competenceArgs struct {
		Reveal int `json:"reveal"`
	}
	ingestArgs struct {
		Artifact wire.Value `json:"artifact"`
	}
	artifactArgs struct {
		ID string `json:"id"`
	}
)

// The operations, in the order of Evidence.
var (
	opIngest = takes("ingest", func(ctx context.Context, api API, in ingestArgs) (Ingested, error) {
		return api.Ingest(ctx, in.Artifact)
	})
	opRevoked = asks("revoked", func(ctx context.Context, api API, in ingestArgs) (bool, error) { return api.Revoked(ctx, in.Artifact) })
	opScore   = asks("score", func(ctx context.Context, api API, q Question) (Standing, error) { return api.Score(ctx, q) })
	opAnswer  = asks("answer", func(ctx context.Context, api API, q Question) (wire.Value, error) { return api.Answer(ctx, q) })
	opBundle  = takes("bundle", func(ctx context.Context, api API, f ReceiptFilter) (Issued, error) { return api.Bundle(ctx, f) })
	opBundles = asks("bundles", func(ctx context.Context, api API, _ nothing) ([]Issued, error) { return api.Bundles(ctx) })

	opCompetence = takes("competence", func(ctx context.Context, api API, in competenceArgs) (Issued, error) {
		return api.Competence(ctx, in.Reveal)
	})
	opEnvelope = takes("envelope", func(ctx context.Context, api API, e Enveloping) (Issued, error) { return api.Envelope(ctx, e) })
	opArtifact = asks("artifact", func(ctx context.Context, api API, in artifactArgs) (wire.Value, error) {
		return api.Artifact(ctx, in.ID)
	})
	opReport = takes("report", func(ctx context.Context, api API, r Reporting) (Reported, error) { return api.Report(ctx, r) })
)

var evidenceOperations = []*operation{opIngest, opRevoked, opScore, opAnswer, opBundle, opBundles, opCompetence, opEnvelope, opArtifact, opReport}

// Ingest implements [API].
func (r *Remote) Ingest(ctx context.Context, artifact wire.Value) (Ingested, error) {
	return ask[Ingested](ctx, r, opIngest, ingestArgs{artifact})
}

// Revoked implements [API].
func (r *Remote) Revoked(ctx context.Context, artifact wire.Value) (bool, error) {
	return ask[bool](ctx, r, opRevoked, ingestArgs{artifact})
}

// Score implements [API].
func (r *Remote) Score(ctx context.Context, q Question) (Standing, error) {
	return ask[Standing](ctx, r, opScore, q)
}

// Answer implements [API].
func (r *Remote) Answer(ctx context.Context, q Question) (wire.Value, error) {
	return ask[wire.Value](ctx, r, opAnswer, q)
}

// Bundle implements [API].
func (r *Remote) Bundle(ctx context.Context, f ReceiptFilter) (Issued, error) {
	return ask[Issued](ctx, r, opBundle, f)
}

// Bundles implements [API].
func (r *Remote) Bundles(ctx context.Context) ([]Issued, error) {
	return ask[[]Issued](ctx, r, opBundles, nothing{})
}

// Competence implements [API].
func (r *Remote) Competence(ctx context.Context, reveal int) (Issued, error) {
	return ask[Issued](ctx, r, opCompetence, competenceArgs{reveal})
}

// Envelope implements [API].
func (r *Remote) Envelope(ctx context.Context, e Enveloping) (Issued, error) {
	return ask[Issued](ctx, r, opEnvelope, e)
}

// Artifact implements [API].
func (r *Remote) Artifact(ctx context.Context, id string) (wire.Value, error) {
	return ask[wire.Value](ctx, r, opArtifact, artifactArgs{id})
}

// Report implements [API].
func (r *Remote) Report(ctx context.Context, report Reporting) (Reported, error) {
	return ask[Reported](ctx, r, opReport, report)
}
