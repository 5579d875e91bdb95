package attest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A Draft is what an attestation says before anyone has signed it.
type Draft struct {
	ID             string
	Session        wire.SessionID
	Time           time.Time
	Outcome        Outcome
	Parties        []Party
	Meta           Meta
	TranscriptHash wire.Hash
	ChainHead      wire.Hash
	MessageCount   int
	References     []wire.Value // as SPEC §11.5.6 has them
	Validity       *Validity    // nil: absolute, DefaultMaxLifetime from Time
}

// Value returns the unsigned attestation, the same bytes for the same Draft. It
// refuses what an issuer must refuse: free text in category or value_range, a
// validity beyond DefaultMaxLifetime, more than the caps of references. (SPEC
// §9.6.2, §9.6.6, §9.7.1, §11.5.8)
func (d Draft) Value() (wire.Value, error) {
	outcome := wire.M{
		"status": d.Outcome.Status, "rounds": d.Outcome.Rounds,
		"duration_seconds": int64(d.Outcome.Duration / time.Second), "resolution_mechanism": d.Outcome.Mechanism,
	}
	if d.Outcome.TermsCount > 0 {
		outcome["terms_count"] = d.Outcome.TermsCount
	}
	meta := wire.M{"extensions_used": append([]string{}, d.Meta.ExtensionsUsed...), "mediator_invoked": d.Meta.MediatorInvoked}
	if d.Meta.Category != "" {
		meta["category"] = d.Meta.Category
	}
	if d.Meta.ValueRange != "" {
		meta["value_range"] = d.Meta.ValueRange
	}
	parties := make([]wire.M, len(d.Parties))
	for i, p := range d.Parties {
		parties[i] = wire.M{"agent_id": p.Agent, "role": p.Role, "behavior": p.Behavior.members()}
	}
	m := wire.M{
		"concordia_attestation": AttestationVersion,
		"attestation_id":        d.ID, "session_id": d.Session, "timestamp": wire.FormatTime(d.Time),
		"outcome": outcome, "parties": parties, "meta": meta,
		"transcript_hash": d.TranscriptHash, "chain_head": d.ChainHead, "message_count": d.MessageCount,
		"fulfillment": nil, "references": append([]wire.Value{}, d.References...),
		"validity_temporal": d.validity(),
	}
	if summary := d.summary(); !TellsTerms(strings.ReplaceAll(summary, d.hashLine(), "")) {
		m["summary"] = summary
	} // else an id or the category looks like a price: go without
	v, err := wire.Encode(m)
	if err != nil {
		return v, err
	}
	a, err := ReadAttestation(v)
	if err != nil {
		return v, err
	}
	if a.Validity.lifetime() > DefaultMaxLifetime {
		return v, RuleLifetime.At("/validity_temporal")
	}
	return v, nil
}

func (b Behavior) members() wire.M {
	return wire.M{
		"offers_made": b.OffersMade, "concessions": b.Concessions, "concession_magnitude": b.ConcessionMagnitude,
		"signals_shared": b.SignalsShared, "constraints_declared": b.ConstraintsDeclared,
		"constraints_violated": b.ConstraintsViolated, "reasoning_provided": b.ReasoningProvided, "withdrawal": b.Withdrawal,
		"response_time_avg_seconds": math.Round(b.ResponseTime.Seconds()*100) / 100,
	}
}

func (d Draft) validity() wire.M {
	v := d.Validity
	if v == nil {
		v = &Validity{Mode: "absolute", From: d.Time, Until: d.Time.Add(DefaultMaxLifetime)}
	}
	from, until := wire.FormatTime(v.From), wire.FormatTime(v.Until)
	switch v.Mode {
	case "relative":
		return wire.M{"mode": v.Mode, "from": from, "duration_seconds": int64(v.lifetime() / time.Second)}
	case "window":
		return wire.M{"mode": v.Mode, "start": from, "end": until, "duration_seconds": int64(v.Duration / time.Second)}
	}
	return wire.M{"mode": v.Mode, "from": from, "until": until}
}

// summary says in four lines what a person wants to know (SPEC §9.6.2).
func (d Draft) summary() string {
	ids := make([]string, len(d.Parties))
	for i, p := range d.Parties {
		ids[i] = shorten(string(p.Agent))
	}
	topic := d.Meta.Category
	if topic == "" {
		topic = "N/A"
	}
	return fmt.Sprintf("Parties: %s\nTopic: %s\nOutcome: %s\n%s",
		strings.Join(ids, ", "), topic, strings.ToUpper(string(d.Outcome.Status)), d.hashLine())
}

func (d Draft) hashLine() string { return hashLine(d.TranscriptHash) }

// shorten keeps of a long id its last twelve characters.
func shorten(id string) string {
	if r := []rune(id); len(r) > 16 {
		return "..." + string(r[len(r)-12:])
	}
	return id
}
