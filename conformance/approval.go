package conformance

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// judgeApproval judges an approval receipt of context.offer in the session
// context.session_urn, if that is given.
func judgeApproval(s Subject) wire.Report {
	f, ok := s.verifier()
	session, known := s.contextText("session_urn")
	if !ok || !known {
		return unclear
	}
	offer, _ := s.Context.Get("offer")
	_, report := f.VerifyApproval(s.Artifact, offer, session)
	return report
}

// judgeRevocation judges a revocation record by itself.
func judgeRevocation(s Subject) wire.Report {
	_, report := attest.Verifier{Keys: s.Keys, Now: s.Now}.VerifyRevocation(s.Artifact)
	return report
}

// verifier returns what an artifact is verified by, with the records in
// context.revocation_records, or false if those are no list.
func (s Subject) verifier() (attest.Verifier, bool) {
	f := attest.Verifier{Keys: s.Keys, Now: s.Now}
	list, _ := s.Context.Get("revocation_records")
	switch list.Kind() {
	case wire.Absent, wire.Null:
		return f, true
	case wire.Array:
	default:
		return f, false
	}
	var records []wire.Value
	for _, v := range list.Elems() {
		records = append(records, v)
	}
	f.Revocations, _ = f.ReadRevocations(records, s.trusts)
	return f, true
}

// trusts reports whether the case has a key of that agent: only such are to be
// believed, and all of them.
func (s Subject) trusts(agent wire.AgentID) bool {
	_, err := s.Keys.Key(agent, s.Now)
	return err == nil
}

// contextText returns a text of the context, "" if there is none, or false if it
// is something else.
func (s Subject) contextText(name string) (string, bool) {
	v, _ := s.Context.Get(name)
	k := v.Kind()
	return v.Text(), k == wire.String || k == wire.Absent || k == wire.Null
}
