package attest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A RevocationRecord withdraws an artifact from a moment on, alone or with what
// depends on it (SPEC §9.6.4c).
type RevocationRecord struct {
	ID          string
	Revoked     string // the artifact's id
	RevokedType string
	Cascades    bool // to dependents, not the artifact alone
	Depth       int  // how far it cascades, 0 to MaxCascadeDepth
	Issuer      wire.AgentID
	IssuedAt    time.Time
	EffectiveAt time.Time // not revoked before
	Reason      string
	Supersedes  string
	Links       []Link

	value wire.Value
}

// MaxCascadeDepth bounds how far a revocation follows references (SPEC §9.6.4c).
const MaxCascadeDepth = 8

// The rules of revocations.
var (
	RuleRevocation          = &wire.Rule{Section: "9.6.4c", Name: "revocation", Class: wire.ClassSchema, Text: "a revocation record has the members of its schema"}
	RuleRevokesReference    = &wire.Rule{Section: "9.6.4c", Name: "revokes-reference", Class: wire.ClassSchema, Text: "a revocation record refers to what it revokes"}
	RuleRevocationTarget    = &wire.Rule{Section: "9.6.4c", Name: "revocation-target", Class: wire.ClassBinding, Text: "the revokes reference points at revoked_artifact_id"}
	RuleRevocationSignature = &wire.Rule{Section: "9.6.4c", Name: "revocation-signature", Class: wire.ClassSignature, Text: "the issuer signed the revocation record"}
	RuleRevoked             = &wire.Rule{Section: "9.6.4c", Name: "revoked", Class: wire.ClassBinding, Text: "neither the artifact nor what it depends on is revoked"}
)

var revocationRules = []*wire.Rule{
	RuleRevocation, RuleRevokesReference, RuleRevocationTarget, RuleRevocationSignature, RuleRevoked,
}

// A Link is a reference of an artifact whose references are open: its id, type and
// relationship, and whatever else, which is kept (SPEC §11.5.6).
type Link struct {
	ID           string `json:"id"`
	Type         string `json:"type"`
	Relationship string `json:"relationship"`
}

// readLinks reads references that a schema has looked at.
func readLinks(r wire.Reader, name string) []Link {
	var links []Link
	for _, e := range r.Objects(name) {
		links = append(links, Link{ID: e.Text("id"), Type: e.Text("type"), Relationship: e.Text("relationship")})
	}
	return links
}

// Depends reports whether a revocation of the linked artifact reaches the one
// that has the link. "references" and "supersedes" do not. (SPEC §9.6.4c)
func (l Link) Depends() bool {
	switch l.Relationship {
	case "fulfills", "extends", "approves", "revokes":
		return true
	}
	return false
}

// refersElsewhere reports whether there are links of that relationship, none of them
// to id.
func refersElsewhere(links []Link, relationship, id string) (elsewhere bool) {
	for _, l := range links {
		if l.Relationship == relationship {
			if l.ID == id {
				return false
			}
			elsewhere = true
		}
	}
	return elsewhere
}

// ReadRevocationRecord checks the shape of a revocation record. It verifies
// nothing.
func ReadRevocationRecord(v wire.Value) (*RevocationRecord, error) {
	r, err := Shape(v, "revocation_record", RuleRevocation)
	if err != nil {
		return nil, err
	}
	rec := &RevocationRecord{
		ID: r.Text("revocation_id"), Revoked: r.Text("revoked_artifact_id"), RevokedType: r.Text("revoked_artifact_type"),
		Cascades: r.Text("revocation_scope") == "cascade_to_dependents", Depth: int(r.Int("cascade_depth", 0, MaxCascadeDepth)),
		Issuer:   wire.ReadID[wire.AgentID](r, "issuer_did"),
		IssuedAt: r.Time("issued_at"), EffectiveAt: r.Time("effective_at"),
		Reason: r.Text("reason"), Supersedes: r.OptText("supersedes"), Links: readLinks(r, "references"), value: v,
	}
	return rec, r.Err()
}

// Value returns the record as it was received.
func (r *RevocationRecord) Value() wire.Value { return r.value }

// A RevocationSubject is a revocation record with what it is verified by.
type RevocationSubject struct {
	Verifier
	Record *RevocationRecord
}

