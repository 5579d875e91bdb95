package attest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/concordia-node/concordia/internal/merkle"
	"github.com/concordia-node/concordia/wire"
)

// A CompetenceProof claims figures of a history and commits to the ids of its
// receipts, of which it reveals none, some or all. The figures are the agent's own
// word unless AggregateVerified passes; and then the agent may have left receipts
// out of what it commits to. (SPEC §9.6.6a)
type CompetenceProof struct {
	ID        string
	Agent     wire.AgentID // whose history it is
	CreatedAt time.Time    // zero if it is none
	Claims    wire.Value   // a Summary, if VerifyCompetence finds no fault
	Root      string       // of the ids, "" if there are none
	Count     int64        // of the ids
	Revealed  int          // how many receipts it shows
	Credit    Credit       // what the revealed ones prove; zero unless VerifyCompetence found no fault

	proofs     int         // how many inclusion proofs it shows
	inclusions []inclusion // none if there are more than MaxReceipts
	value      wire.Value
}

// An inclusion is an entry of merkle_proofs.
type inclusion struct {
	attestation string
	merkle.Proof
}

// The rules of competence proofs.
var (
	RuleCompetence          = &wire.Rule{Section: "9.6.6a", Name: "competence", Class: wire.ClassSchema, Text: "a competence proof has the members of its shape"}
	RuleCompetenceSignature = &wire.Rule{Section: "9.6.6a", Name: "competence-signature", Class: wire.ClassSignature, Text: "the agent whose history it is signed the competence proof"}
	RuleClaims              = &wire.Rule{Section: "9.6.6a", Name: "competence-claims", Class: wire.ClassSchema, Text: "the claims are ten figures, made at an instant"}
	RuleClaimsConsistent    = &wire.Rule{Section: "9.6.6a", Name: "competence-figures", Class: wire.ClassBinding, Text: "no figure of the claims contradicts another: some receipts add up to them"}
	RuleCompetenceCount     = &wire.Rule{Section: "9.6.6a", Name: "competence-count", Class: wire.ClassBinding, Text: "attestation_count is the total_negotiations of the claims, and no fewer than are revealed"}
	RuleMembership          = &wire.Rule{Section: "9.6.6a", Name: "competence-membership", Class: wire.ClassBinding, Text: "each revealed receipt has an inclusion proof, and each inclusion proof leads to the root"}
	RuleCompetenceRoot      = &wire.Rule{Section: "9.6.6a", Name: "competence-root", Class: wire.ClassBinding, Text: "the root of a full reveal is that of exactly the revealed ids"}
	RuleAggregate           = &wire.Rule{Section: "9.6.6a", Name: "competence-aggregate", Class: wire.ClassBinding, Text: "the claims are verified: all receipts are revealed, bound, and add up to them"}
)

var competenceRules = []*wire.Rule{
	RuleCompetence, RuleCompetenceSignature, RuleClaims, RuleClaimsConsistent, RuleCompetenceCount, RuleMembership, RuleCompetenceRoot, RuleAggregate,
}

// ReadCompetenceProof checks the shape of a competence proof as far as the published
// contract does: of its receipts only that they have an id, and of its claims only
// that they are an object. It verifies nothing.
func ReadCompetenceProof(v wire.Value) (*CompetenceProof, error) {
	r, err := shapeOfHistory(v, "competence_proof", RuleCompetence, "revealed_attestations", "merkle_proofs")
	if err != nil {
		return nil, err
	}
	for _, e := range r.Objects("revealed_attestations") {
		e.Text("attestation_id")
	}
	p := &CompetenceProof{
		ID: r.Text("proof_id"), Agent: wire.ReadID[wire.AgentID](r, "agent_id"),
		Claims: r.Object("claims").Whole(), Root: r.Text("attestation_merkle_root"),
		Count: r.Int("attestation_count", 0, maxCount), Revealed: r.Array("revealed_attestations").Len(), value: v,
	}
	p.CreatedAt, _ = wire.ParseTime(r.Text("created_at"))
	p.readInclusions(r)
	return p, r.Err()
}

// maxSiblings is how long an inclusion proof is at most: no tree is higher.
const maxSiblings = 64

var (
	errEmpty    = errors.New("empty")
	errSiblings = fmt.Errorf("more than %d", maxSiblings)
	errSibling  = errors.New("want 64 lower-case hex digits")
)

