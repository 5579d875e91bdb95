package conformance

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

// A Case asks whether one artifact stands, judged at one time with these keys.
type Case struct {
	ID       string
	Kind     string // what the artifact is; see Kinds
	Subject  Subject
	Expected string // "accept", "reject", or "" if the case does not say
	Arguable bool   // the verdict is a matter of opinion and decides nothing
	Why      string
}

// A Subject is what a verdict depends on.
type Subject struct {
	Artifact   wire.Value
	Unreadable error // why the artifact's text was refused, if it was
	Keys       wire.Keys
	Now        time.Time
	Context    wire.Value // what the judge knows besides; see each kind

	// Told says that keys and context are all there is to know, as those of a case
	// are: everybody with a key may revoke, a mandate that is not said to have been used
	// was not, a bare key name is the provider's. Else all that is an open question.
	Told bool

	Policy attest.Policy // what the judge accepts, whatever a signer allows

	// Revocations are records that have been verified already, once for many artifacts;
	// nil: those of the context.
	Revocations *attest.Revocations

	// Revokers says whose revocation records count against whatever they name, beside
	// the issuer of an artifact, who may always revoke it; nil: nobody's, or if Told
	// everybody's who has a key.
	Revokers func(wire.AgentID) bool

	// Listed asks revocation endpoints, as that of attest.Verifier does; nil asks nobody.
	// Nothing in a case sets it.
	Listed func(endpoint, id string) (revoked bool, err error)

	// Each spreads the receipts of a bundle or proof, as that of attest.Verifier does;
	// nil takes them in order.
	Each func(n int, do func(i int))
}

var (
	errCaseInput = errors.New("want one of input, raw, raw_base64 and generator")
	errTooLarge  = errors.New("the generated text is too large")
)

// ruleCase names the shape of a case file. It is a rule of this file format, not
// of the protocol.
var ruleCase = &wire.Rule{Section: "12.3", Name: "case", Class: wire.ClassSchema, Text: "a case file has the members of a case"}

// ReadCase reads a case file (SPEC §12.3).
func ReadCase(data []byte) (*Case, error) {
	v, err := wire.Parse(data, wire.DocumentLimits)
	if err != nil {
		return nil, err
	}
	r := wire.Read(v, "", ruleCase)
	c := &Case{
		ID: r.Text("id"), Kind: r.Text("kind"),
		Expected: r.OptText("expected"), Arguable: r.OptBool("arguable"), Why: r.OptText("why"),
	}
	if r.Has("expected") {
		r.OneOf("expected", "accept", "reject")
	}
	c.Subject.Told = true
	c.Subject.Now = r.Time("now")
	keys := make(caseKeys)
	for id := range r.Object("public_keys").Whole().Members() {
		keys[wire.AgentID(id)] = r.Object("public_keys").Text(id)
	}
	c.Subject.Keys = keys
	c.Subject.Context = wire.Value{}
	if context, ok := r.OptObject("context"); ok {
		c.Subject.Context = context.Whole()
	}
	if err := c.Subject.readArtifact(r); err != nil {
		return nil, err
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

func (s *Subject) readArtifact(r wire.Reader) error {
	var text []byte
	given := 0
	for _, name := range []string{"input", "raw", "raw_base64", "generator"} {
		if r.Has(name) {
			given++
		}
	}
	if given != 1 {
		return errCaseInput
	}
	switch {
	case r.Has("input"):
		s.Artifact = r.Value("input")
		return nil
	case r.Has("raw"):
		text = []byte(r.Text("raw"))
	case r.Has("raw_base64"):
		b, err := base64.StdEncoding.DecodeString(r.Text("raw_base64"))
		if err != nil {
			return fmt.Errorf("reading raw_base64: %w", err)
		}
		text = b
	case r.Has("generator"):
		g := r.Object("generator")
		count := int(g.Int("count", 0, wire.MaxDocumentSize))
		opened, closed := g.Text("open"), g.Text("close")
		if count*(len(opened)+len(closed)) > wire.MaxDocumentSize {
			return errTooLarge
		}
		text = []byte(g.Text("prefix") + strings.Repeat(opened, count) + g.Text("middle") +
			strings.Repeat(closed, count) + g.Text("suffix"))
	}
	s.Artifact, s.Unreadable = wire.Parse(text, wire.DocumentLimits)
	return nil
}

// caseKeys are the keys of a case as text. They pass the gate when they are asked
// for, so that a weak key fails the message that needs it.
type caseKeys map[wire.AgentID]string

// Key implements wire.Keys.
func (k caseKeys) Key(agent wire.AgentID, at time.Time) (wire.PublicKey, error) {
	if text, ok := k[agent]; ok {
		return wire.DecodePublicKey(text)
	}
	return wire.KeyMap(nil).Key(agent, at)
}

// ErrNotBuilt reports a kind of artifact that this version cannot judge yet.
var ErrNotBuilt = errors.New("this kind of artifact is not judged yet")

// judges hold, for each kind, what makes its report.
var judges = map[string]func(Subject) wire.Report{
	"a2a_part":            judgeA2APart,
	"activation_proof":    judgeActivationProof,
	"agent_profile":       judgeAgentProfile,
	"approval_receipt":    judgeApproval,
	"attestation":         judgeAttestation,
	"cascade":             judgeCascade,
	"cascade_traversal":   judgeTraversal,
	"chain_session":       judgeChainSession,
	"closure":             judgeClosure,
	"closure_predicate":   judgeClosurePredicate,
	"commitment":          judgeCommitment,
	"competence_proof":    judgeCompetenceProof,
	"cosign":              judgeCosign,
	"envelope":            judgeEnvelope,
	"fulfillment":         judgeFulfillment,
	"mandate":             judgeMandate,
	"message":             judgeMessage,
	"predicate":           judgePredicate,
	"receipt_bundle":      judgeReceiptBundle,
	"record":              judgeRecord,
	"reputation_query":    judgeReputationQuery,
	"reputation_response": judgeReputationResponse,
	"revocation":          judgeRevocation,
	"transcript":          judgeTranscript,
	"unwind":              judgeUnwind,
}

// Judge checks the artifact of a case. It returns ErrNotBuilt for a kind without
// a judge.
func (c *Case) Judge() (wire.Report, error) {
	judge, ok := judges[c.Kind]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrNotBuilt, c.Kind)
	}
	if c.Subject.Unreadable != nil {
		return wire.Report{wire.Find("read", false, c.Subject.Unreadable)}, nil
	}
	if _, ok := c.Subject.list("revocation_records"); !ok {
		return unclear, nil
	}
	return c.Subject.require(judge(c.Subject)), nil
}

