package attest

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// AttestationVersion is what attestations of this implementation say in
// "concordia_attestation".
const AttestationVersion = "0.5.0"

// The words of an attestation (SPEC §9.6.3).
type (
	Status    string // how the session ended
	Role      string // what a party was in it
	Mechanism string // how an agreement came about
)

// The values of SPEC §9.6.3.
const (
	StatusAgreed    Status = "agreed"
	StatusRejected  Status = "rejected"
	StatusExpired   Status = "expired"
	StatusWithdrawn Status = "withdrawn"

	RoleInitiator Role = "initiator"
	RoleResponder Role = "responder"
	RoleMediator  Role = "mediator"
	RoleWitness   Role = "witness"

	MechanismDirect     Mechanism = "direct"
	MechanismSplit      Mechanism = "split"
	MechanismFOA        Mechanism = "foa"
	MechanismTradeoff   Mechanism = "tradeoff"
	MechanismEscalation Mechanism = "escalation"
	MechanismNone       Mechanism = "none"
)

// An Outcome is how a session ended (SPEC §9.6.3).
type Outcome struct {
	Status     Status
	Rounds     int           // offers and counters
	Duration   time.Duration // from open to the end, in whole seconds
	TermsCount int           // 0 if not told
	Mechanism  Mechanism     // empty if not told
}

// A Party is one party's record (SPEC §9.6.3).
type Party struct {
	Agent    wire.AgentID
	Role     Role
	Behavior Behavior
}

// Behavior is how a party acted (SPEC §9.6.3).
type Behavior struct {
	OffersMade          int
	Concessions         int
	ConcessionMagnitude float64 // mean of the concessions, 0 to 1 (SPEC §5.4)
	SignalsShared       int
	ConstraintsDeclared int
	ConstraintsViolated int
	ReasoningProvided   bool
	Withdrawal          bool
	ResponseTime        time.Duration // mean
}

// Meta says what the deal was like without saying what it was (SPEC §9.6.3).
type Meta struct {
	Category        string
	ValueRange      string
	ExtensionsUsed  []string
	MediatorInvoked bool
}

// An Attestation is a reputation attestation as it was received. That it has the
// shape of one is all that is known before VerifyAttestation.
type Attestation struct {
	Version        string
	ID             string
	Session        wire.SessionID
	Time           time.Time
	Outcome        Outcome
	Parties        []Party
	Meta           Meta
	TranscriptHash wire.Hash
	ChainHead      wire.Hash // zero if absent
	MessageCount   int       // 0 if absent
	Summary        string
	References     []Reference
	Validity       *Validity // nil if absent
	Fulfillment    *Fulfillment

	version versionNumber
	listed  map[wire.AgentID]int // index of each party
	value   wire.Value
}

// How many agents sign an attestation at most (SPEC §9.6.2). A session has fewer.
const (
	MaxParties           = 64
	MaxCountersignatures = 256
)

// Value returns the attestation as it was received.
func (a *Attestation) Value() wire.Value { return a.value }

// A versionNumber orders versions.
type versionNumber [3]int

func parseVersion(s string) (v versionNumber, ok bool) {
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return v, false
	}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 || len(p) > 9 || p[0] == '+' || p[0] == '-' {
			return v, false
		}
		v[i] = n
	}
	return v, true
}

// since reports whether v is at least 0.minor.0.
func (v versionNumber) since(minor int) bool { return v[0] > 0 || v[1] >= minor }

var (
	errVersion   = errors.New("want x.y.z")
	errNumber    = errors.New("want a number from 0 to 1")
	errNegative  = errors.New("want a number that is not negative")
	errSummary   = errors.New("want at most 1024 characters")
	errFewer     = errors.New("fewer than two")
	errMore      = fmt.Errorf("more than %d", MaxParties)
	errSigners   = fmt.Errorf("more than %d", MaxCountersignatures)
	errDuplicate = errors.New("listed before")
)

// maxCount bounds counters, which are otherwise only whole and not negative.
const maxCount = wire.MaxSafeInteger