// readInclusions reads the inclusion proofs, unless there are too many.
func (p *CompetenceProof) readInclusions(r wire.Reader) {
	list := r.Array("merkle_proofs")
	if p.proofs = list.Len(); p.proofs > MaxReceipts {
		return
	}
	for _, e := range r.Objects("merkle_proofs") {
		e.Open("attestation_id", "index", "proof")
		// The contract reads a missing index as 0 and a missing proof as empty.
		in := inclusion{attestation: e.Text("attestation_id"), Proof: merkle.Proof{Index: e.OptInt("index", 0, maxCount, 0)}}
		if in.attestation == "" {
			e.Fail("attestation_id", errEmpty)
		}
		if e.Has("proof") {
			if e.Array("proof").Len() > maxSiblings {
				e.Fail("proof", errSiblings)
				return
			}
			in.Siblings = e.Strings("proof")
		}
		for _, s := range in.Siblings {
			if len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "" {
				e.Fail("proof", errSibling)
			}
		}
		p.inclusions = append(p.inclusions, in)
	}
}

// Value returns the proof as it was received.
func (p *CompetenceProof) Value() wire.Value { return p.value }

// full reports whether everything that the proof commits to is revealed.
func (p *CompetenceProof) full() bool { return int64(p.Revealed) == p.Count }

// A CompetenceSubject is a competence proof with what it is verified by.
type CompetenceSubject struct {
	Verifier
	Proof *CompetenceProof

	shown *history
}

// history verifies the revealed receipts, once.
func (s *CompetenceSubject) history() *history {
	if s.shown == nil {
		list, _ := s.Proof.value.Get("revealed_attestations")
		s.shown = s.readHistory(list, "/revealed_attestations", s.Proof.Agent)
	}
	return s.shown
}

// CompetenceChecks are the checks of a competence proof in order (SPEC §9.6.6a). The
// last says whether the claims are verified; the verdict does not depend on it.
func CompetenceChecks() []wire.Check[*CompetenceSubject] {
	checks := []wire.Check[*CompetenceSubject]{
		{Name: "count", Run: (*CompetenceSubject).checkCount},
		{Name: "membership", Run: (*CompetenceSubject).checkMembership},
		{Name: "signature", Run: (*CompetenceSubject).checkSignature},
		{Name: "version", Run: func(s *CompetenceSubject) error { return checkVersion(s.Proof.value, "concordia_competence_proof") }},
		{Name: "figures", Run: (*CompetenceSubject).checkFigures},
		{Name: "consistency", Run: (*CompetenceSubject).checkConsistency},
		{Name: "freshness", Run: func(s *CompetenceSubject) error { return s.CheckAge(s.Proof.CreatedAt, "/created_at") }},
	}
	checks = append(checks, historyChecks[*CompetenceSubject]()...)
	return append(checks,
		wire.Check[*CompetenceSubject]{Name: "proof-duplicates", Run: (*CompetenceSubject).checkProofDuplicates},
		wire.Check[*CompetenceSubject]{Name: "claims", Run: (*CompetenceSubject).checkClaims},
		wire.Check[*CompetenceSubject]{Name: "root", Run: (*CompetenceSubject).checkRoot},
		wire.Check[*CompetenceSubject]{Name: "aggregate", Optional: true, Run: (*CompetenceSubject).checkAggregate},
	)
}

// AggregateVerified is the check of a verifier that credits the claims (SPEC
// §9.6.6a).
func AggregateVerified() wire.Check[*CompetenceSubject] {
	return wire.Check[*CompetenceSubject]{Name: "aggregate-verified", Run: (*CompetenceSubject).checkAggregate}
}

// VerifyCompetence checks a competence proof and every receipt that it reveals. The
// report has all checks and those of more.
func (f Verifier) VerifyCompetence(v wire.Value, more ...wire.Check[*CompetenceSubject]) (*CompetenceProof, wire.Report) {
	var s *CompetenceSubject
	p, report := Judge(v, ReadCompetenceProof, func(p *CompetenceProof) *CompetenceSubject {
		s = &CompetenceSubject{Verifier: f, Proof: p}
		return s
	}, append(CompetenceChecks(), more...))
	if report.Outcome() == wire.Passed {
		p.Credit = s.history().credit()
	}
	return p, report
}