// require lets the optional checks that context.require names decide.
func (s Subject) require(report wire.Report) wire.Report {
	names, ok := s.list("require")
	if !ok {
		return unclear
	}
	for _, name := range names {
		i := slices.IndexFunc(report, func(f wire.Finding) bool {
			return f.Check == name.Text() || f.Check == strings.ReplaceAll(name.Text(), "_", "-")
		})
		if i < 0 {
			return unclear
		}
		report[i].Optional = false
	}
	return report
}

// Verdict says of a report what a case calls it. A required check that could not
// be made is a rejection.
func Verdict(r wire.Report) string {
	if r.Outcome() == wire.Passed {
		return "accept"
	}
	return "reject"
}

// parties returns context.parties: who is what in a session, as the judge knows.
func (s Subject) parties() map[wire.AgentID]protocol.Role {
	listed, ok := s.Context.Get("parties")
	if !ok {
		return nil
	}
	parties := make(map[wire.AgentID]protocol.Role, listed.Len())
	for id, role := range listed.Members() {
		parties[wire.AgentID(id)] = protocol.Role(role.Text())
	}
	return parties
}

// list returns a list of the context, none if it is left out or null, or false if
// it is something else.
func (s Subject) list(name string) ([]wire.Value, bool) {
	v, _ := s.Context.Get(name)
	var list []wire.Value
	for _, e := range v.Elems() {
		list = append(list, e)
	}
	k := v.Kind()
	return list, k == wire.Array || k == wire.Absent || k == wire.Null
}

// contextText returns a text of the context, "" if there is none, or false if it
// is something else.
func (s Subject) contextText(name string) (string, bool) {
	v, _ := s.Context.Get(name)
	k := v.Kind()
	return v.Text(), k == wire.String || k == wire.Absent || k == wire.Null
}

// plain returns a verifier that knows of no revocations.
func (s Subject) plain() attest.Verifier {
	return attest.Verifier{Keys: s.Keys, Now: s.Now, Policy: s.Policy, Listed: s.Listed, Each: s.Each}
}

// Verifier returns what the artifact is verified by. If the context has
// revocation_records, those count that verify.
func (s Subject) Verifier() attest.Verifier {
	f := s.plain()
	if f.Revocations = s.Revocations; f.Revocations != nil {
		return f
	}
	if v, _ := s.Context.Get("revocation_records"); v.Kind() == wire.Array {
		records, _ := s.list("revocation_records")
		f.Revocations, _ = f.ReadRevocations(records, s.trusts)
	}
	return f
}

// RecordErrors returns why revocation records of the context do not verify. To a
// verifier who was given them such a record leaves open what it revokes.
func (s Subject) RecordErrors() []error {
	records, ok := s.list("revocation_records")
	if !ok {
		return []error{errNoRecords}
	}
	var list []error
	_, reports := s.plain().ReadRevocations(records, nil)
	for _, r := range reports {
		if err := r.Err(); err != nil {
			list = append(list, err)
		}
	}
	return list
}

var errNoRecords = errors.New("revocation_records is no list")

// trusts reports whether a record of that agent counts.
func (s Subject) trusts(agent wire.AgentID) bool {
	if s.Revokers != nil {
		return s.Revokers(agent)
	}
	if !s.Told {
		return false
	}
	_, err := s.Keys.Key(agent, s.Now)
	return err == nil
}