// ReadAttestation checks the shape of an attestation; a version beyond the present
// one is read as the present one (SPEC §9.6.2). It verifies nothing.
func ReadAttestation(v wire.Value) (*Attestation, error) {
	if err := bounded(v); err != nil {
		return nil, err
	}
	r := wire.Read(v, "", RuleShape)
	r.Closed("concordia_attestation", "attestation_id", "session_id", "timestamp", "outcome", "parties", "meta",
		"transcript_hash", "chain_head", "message_count", "summary", "fulfillment", "references",
		"countersignatures", "validity_temporal")
	a := &Attestation{
		value: v, Version: r.Text("concordia_attestation"),
		ID: wire.ReadID[string](r, "attestation_id"), Session: wire.ReadID[wire.SessionID](r, "session_id"),
		Time: r.Time("timestamp"),
	}
	var ok bool
	if a.version, ok = parseVersion(a.Version); !ok {
		r.Fail("concordia_attestation", errVersion)
	}
	a.Outcome = readOutcome(r.Object("outcome"))
	a.readParties(r)
	a.Meta = readMeta(r.Object("meta"))
	a.TranscriptHash = r.Hash("transcript_hash")
	if r.Has("chain_head") {
		a.ChainHead = r.Hash("chain_head")
	}
	a.MessageCount = int(r.OptInt("message_count", 1, maxCount, 0))
	if a.Summary = r.OptText("summary"); len([]rune(a.Summary)) > 1024 {
		r.Fail("summary", errSummary)
	}
	if r.Has("references") {
		a.References = readReferences(r)
	}
	if f, _ := v.Get("fulfillment"); r.Has("fulfillment") && f.Kind() != wire.Null {
		a.Fulfillment = readFulfillment(r.Object("fulfillment"))
	}
	if r.Has("validity_temporal") {
		a.Validity = readValidity(r.Object("validity_temporal").For(RuleValidity))
	} else if a.version.since(5) {
		r.FailRule(RuleValidity, "validity_temporal", errors.New("missing"))
	}
	if c, ok := r.OptObject("countersignatures"); ok {
		if c.Whole().Len() > MaxCountersignatures {
			c.Fail("", errSigners)
		}
		for id := range c.Whole().Members() {
			if c.Text(id) == "" || id == "" {
				c.Fail(id, errors.New("empty"))
			}
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return a, nil
}

// readParties reads the parties, none of which is listed twice, be it in another
// spelling.
func (a *Attestation) readParties(r wire.Reader) {
	list := r.Array("parties")
	if list.Len() > MaxParties {
		r.FailRule(RuleParties, "parties", errMore)
		return
	}
	a.listed = make(map[wire.AgentID]int, list.Len())
	named := make(map[wire.AgentID]bool, list.Len())
	for i, pr := range r.Objects("parties") {
		p := readParty(pr)
		plain := wire.PlainDIDKey(p.Agent)
		if named[plain] {
			pr.FailRule(RuleParties, "agent_id", errDuplicate)
		}
		named[plain], a.listed[p.Agent] = true, i
		a.Parties = append(a.Parties, p)
	}
	if len(a.Parties) < 2 {
		r.FailRule(RuleParties, "parties", errFewer)
	}
}

func readOutcome(r wire.Reader) Outcome {
	r.Closed("status", "rounds", "duration_seconds", "terms_count", "resolution_mechanism")
	o := Outcome{
		Status: Status(r.OneOf("status", "agreed", "rejected", "expired", "withdrawn")),
		Rounds: int(r.Int("rounds", 0, maxCount)),
		// A hostile number of seconds is cut off before it overflows.
		Duration:   time.Duration(min(r.Int("duration_seconds", 0, maxCount), math.MaxInt64/int64(time.Second))) * time.Second,
		TermsCount: int(r.OptInt("terms_count", 1, maxCount, 0)),
	}
	if r.Has("resolution_mechanism") {
		o.Mechanism = Mechanism(r.OneOf("resolution_mechanism", "direct", "split", "foa", "tradeoff", "escalation", "none"))
	}
	return o
}

func readParty(r wire.Reader) Party {
	r.Closed("agent_id", "role", "behavior", "signature")
	p := Party{
		Agent:    wire.ReadID[wire.AgentID](r, "agent_id"),
		Role:     Role(r.OneOf("role", "initiator", "responder", "mediator", "witness")),
		Behavior: readBehavior(r.Object("behavior")),
	}
	if r.Has("signature") {
		r.Text("signature") // party-signatures judges it
	}
	return p
}

func readBehavior(r wire.Reader) Behavior {
	r.Closed("offers_made", "concessions", "concession_magnitude", "signals_shared", "constraints_declared",
		"constraints_violated", "reasoning_provided", "withdrawal", "response_time_avg_seconds")
	count := func(name string) int { return int(r.OptInt(name, 0, maxCount, 0)) }
	return Behavior{
		OffersMade:          count("offers_made"),
		Concessions:         count("concessions"),
		ConcessionMagnitude: readNumber(r, "concession_magnitude", 1, errNumber),
		SignalsShared:       count("signals_shared"),
		ConstraintsDeclared: count("constraints_declared"),
		ConstraintsViolated: count("constraints_violated"),
		ReasoningProvided:   r.OptBool("reasoning_provided"),
		Withdrawal:          r.OptBool("withdrawal"),
		ResponseTime:        fromSeconds(readNumber(r, "response_time_avg_seconds", math.MaxFloat64, errNegative)),
	}
}

// readNumber reads an optional number from 0 to most.
func readNumber(r wire.Reader, name string, most float64, misfit error) float64 {
	if !r.Has(name) {
		return 0
	}
	n, ok := r.Value(name).Float()
	if !ok || n < 0 || n > most {
		r.Fail(name, misfit)
	}
	return n
}

// fromSeconds cuts a hostile number of seconds off before it overflows.
func fromSeconds(s float64) time.Duration {
	return time.Duration(min(s, math.MaxInt64/2/float64(time.Second)) * float64(time.Second))
}

func readMeta(r wire.Reader) Meta {
	r.Closed("category", "value_range", "extensions_used", "mediator_invoked")
	m := Meta{MediatorInvoked: r.OptBool("mediator_invoked")}
	if r.Has("category") {
		if m.Category = r.Text("category"); CheckCategory(m.Category) != nil {
			r.FailRule(RuleCategory, "category", nil)
		}
	}
	if r.Has("value_range") {
		if m.ValueRange = r.Text("value_range"); CheckValueRange(m.ValueRange) != nil {
			r.FailRule(RuleValueRange, "value_range", nil)
		}
	}
	if r.Has("extensions_used") {
		m.ExtensionsUsed = r.Strings("extensions_used")
	}
	return m
}

// ClosesChain reports whether the version is one that says which transcript it
// closes (SPEC §9.6.5b).
func (a *Attestation) ClosesChain() bool { return a.version.since(3) }
