package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// node is the id of the n-th artifact of a chain; the first is what is revoked.
func node(n int) string { return fmt.Sprintf("urn:concordia:mandate:%d", n) }

// an artifact is listed with its id and its references, each "relationship id".
func artifact(id string, references ...string) wire.M {
	links := []wire.M{}
	for _, r := range references {
		relationship, to, _ := strings.Cut(r, " ")
		links = append(links, wire.M{"id": to, "type": "mandate", "relationship": relationship})
	}
	return wire.M{"artifact_id": id, "references": links}
}

// traversal asks whether an artifact three steps from a revoked one is still
// admissible.
func traversal() specimen {
	// The record inside is signed, by whoever it says.
	sign := func(v wire.Value) wire.Value {
		record, ok := v.Get("revocation")
		if issuer, _ := record.Get("issuer_did"); ok && record.Kind() == wire.Object && issuer.Kind() == wire.String {
			v = v.With("revocation", signedBlock(issuer.Text())(record))
		}
		return v
	}
	keys := publicKeys(treasury, approver)
	s := specimen{
		kind: "cascade_traversal", record: "cascade_traversal", sign: sign, context: wire.M{"now": "2026-09-14T09:30:00Z", "public_keys": keys},
		value: sign(value(wire.M{
			"revocation": revokes(treasury, node(0)), "target": "urn:concordia:receipt:99",
			"artifacts": []wire.M{
				artifact(node(0)), artifact(node(1), "extends "+node(0)), artifact(node(2), "fulfills "+node(1)), artifact(node(3), "approves "+node(2)),
				artifact(node(4), "extends "+node(3)), artifact("urn:concordia:receipt:99"),
			},
		})),
	}
	record := signet{
		name: "record", what: "a revocation", rule: attest.RuleRevocationSignature, at: "/revocation/signature/value", signer: treasury, peer: approver,
		preimage: func(v wire.Value) wire.Value {
			r, _ := v.Get("revocation")
			return r.Without("signature")
		},
		other: set("/revocation/reason", `"another"`), tamper: set("/revocation/reason", `"another"`),
	}
	// A record that does not verify reaches nothing: each forgery is a sound question
	// whose answer is that the artifact is admissible.
	for _, f := range record.main() {
		s.faults = append(s.faults, fault{name: f.name, edit: set("/target", `"`+node(1)+`"`), after: f.after,
			why: "a record that its issuer did not sign so revokes nothing: else anybody withdraws anybody's artifacts"})
	}
	s.faults = append(s.faults, slices.Concat(reached(), depths(), shapes(), records())...)
	return s
}

const outlives = "what rests on something that was withdrawn is used as if nothing had happened"

// asks is a vector about one artifact of a list.
func asks(name, target string, reached bool, why string, edits ...func(wire.Value) wire.Value) fault {
	f := fault{name: name, edit: all(append(edits, set("/target", `"`+target+`"`))...), why: why}
	if reached {
		f.rule, f.breaks = attest.RuleRevoked, outlives
	}
	return f
}

func among(artifacts ...wire.M) func(wire.Value) wire.Value {
	return set("/artifacts", value(artifacts).Canonical())
}

func reached() []fault {
	list := []fault{
		asks("itself", node(0), true, "the revoked artifact is revoked"),
		asks("one-step", node(1), true, "what extends the revoked artifact falls with it"),
		asks("two-steps", node(2), true, "a cascade follows references of references"),
		asks("three-steps", node(3), true, "a cascade of depth three goes three steps"),
		asks("four-steps", node(4), false, "a cascade of depth three goes no fourth step"),
		asks("not-listed", "urn:concordia:mandate:77", false, "what nobody lists is not reached"),
		asks("itself-not-listed", node(0), true, "the revoked artifact is revoked, whether or not it is listed", among(artifact(node(1), "extends "+node(0)))),
		asks("itself-alone", node(0), true, "a record that does not cascade revokes the artifact itself", set("/revocation/revocation_scope", `"single_artifact"`)),
		asks("dependent-alone", node(1), false, "a record that does not cascade leaves dependents alone", set("/revocation/revocation_scope", `"single_artifact"`)),
		asks("itself-at-depth-zero", node(0), true, "a cascade of no steps revokes the artifact itself", set("/revocation/cascade_depth", `0`)),
		asks("dependent-at-depth-zero", node(1), false, "a cascade of no steps reaches no dependent", set("/revocation/cascade_depth", `0`)),
		asks("of-a-prefix", node(0)+"0", false, "ids are compared whole"),
		asks("in-capitals", "urn:concordia:MANDATE:1", false, "ids are compared with their case"),
	}
	for _, relationship := range []string{"fulfills", "extends", "approves", "revokes"} {
		for _, first := range []string{"fulfills", "approves", "revokes"} {
			list = append(list, asks("by-"+first+"-and-"+relationship, node(2), true, "the four relationships are followed in any order", among(artifact(node(0)), artifact(node(1), first+" "+node(0)), artifact(node(2), relationship+" "+node(1)))))
		}
		list = append(list,
			asks("by-"+relationship, node(1), true, "an artifact depends on what it "+relationship, among(artifact(node(0)), artifact(node(1), relationship+" "+node(0)))),
			asks("by-"+relationship+"-at-a-distance", node(2), true, "each of the four relationships is followed on the way, too",
				among(artifact(node(0)), artifact(node(1), "extends "+node(0)), artifact(node(2), relationship+" "+node(1)))))
	}
	for _, relationship := range []string{"references", "supersedes", "Extends", "depends_on"} {
		list = append(list,
			asks("not-by-"+strings.ReplaceAll(strings.ToLower(relationship), "_", "-"), node(1), false, "only fulfills, extends, approves and revokes, so spelled, carry a revocation", among(artifact(node(0)), artifact(node(1), relationship+" "+node(0)))),
			asks("interrupted-by-"+strings.ReplaceAll(strings.ToLower(relationship), "_", "-"), node(2), false, "one weak reference on the way ends it",
				among(artifact(node(0)), artifact(node(1), relationship+" "+node(0)), artifact(node(2), "extends "+node(1)))))
	}
	return list
}