func (s *CompetenceSubject) checkCount() error {
	total, _ := s.Proof.Claims.Get("total_negotiations")
	if n, ok := total.Int(); !ok || n != s.Proof.Count {
		return RuleCompetenceCount.At("/attestation_count")
	}
	if int64(s.Proof.Revealed) > s.Proof.Count {
		return RuleCompetenceCount.At("/revealed_attestations")
	}
	return nil
}

// checkFigures checks what the contract leaves out of the shape.
func (s *CompetenceSubject) checkFigures() error {
	created, _ := s.Proof.value.Get("created_at")
	if _, err := wire.ParseTime(created.Text()); err != nil {
		return RuleClaims.Because("/created_at", err)
	}
	_, err := Shape(s.Proof.Claims, "receipt_summary", RuleClaims)
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		return v.Rule.Because("/claims"+v.At, v.Err)
	}
	return err
}

var (
	errNoProof = errors.New("it has no inclusion proof")
	errOrder   = errors.New("the leaves are not in the order of the ids")
)

// checkMembership verifies the inclusion proofs against the signed root and count.
// They are bounded like the receipts; one of a receipt that is not revealed shows
// its id alone.
func (s *CompetenceSubject) checkMembership() error {
	p := s.Proof
	if p.proofs > MaxReceipts || p.Revealed > MaxReceipts {
		return RuleHistorySize.At("/merkle_proofs")
	}
	proven := make(map[string]bool, len(p.inclusions))
	for i, in := range p.inclusions {
		if err := in.Verify(in.attestation, p.Root, p.Count); err != nil {
			return RuleMembership.Because(inclusionAt(i), err)
		}
		proven[in.attestation] = true
	}
	revealed, _ := p.value.Get("revealed_attestations")
	for i, r := range revealed.Elems() {
		if id, _ := r.Get("attestation_id"); !proven[id.Text()] {
			return RuleMembership.Because(fmt.Sprintf("/revealed_attestations/%d", i), errNoProof)
		}
	}
	// The tree is over sorted ids.
	sorted := slices.SortedFunc(slices.Values(p.inclusions), func(a, b inclusion) int {
		return cmp.Or(cmp.Compare(a.attestation, b.attestation), cmp.Compare(a.Index, b.Index))
	})
	if !slices.IsSortedFunc(sorted, func(a, b inclusion) int { return cmp.Compare(a.Index, b.Index) }) {
		return RuleMembership.Because("/merkle_proofs", errOrder)
	}
	if len(p.inclusions) == 0 {
		return &wire.Unchecked{Why: "nothing is revealed", Moot: true}
	}
	return nil
}

func inclusionAt(i int) string { return "/merkle_proofs" + wire.Pointer(strconv.Itoa(i)) }

func (s *CompetenceSubject) checkProofDuplicates() error {
	seen := make(map[string]bool)
	for i, in := range s.Proof.inclusions {
		if seen[in.attestation] {
			return RuleDuplicate.At(inclusionAt(i) + "/attestation_id")
		}
		seen[in.attestation] = true
	}
	return nil
}

func (s *CompetenceSubject) checkSignature() error {
	text, _ := s.Proof.value.Get("agent_signature")
	return s.CheckSignature(Claim{
		Rule: RuleCompetenceSignature, Signer: s.Proof.Agent, Algorithm: wire.EdDSA, Signed: s.Proof.CreatedAt,
		Preimage: s.Proof.value.Without("agent_signature").Without("concordia_competence_proof"),
		Text:     text, At: "/agent_signature",
	})
}

// partial says that what is revealed is not all.
func (s *CompetenceSubject) partial() error {
	return &wire.Unchecked{Why: fmt.Sprintf("%d of %d receipts are revealed", s.Proof.Revealed, s.Proof.Count), Moot: true}
}

// checkClaims compares the claims with what is revealed, if that is all.
func (s *CompetenceSubject) checkClaims() error {
	if !s.Proof.full() {
		return s.partial()
	}
	receipts, err := s.history().complete()
	if err != nil {
		return err
	}
	return checkSummary(s.Proof.Claims, s.Proof.Agent, receipts, "/claims")
}

// checkRoot compares the root with what is revealed, if that is all: proofs of
// single leaves do not show that there are no others.
func (s *CompetenceSubject) checkRoot() error {
	if !s.Proof.full() {
		return s.partial()
	}
	receipts, err := s.history().complete()
	if err != nil {
		return err
	}
	ids := make([]string, len(receipts))
	for i, a := range receipts {
		ids[i] = a.ID
	}
	if merkle.New(ids).Root() != s.Proof.Root {
		return RuleCompetenceRoot.At("/attestation_merkle_root")
	}
	return nil
}