// RevocationChecks are the checks of a revocation record in order (SPEC §9.6.4c).
func RevocationChecks() []wire.Check[*RevocationSubject] {
	return []wire.Check[*RevocationSubject]{
		{Name: "id", Run: func(s *RevocationSubject) error {
			return CheckNamed(RuleRevocation, s.Record.value, "revocation_id", "issuer_did", "supersedes")
		}},
		{Name: "revokes-reference", Run: (*RevocationSubject).checkReference},
		{Name: "revocation-target", Run: (*RevocationSubject).checkTarget},
		{Name: "signature", Run: (*RevocationSubject).checkSignature},
		{Name: "freshness", Run: func(s *RevocationSubject) error { return s.CheckAnchor(s.Record.IssuedAt, "/issued_at") }},
	}
}

// VerifyRevocation checks a revocation record by itself. Whether it counts against
// an artifact is for Revocations to say.
func (f Verifier) VerifyRevocation(v wire.Value) (*RevocationRecord, wire.Report) {
	return Judge(v, ReadRevocationRecord, func(r *RevocationRecord) *RevocationSubject {
		return &RevocationSubject{Verifier: f, Record: r}
	}, RevocationChecks())
}

func (s *RevocationSubject) checkReference() error {
	for _, l := range s.Record.Links {
		if l.Relationship == "revokes" {
			return nil
		}
	}
	return RuleRevokesReference.At("/references")
}

// checkTarget leaves it to the check before to find no such reference at all.
func (s *RevocationSubject) checkTarget() error {
	if refersElsewhere(s.Record.Links, "revokes", s.Record.Revoked) {
		return RuleRevocationTarget.At("/references")
	}
	return nil
}

func (s *RevocationSubject) checkSignature() error {
	text, _ := s.Record.value.At("signature", "value")
	return s.CheckSignature(Claim{
		Rule: RuleRevocationSignature, Signer: s.Record.Issuer, Algorithm: wire.EdDSA, Signed: s.Record.IssuedAt,
		Preimage: s.Record.value.Without("signature"), Text: text, At: "/signature/value",
	})
}

// Revocations are verified records, by the id of what they revoke.
type Revocations struct {
	records map[string][]knownRecord
	trusted func(revoker wire.AgentID) bool
}

// A knownRecord is a verified record and the key that verified it.
type knownRecord struct {
	*RevocationRecord
	key wire.PublicKey
	did wire.AgentID // the did:key of that key, "" if there is none
}

func (f *Verifier) known(r *RevocationRecord) knownRecord {
	k := knownRecord{RevocationRecord: r, key: f.identify(r.Issuer, r.IssuedAt)}
	if !k.key.IsZero() && k.key.Algorithm() == wire.EdDSA {
		k.did = wire.DIDKey(k.key)
	}
	return k
}

// ReadRevocations verifies each record and keeps those that pass; the reports are
// those of all, in order. A record counts against an artifact if the artifact's
// own issuer made it, under whichever of its ids, or trusted, which may be nil,
// accepts its issuer as a revoker of anything. (SPEC §9.6.4c)
func (f Verifier) ReadRevocations(records []wire.Value, trusted func(revoker wire.AgentID) bool) (*Revocations, []wire.Report) {
	return f.MoreRevocations(&Revocations{trusted: trusted}, records)
}

// MoreRevocations is ReadRevocations of records that come later: it returns those that are
// known, as they were verified then, and of the others those that pass. What is known stays
// as it is, for those who use it.
func (f Verifier) MoreRevocations(known *Revocations, records []wire.Value) (*Revocations, []wire.Report) {
	all := &Revocations{records: make(map[string][]knownRecord, len(known.records)), trusted: known.trusted}
	for id, list := range known.records {
		all.records[id] = slices.Clip(list)
	}
	reports := make([]wire.Report, len(records))
	read := make([]*RevocationRecord, len(records))
	f.each(len(records), func(i int) { read[i], reports[i] = f.VerifyRevocation(records[i]) })
	for i, r := range read {
		if reports[i].Outcome() == wire.Passed {
			all.records[r.Revoked] = append(all.records[r.Revoked], f.known(r))
		}
	}
	return all, reports
}

