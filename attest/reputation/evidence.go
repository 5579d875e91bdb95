package reputation

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// Evidence is a receipt or a fulfillment attestation that verified. Only VerifyReceipt
// and VerifyFulfillment make it, so that a Ledger holds nothing else.
type Evidence struct {
	receipt    *receipt
	revoked    bool
	confirmed  []confirmation // by the keys of deal, of the receipt alone
	statements []statement
}

// A receipt is what a ledger keeps of an attestation.
type receipt struct {
	core       wire.Hash // of what all parties countersigned: its identity
	id         string
	session    string
	time       int64 // Unix seconds
	status     attest.Status
	rounds     int64
	category   string
	valueRange string
	supersedes []string // ids
	dealers    []dealer
}

// A dealer is an initiator or a responder: who makes a deal. Mediators and witnesses
// are no part of it.
type dealer struct {
	id        wire.AgentID
	key       wire.PublicKey
	role      attest.Role
	violated  bool  // a constraint
	reasoned  bool  // gave reasons
	magnitude int64 // of its concessions, in millionths; -1 if not told
}

// A confirmation is a dealer's signed word that a deal was fulfilled, which does not
// say which deal.
type confirmation struct {
	by    wire.PublicKey
	words wire.Hash
}

// A statement is a dealer's signed word on the fulfillment of one deal.
type statement struct {
	agreement string // bare id of the receipt
	by        wire.PublicKey
	at        int64 // Unix seconds; undated if it does not say
	standing  standing
}

// undated sorts before every date.
const undated = math.MinInt64

// A standing is what became of a deal, the worse before the better.
type standing uint8

const (
	untold standing = iota
	failed
	mediated
	fulfilled
)

func (s standing) String() string {
	return [...]string{"not told", "failed", "fulfilled with mediation", "fulfilled"}[s]
}

// supplants reports whether a statement counts instead of another one of the same
// agent on the same deal: it is later, or as late and worse.
func (s statement) supplants(o statement) bool {
	if s.at != o.at {
		return s.at > o.at
	}
	return s.standing < o.standing
}

// distinct is the check that no two parties of a receipt have one key: an agent that
// deals with itself under two names proves nothing.
func distinct() wire.Check[*attest.AttestationSubject] {
	return wire.Check[*attest.AttestationSubject]{Name: "distinct-parties", Run: func(s *attest.AttestationSubject) error {
		_, err := partyKeys(s.Verifier, s.Attestation)
		return err
	}}
}

// partyKeys returns the keys under which the parties signed.
func partyKeys(f attest.Verifier, a *attest.Attestation) ([]wire.PublicKey, error) {
	keys := make([]wire.PublicKey, len(a.Parties))
	for i, p := range a.Parties {
		k, err := keyOf(f, p.Agent, a.Time)
		if err != nil {
			return nil, err
		}
		if slices.Contains(keys[:i], k) {
			return nil, attest.RuleSybil.At("/parties")
		}
		keys[i] = k
	}
	return keys, nil
}

// keyOf returns the key that an agent had. A verifier without keys knows nobody.
func keyOf(f attest.Verifier, agent wire.AgentID, at time.Time) (wire.PublicKey, error) {
	if f.Keys == nil {
		return wire.KeyMap(nil).Key(agent, at)
	}
	return f.Keys.Key(agent, at)
}

// VerifyReceipt verifies an attestation and returns it as evidence. It may be of any
// age, for it is history. Every party has to have countersigned it, which attestations
// before version 0.2.0 do not show, and no two of them may be one. A receipt that is
// revoked, by the verifier's Revocations, is returned as well, with the report that
// says so: it credits nothing and is told of. (SPEC §9.6.7)
func VerifyReceipt(f attest.Verifier, v wire.Value) (*Evidence, wire.Report) {
	a, report := f.VerifyHistory(v, attest.OutcomeBound(), distinct())
	revoked := false
	for _, found := range report {
		switch {
		case found.Outcome == wire.Passed || found.Optional:
		case found.Check == "revocation" && found.Outcome == wire.Failed:
			revoked = true
		default:
			return nil, report
		}
	}
	keys, err := partyKeys(f, a)
	if err != nil { // Keys that do not answer twice alike
		return nil, append(report, wire.Find("keys", false, err))
	}
	e := &Evidence{receipt: read(a, keys), revoked: revoked}
	for _, found := range report {
		if found.Check == "fulfillment" && found.Outcome == wire.Passed {
			e.hear(a, keys)
		}
	}
	return e, report
}