// chain is a list of n+1 artifacts, each extending the one before.
func chain(n int) []wire.M {
	list := []wire.M{artifact(node(0))}
	for i := 1; i <= n; i++ {
		list = append(list, artifact(node(i), "extends "+node(i-1)))
	}
	return list
}

func depths() []fault {
	var list []fault
	for depth := 1; depth <= 8; depth++ {
		put := set("/revocation/cascade_depth", fmt.Sprint(depth))
		list = append(list,
			asks(fmt.Sprintf("depth-%d-reached", depth), node(depth), true, "the last step of a cascade counts", put, among(chain(9)...)),
			asks(fmt.Sprintf("depth-%d-beyond", depth), node(depth+1), false, "a cascade ends after its last step", put, among(chain(9)...)))
	}
	for at := range 8 {
		list = append(list, asks(fmt.Sprintf("depth-8-step-%d", at), node(at), true, "all on the way is reached, not its end alone", set("/revocation/cascade_depth", `8`), among(chain(9)...)))
	}
	return list
}

// shapes are graphs in which a careless walk gets lost.
func shapes() []fault {
	long := []wire.M{artifact(node(0))}
	// Twelve layers of two artifacts that each depend on both of the layer before:
	// who walks every path walks thousands.
	for layer := range 12 {
		for side := range 2 {
			id := fmt.Sprintf("urn:concordia:mandate:l%d-%d", layer, side)
			if layer == 0 {
				long = append(long, artifact(id, "extends "+node(0)))
				continue
			}
			long = append(long, artifact(id, fmt.Sprintf("extends urn:concordia:mandate:l%d-0", layer-1), fmt.Sprintf("extends urn:concordia:mandate:l%d-1", layer-1)))
		}
	}
	two := set("/revocation/cascade_depth", `2`)
	eight := set("/revocation/cascade_depth", `8`)
	backwards := chain(3)
	slices.Reverse(backwards)
	return []fault{
		asks("cycle", node(2), true, "a cycle of references ends, and its artifacts are reached",
			among(artifact(node(0), "extends "+node(2)), artifact(node(1), "extends "+node(0)), artifact(node(2), "extends "+node(1)))),
		asks("cycle-beside", "urn:concordia:mandate:7", false, "a cycle that does not touch what is revoked is left alone",
			among(artifact(node(0)), artifact("urn:concordia:mandate:7", "extends urn:concordia:mandate:8"), artifact("urn:concordia:mandate:8", "extends urn:concordia:mandate:7"))),
		asks("depends-on-itself", node(1), true, "an artifact that refers to itself is reached by its other reference", among(artifact(node(0)), artifact(node(1), "extends "+node(1), "extends "+node(0)))),
		asks("shortest-way", node(3), true, "the shortest way counts, whichever is listed first", two,
			among(append(chain(2), artifact(node(3), "extends "+node(2), "extends "+node(1)))...)),
		asks("shortest-way-on", node(4), true, "what is reached by a shorter way goes on from there: a walk that marks an artifact on a longer way stops too early", set("/revocation/cascade_depth", `3`),
			among(append(chain(2), artifact(node(3), "extends "+node(2), "extends "+node(1)), artifact(node(4), "extends "+node(3)))...)),
		asks("listed-backwards", node(3), true, "the order of the list does not matter", among(backwards...)),
		asks("listed-twice", node(1), true, "of an artifact that is listed twice the references of both count", among(artifact(node(0)), artifact(node(1)), artifact(node(1), "extends "+node(0)))),
		asks("listed-twice-first", node(1), true, "of an artifact that is listed twice the references of both count", among(artifact(node(0)), artifact(node(1), "extends "+node(0)), artifact(node(1)))),
		asks("second-reference", node(1), true, "every reference of an artifact counts", among(artifact(node(0)), artifact(node(1), "references urn:x", "supersedes urn:y", "fulfills "+node(0)))),
		asks("through-one-not-listed", node(2), false, "of an artifact that nobody lists no references are known", among(artifact(node(0)), artifact(node(2), "extends "+node(1)))),
		asks("forwards", node(1), false, "a revocation reaches what depends on the artifact, not what the artifact depends on", among(artifact(node(0), "extends "+node(1)), artifact(node(1)))),
		asks("ladder-reached", "urn:concordia:mandate:l7-1", true, "the eighth layer of a ladder is eight steps away, however many paths lead there", eight, among(long...)),
		asks("ladder-beyond", "urn:concordia:mandate:l8-0", false, "the ninth layer of a ladder is beyond, however many paths lead there", eight, among(long...)),
		asks("without-references", node(1), false, "an artifact may have no references at all", among(wire.M{"artifact_id": node(1)})),
		asks("none", "urn:concordia:receipt:99", false, "a list may be empty", among([]wire.M{}...)),
	}
}