// findRevocation returns a record that revokes the artifact of that id now.
func (f *Verifier) findRevocation(id string, issuer wire.AgentID, dependents bool) *RevocationRecord {
	for _, r := range f.Revocations.records[id] {
		reaches := !dependents || r.Cascades && r.Depth > 0
		if !reaches || f.Now.Before(r.EffectiveAt) {
			continue
		}
		if f.Revocations.trusted != nil && f.Revocations.trusted(r.Issuer) || f.issued(r, issuer) {
			return r.RevocationRecord
		}
	}
	return nil
}

// issued reports whether the record is of this issuer, under whichever of its ids: a
// signer that writes another one must not escape its own revocation. The key is the
// issuer's of now, or of when the record was made.
func (f *Verifier) issued(r knownRecord, issuer wire.AgentID) bool {
	switch {
	case r.Issuer == issuer:
		return true
	case strings.HasPrefix(string(issuer), "did:key:"):
		// The id says the key: to read it for each of many records takes long.
		did, _, _ := strings.Cut(string(issuer), "#")
		return r.did != "" && r.did == wire.PlainDIDKey(wire.AgentID(did))
	}
	return !r.key.IsZero() && (r.key == f.identify(issuer, f.Now) || r.key == f.identify(issuer, r.IssuedAt))
}

// checkRevoked looks an artifact up by its own id and by those it depends on. The
// issuer of what it depends on is not known here: a record against that counts if
// its issuer is trusted, or is the artifact's own.
func (f *Verifier) checkRevoked(id string, issuer wire.AgentID, links []Link) error {
	if f.Revocations == nil {
		return &wire.Unchecked{Why: "no revocations were looked up", Moot: true}
	}
	if r := f.findRevocation(id, issuer, false); r != nil {
		return RuleRevoked.Because("", fmt.Errorf("revoked from %s on", wire.FormatTime(r.EffectiveAt)))
	}
	for i, l := range links {
		if !l.Depends() {
			continue
		}
		if r := f.findRevocation(l.ID, issuer, true); r != nil {
			return RuleRevoked.Because(fmt.Sprintf("/references/%d", i), fmt.Errorf("revoked from %s on", wire.FormatTime(r.EffectiveAt)))
		}
	}
	return nil
}

var errListed = errors.New("the endpoint lists it as revoked")

// checkListed asks the revocation endpoint of an artifact for its id. A stranger's word
// alone makes nobody connect anywhere: the issuer's signature has to verify. What the
// endpoint does not answer leaves open whether the artifact stands. (SPEC §9.9, §9.10)
func (f *Verifier) checkListed(rule *wire.Rule, endpoint, id string, signature func() error) error {
	switch {
	case endpoint == "":
		return &wire.Unchecked{Why: "it names no revocation endpoint", Moot: true}
	case f.Listed == nil:
		return &wire.Unchecked{Why: "nobody asked the revocation endpoint", Moot: true}
	case signature() != nil:
		return &wire.Unchecked{Why: "the issuer's signature does not verify"}
	}
	revoked, err := f.Listed(endpoint, id)
	switch {
	case err != nil:
		return &wire.Unchecked{Why: err.Error()}
	case revoked:
		return rule.Because("/revocation_endpoint", errListed)
	}
	return nil
}

// Revocation issues a revocation record. The draft says revoked_artifact_id,
// revoked_artifact_type and the reason. It revokes that artifact alone, from now on,
// unless it says otherwise; what cascades does so to three steps. (SPEC §9.6.4c)
func (i Issuer) Revocation(v wire.Value) (wire.Value, error) {
	d := i.draft("a revocation", v)
	d.only(wire.EdDSA)
	d.fillID("urn:concordia:revocation:", "revocation_id")
	d.signer("issuer_did")
	d.fillTimes("issued_at", 0, "")
	d.fill(d.text("issued_at"), "effective_at")
	d.fill("single_artifact", "revocation_scope")
	d.fill(3, "cascade_depth")
	d.fill([]Link{{ID: d.text("revoked_artifact_id"), Type: d.text("revoked_artifact_type"), Relationship: "revokes"}}, "references")
	d.signBlock(wire.EdDSA, nil)
	return d.done(func(f Verifier, v wire.Value) wire.Report {
		_, report := f.VerifyRevocation(v)
		return report
	})
}