var (
	errNothing  = errors.New("it commits to nothing")
	errPartial  = errors.New("not every receipt is revealed")
	errUnbound  = errors.New("the outcome of an old version is bound by nobody")
	errUnproven = errors.New("a fulfillment is counted that no counterparty signed, or signed once for several")
)

// checkAggregate reports whether the claims are verified: (a) everything is revealed
// and every outcome bound, (b) the agent is a party of each, (c) each is a member, (d)
// the claims are their arithmetic and (e) the root theirs. A fulfillment came after the
// countersignatures, so one that is counted stands on its own signature.
func (s *CompetenceSubject) checkAggregate() error {
	switch {
	case s.Proof.Count == 0:
		return RuleAggregate.Because("/attestation_count", errNothing)
	case !s.Proof.full():
		return RuleAggregate.Because("/revealed_attestations", errPartial)
	}
	for _, c := range CompetenceChecks() {
		if c.Optional {
			continue
		}
		switch f := wire.Find(c.Name, false, c.Run(s)); {
		case f.Outcome == wire.Failed:
			at := ""
			if v, ok := errors.AsType[*wire.Violation](f.Err); ok {
				at = v.At
			}
			return RuleAggregate.Because(at, f.Err)
		case f.Outcome == wire.NotChecked && !f.Optional:
			return f.Err
		}
	}
	h := s.history()
	for i := range h.receipts {
		r := &h.receipts[i]
		if !r.bound() {
			return h.within(i, RuleAggregate.Because("", errUnbound))
		}
		if r.Fulfillment.fulfilled() && !h.fulfilled(i) {
			return h.within(i, RuleAggregate.Because("/fulfillment", errUnproven))
		}
	}
	return nil
}

// Competence issues a competence proof over receipts, which reveals those of the given
// ids. Revealing all of them proves the claims; revealing less leaves them the
// issuer's word. (SPEC §9.6.6a)
func (i Issuer) Competence(receipts []wire.Value, reveal ...string) (wire.Value, error) {
	d := i.draft("a competence proof", emptyObject)
	d.only(wire.EdDSA)
	d.fill(HistoryVersion, "concordia_competence_proof")
	d.fillID("proof_", "proof_id")
	d.signer("agent_id")
	d.fillTimes("created_at", 0, "")
	d.set(d.summarize(receipts), "claims")
	d.verifyAll(receipts)

	ids := make([]string, len(receipts))
	at := make(map[string]int, len(receipts))
	for n, v := range receipts {
		id, _ := v.Get("attestation_id")
		ids[n], at[id.Text()] = id.Text(), n
	}
	tree := merkle.New(ids)
	d.set(tree.Root(), "attestation_merkle_root")
	d.set(len(ids), "attestation_count")
	revealed, proofs := []wire.Value{}, []wire.M{}
	for _, id := range reveal {
		proof, ok := tree.Prove(id)
		if !ok {
			d.err = cmp.Or(d.err, fmt.Errorf("revealing %q: %w", clipPointer(id), errNotAmong))
			break
		}
		revealed = append(revealed, receipts[at[id]])
		proofs = append(proofs, wire.M{"attestation_id": id, "index": proof.Index, "proof": append([]string{}, proof.Siblings...)})
	}
	d.set(revealed, "revealed_attestations")
	d.set(proofs, "merkle_proofs")
	d.sign(withoutAll(d.v, "agent_signature", "concordia_competence_proof"), "agent_signature")
	return d.done(func(f Verifier, v wire.Value) wire.Report {
		_, report := f.VerifyCompetence(v)
		return report
	})
}

// verifyAll verifies receipts that the proof commits to without showing them.
func (d *draft) verifyAll(receipts []wire.Value) {
	if d.err != nil {
		return
	}
	f := d.Verifier()
	all := shownReceipts{f.readHistory(arrayOf(receipts), "", d.Agent)}
	if report := wire.Run(all, historyChecks[shownReceipts]()...); report.Outcome() == wire.Failed {
		d.err = report.Err()
	}
}

type shownReceipts struct{ shown *history }

func (s shownReceipts) history() *history { return s.shown }

var errNotAmong = errors.New("not among the receipts")