// records are those that count and those that do not.
func records() []fault {
	list := []fault{
		asks("in-force-now", node(1), true, "a record is in force from effective_at on, that instant included", set("/revocation/effective_at", `"2026-09-14T09:30:00Z"`)),
		asks("in-force-now-to-the-east", node(1), true, "the same instant with an offset", set("/revocation/effective_at", `"2026-09-14T15:00:00+05:30"`)),
		asks("in-force-long-since", node(1), true, "a revocation does not get old", set("/revocation/effective_at", `"2020-01-01T00:00:00Z"`)),
		asks("in-force-in-a-second", node(1), false, "nothing is revoked before effective_at", set("/revocation/effective_at", `"2026-09-14T09:30:01Z"`)),
		asks("in-force-in-a-nanosecond", node(1), false, "a fraction of a second counts", set("/revocation/effective_at", `"2026-09-14T09:30:00.000000001Z"`)),
		asks("in-force-soon-to-the-west", node(1), false, "what counts is the instant and not its text", set("/revocation/effective_at", `"2026-09-14T01:30:01-08:00"`)),
		asks("in-force-next-year", node(0), false, "nothing is revoked before effective_at, not even the artifact itself", set("/revocation/effective_at", `"2027-01-01T00:00:00Z"`)),
		asks("issued-in-the-future", node(1), false, "a record from the future does not verify", set("/revocation/issued_at", `"2026-09-14T09:32:01Z"`)),
		asks("issued-within-the-skew", node(1), true, "clocks differ by up to 120 seconds", set("/revocation/issued_at", `"2026-09-14T09:32:00Z"`)),
		asks("by-another-revoker", node(1), true, "whoever has a key in the case may revoke", set("/revocation/issuer_did", `"`+approver+`"`)),
		asks("misshapen", node(1), false, "a record that has not the shape of one revokes nothing", set("/revocation/cascade_depth", `9`)),
		asks("with-another-member", node(1), false, "a record that has not the shape of one revokes nothing", set("/revocation/note", `"x"`)),
		asks("of-another-target", node(1), false, "a record whose reference points elsewhere revokes nothing", set("/revocation/references/0/id", `"urn:concordia:mandate:55"`)),
		asks("that-mentions", node(1), false, "a record that merely mentions an artifact does not revoke it", set("/revocation/references/0/relationship", `"references"`)),
		asks("of-something-else", node(1), false, "a revocation is of one artifact", set("/revocation/revoked_artifact_id", `"urn:concordia:mandate:55"`), set("/revocation/references/0/id", `"urn:concordia:mandate:55"`)),
	}
	for _, target := range []string{node(1), "urn:concordia:receipt:99"} {
		name := map[bool]string{true: "by-somebody-unknown", false: "by-somebody-unknown-elsewhere"}[target == node(1)]
		f := asks(name, target, false, "whether a record of somebody whose key is not known counts is an open question, and an open question is no admission", set("/revocation/issuer_did", `"did:web:nobody.example"`))
		f.rule, f.breaks = wire.RuleUnknownKey, "a revocation is ignored because its issuer's key was not fetched"
		list = append(list, f)
	}
	return list
}
