package conformance

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// judgeCascade judges a cascade decision, which has the id
// context.expected_decision_id if that is given.
func judgeCascade(s Subject) wire.Report {
	expected, ok := s.contextText("expected_decision_id")
	if !ok {
		return unclear
	}
	_, report := s.plain().VerifyDecision(s.Artifact, expected)
	return report
}

// judgeTraversal judges whether input.target is still admissible under
// input.revocation among input.artifacts. A record that does not count revokes
// nothing; one that cannot be checked leaves the question open.
func judgeTraversal(s Subject) wire.Report {
	r := wire.Read(s.Artifact, "", ruleCase)
	record, target, among := r.Value("revocation"), r.Text("target"), readDependents(r)
	if err := r.Err(); err != nil {
		return wire.Report{wire.Find("read", false, err)}
	}
	reached, report := s.plain().Cascade(record, s.trusts, attest.IndexDependents(among))
	admissible := attest.CheckReached(reached, target, "/target")
	if report.Outcome() == wire.NotChecked {
		admissible = report.Err() // the question stays open
	}
	for i := range report {
		report[i].Optional = true
	}
	return append(report, wire.Find("admissible", false, admissible))
}

// readDependents reads artifacts, of which only ids and references are told.
func readDependents(r wire.Reader) []attest.Dependent {
	var list []attest.Dependent
	for _, e := range r.Objects("artifacts") {
		d := attest.Dependent{ID: e.Text("artifact_id")}
		if e.Has("references") {
			for _, l := range e.Objects("references") {
				d.Links = append(d.Links, attest.Link{ID: l.Text("id"), Type: l.OptText("type"), Relationship: l.OptText("relationship")})
			}
		}
		list = append(list, d)
	}
	return list
}
