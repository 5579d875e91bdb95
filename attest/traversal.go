package attest

import (
	"fmt"
	"math"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

// A Dependent is an artifact that a revocation may reach through its references.
// Whoever lists it has verified it, or answers for what it says.
type Dependent struct {
	ID     string
	Issuer wire.AgentID // "" if it is not known
	Links  []Link
}

// DependentOf reads of an artifact of any kind what a revocation follows: its id, its
// issuer and its references. It checks nothing, and leaves out what is not there: an ID
// that is "" says that v is none. {artifact_id, issuer, references} stands for an
// artifact that is not at hand.
func DependentOf(v wire.Value) Dependent {
	text := func(path ...string) string { m, _ := v.At(path...); return m.Text() }
	first := func(paths ...[]string) string {
		for _, path := range paths {
			if s := text(path...); s != "" {
				return s
			}
		}
		return ""
	}
	d := Dependent{
		ID: first([]string{"artifact_id"}, []string{"mandate_id"}, []string{"predicate_id"}, []string{"commitment_id"}, []string{"revocation_id"}, []string{"id"}),
		Issuer: wire.AgentID(first([]string{"issuer"}, []string{"issuer_did"}, []string{"committer_did"},
			[]string{"approver", "identity"}, []string{"signature", "signer_did"})),
	}
	if id := text("attestation_id"); d.ID == "" && id != "" {
		d.ID = AttestationURN(id)
	}
	links, _ := v.Get("references")
	for _, l := range links.Elems() {
		id, _ := l.Get("id")
		kind, _ := l.Get("type")
		relationship, _ := l.Get("relationship")
		d.Links = append(d.Links, Link{ID: id.Text(), Type: kind.Text(), Relationship: relationship.Text()})
	}
	if mandate := text("mandate_proof_id"); mandate != "" { // a commitment stands on it
		d.Links = append(d.Links, Link{ID: mandate, Type: "mandate", Relationship: "fulfills"})
	}
	return d
}

// AttestationURN returns the URN by which references and revocations name the
// attestation of that id (SPEC §9.6.4c).
func AttestationURN(id string) string {
	if strings.HasPrefix(id, "urn:") {
		return id
	}
	return "urn:concordia:attestation:" + id
}

// Dependents are artifacts by what they depend on. They are made once for any
// number of revocations.
type Dependents struct {
	artifacts []Dependent
	nodes     map[string]int32 // number of each id that is listed or referred to
	of        []int32          // of each artifact, the number of its id
	first     []int32          // of each id, the first edge that leads to a dependent, or none
	edges     []edge
}

// An edge says that an artifact depends on some id.
type edge struct {
	artifact, link int32 // which link of which artifact
	next           int32 // the next edge of that id, or none
}

const none = -1

// IndexDependents makes an index of artifacts in time proportional to their
// references; it keeps the slice. Of an artifact that is listed twice the references
// of both count. It panics if there are more than 2^31-1 of either.
func IndexDependents(artifacts []Dependent) *Dependents {
	links := 0
	for _, a := range artifacts {
		for _, l := range a.Links {
			if l.Depends() {
				links++
			}
		}
	}
	if max(len(artifacts), links) > math.MaxInt32 {
		panic("attest: too many dependents")
	}
	d := &Dependents{
		artifacts: artifacts,
		nodes:     make(map[string]int32, len(artifacts)),
		of:        make([]int32, len(artifacts)),
		first:     make([]int32, 0, len(artifacts)),
		edges:     make([]edge, 0, links),
	}
	for i := range artifacts {
		d.of[i] = d.node(artifacts[i].ID)
	}
	// From the last to the first: each list is then in the order of the artifacts.
	for i := len(artifacts) - 1; i >= 0; i-- {
		links := artifacts[i].Links
		for j := len(links) - 1; j >= 0; j-- {
			if links[j].Depends() {
				n := d.node(links[j].ID)
				d.edges = append(d.edges, edge{artifact: int32(i), link: int32(j), next: d.first[n]})
				d.first[n] = int32(len(d.edges) - 1)
			}
		}
	}
	return d
}

// node returns the number of an id.
func (d *Dependents) node(id string) int32 {
	n, ok := d.nodes[id]
	if !ok {
		n = int32(len(d.first))
		d.nodes[id] = n
		d.first = append(d.first, none)
	}
	return n
}

// A Reached is an artifact that a revocation makes inadmissible, and how it came
// there.
type Reached struct {
	ID       string
	Depth    int    // 0 for the revoked artifact itself, at most MaxCascadeDepth
	Via      string // the id that it depends on, reached a step before; "" at depth 0
	Artifact int    // which of the list has the reference; -1 at depth 0
	Link     int    // which of that artifact's Links it is; -1 at depth 0
}

// Cascade verifies a revocation record and returns what it reaches at f.Now: the
// revoked artifact, and if the record cascades, what depends on it within its
// depth. Each artifact appears once, by the shortest way, the nearest first and
// else in the order of the list. A record that does not verify, is not yet in
// force, or is neither of the revoked artifact's own issuer nor of a revoker that
// trusted accepts, reaches nothing, and the report says so. (SPEC §9.6.4c)
//
// It takes the record as it was received, so that there is no way to follow one
// that nobody has verified.
func (f Verifier) Cascade(record wire.Value, trusted func(revoker wire.AgentID) bool, among *Dependents) ([]Reached, wire.Report) {
	r, report := f.VerifyRevocation(record)
	if r == nil {
		return nil, report
	}
	if among == nil {
		among = IndexDependents(nil)
	}
	var revoker, effective error
	if (trusted == nil || !trusted(r.Issuer)) && !f.issuedAmong(among, r) {
		revoker = &wire.Unchecked{Why: "its issuer is neither that of the artifact nor trusted"}
	}
	if f.Now.Before(r.EffectiveAt) {
		effective = &wire.Unchecked{Why: "it is not yet in force", Moot: true}
	}
	report = append(report, wire.Find("revoker", false, revoker), wire.Find("effective", false, effective))
	if effective != nil || report.Outcome() != wire.Passed {
		return nil, report
	}
	return among.reachedBy(r), report
}

// CheckReached reports that the artifact of that id, told at a pointer, is among
// those that a revocation reaches.
func CheckReached(reached []Reached, id, at string) error {
	for _, a := range reached {
		if a.ID == id {
			return RuleRevoked.Because(at, fmt.Errorf("the revocation reaches it in %d steps", a.Depth))
		}
	}
	return nil
}

// issuedAmong reports whether the list has the revoked artifact, and of the record's
// issuer.
func (f *Verifier) issuedAmong(d *Dependents, r *RevocationRecord) bool {
	known := f.known(r)
	for i := range d.artifacts {
		if a := &d.artifacts[i]; a.ID == r.Revoked && a.Issuer != "" && f.issued(known, a.Issuer) {
			return true
		}
	}
	return false
}

// reachedBy follows a verified record that is in force, breadth first. Every id is
// visited once, so that its way is the shortest and cycles end. (The reference
// implementation walks every path: their number grows exponentially.)
func (d *Dependents) reachedBy(r *RevocationRecord) []Reached {
	reached := []Reached{{ID: r.Revoked, Artifact: none, Link: none}}
	start, ok := d.nodes[r.Revoked]
	if !ok || !r.Cascades {
		return reached
	}
	seen := make([]bool, len(d.first))
	seen[start] = true
	frontier := []int32{start}
	for depth := 1; depth <= min(r.Depth, MaxCascadeDepth) && len(frontier) > 0; depth++ {
		level := len(reached)
		var next []int32
		for i, n := range frontier {
			via := reached[level-len(frontier)+i].ID
			for e := d.first[n]; e != none; e = d.edges[e].next {
				edge := d.edges[e]
				m := d.of[edge.artifact]
				if seen[m] {
					continue
				}
				seen[m] = true
				next = append(next, m)
				reached = append(reached, Reached{
					ID: d.artifacts[edge.artifact].ID, Depth: depth, Via: via,
					Artifact: int(edge.artifact), Link: int(edge.link),
				})
			}
		}
		frontier = next
	}
	return reached
}