// read takes from an attestation what a ledger keeps, and nothing that would keep its
// whole text in memory.
func read(a *attest.Attestation, keys []wire.PublicKey) *receipt {
	r := &receipt{
		core: attest.Countersigned(a.Value()).Hash(), id: strings.Clone(a.ID), session: strings.Clone(string(a.Session)),
		time: a.Time.Unix(), status: a.Outcome.Status, rounds: int64(a.Outcome.Rounds),
		category: strings.Clone(a.Meta.Category), valueRange: strings.Clone(a.Meta.ValueRange),
	}
	for _, ref := range a.References {
		if ref.Relationship == "supersedes" {
			r.supersedes = append(r.supersedes, strings.Clone(ref.ID))
		}
	}
	parties, _ := a.Value().Get("parties")
	for i, record := range parties.Elems() {
		p := a.Parties[i]
		if p.Role != attest.RoleInitiator && p.Role != attest.RoleResponder {
			continue
		}
		d := dealer{
			id: wire.AgentID(strings.Clone(string(p.Agent))), key: keys[i], role: p.Role,
			violated: p.Behavior.ConstraintsViolated > 0, reasoned: p.Behavior.ReasoningProvided, magnitude: -1,
		}
		if _, told := record.At("behavior", "concession_magnitude"); told {
			d.magnitude = int64(math.RoundToEven(p.Behavior.ConcessionMagnitude * million))
		}
		r.dealers = append(r.dealers, d)
	}
	return r
}

// hear takes from a receipt what its counterparty signed of the fulfillment. The
// status beside it is nobody's word. A confirmation that names the attestation in its
// notes is a statement on it; one that names none shows that some deal was fulfilled;
// a denial that names none could be of any deal, and is nothing.
func (e *Evidence) hear(a *attest.Attestation, keys []wire.PublicKey) {
	_, words := a.Fulfillment.Confirmation()
	by, honored, named := a.Statement()
	key := keys[slices.IndexFunc(a.Parties, func(p attest.Party) bool { return p.Agent == by })]
	yes, _ := words.Get("confirms_fulfillment")
	switch {
	case honored:
		e.statements = append(e.statements, statement{bare(e.receipt.id), key, undated, fulfilled})
	case named:
		e.statements = append(e.statements, statement{bare(e.receipt.id), key, undated, failed})
	case yes.Bool():
		e.confirmed = append(e.confirmed, confirmation{key, words.Hash()})
	}
}

// bare is the id of an attestation that may be written as its URN.
func bare(id string) string { return strings.TrimPrefix(id, attest.AttestationURN("")) }

// VerifyFulfillment verifies a fulfillment attestation, of any age, and returns it as
// evidence. It counts for receipts of its agreement that its signer's key countersigned
// as a dealer; of another signer it says nothing about them. (SPEC §9.6.7)
func VerifyFulfillment(f attest.Verifier, v wire.Value) (*Evidence, wire.Report) {
	f.Policy.MaxAge = math.MaxInt64
	a, report := f.VerifyFulfillment(v, "")
	if report.Outcome() != wire.Passed {
		return nil, report
	}
	by, err := keyOf(f, a.Signer, a.IssuedAt)
	if err != nil {
		return nil, append(report, wire.Find("keys", false, err))
	}
	s := statement{strings.Clone(bare(a.Agreement)), by, a.IssuedAt.Unix(), failed}
	switch a.Status {
	case attest.FulfilledClean:
		s.standing = fulfilled
	case attest.FulfilledWithMediation:
		s.standing = mediated
	}
	return &Evidence{statements: []statement{s}}, report
}
