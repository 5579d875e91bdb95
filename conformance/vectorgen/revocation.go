package main

import (
	"slices"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// revokes is an unsigned record by which who revokes the artifact of that id and
// what depends on it.
func revokes(who, id string) wire.Value {
	kind := map[bool]string{true: "mandate", false: "approval_receipt"}[strings.Contains(id, ":mandate:")]
	return value(wire.M{
		"revocation_id": "urn:concordia:revocation:7", "revoked_artifact_id": id, "revoked_artifact_type": kind,
		"revocation_scope": "cascade_to_dependents", "issuer_did": who, "issued_at": "2026-09-14T09:10:00Z", "effective_at": "2026-09-14T09:15:00Z",
		"reason": "the key was lost", "cascade_depth": 3, "references": []wire.M{{"id": id, "type": kind, "relationship": "revokes"}},
		"signature": wire.M{"alg": "EdDSA", "value": ""},
	})
}

// capitals writes hexadecimal digits as capitals.
func capitals(hex string) string { return strings.ToUpper(hex) }

// revocation is a record by itself; whether it counts against something is for the
// vectors of what it revokes.
func revocation() specimen {
	sign := signedBlock(treasury)
	keys := publicKeys(treasury, approver)
	s := specimen{
		kind: "revocation", record: "revocation_record", sign: sign,
		value: sign(revokes(treasury, approvedMandate).With("supersedes", value("urn:concordia:revocation:6")).
			With("extensions", parse(`{"ticket":"T-12"}`))),
		context:  wire.M{"now": "2026-09-14T09:30:00Z", "public_keys": keys},
		contract: "revocation-v1",
		contractContext: func(wire.Value) wire.M {
			return wire.M{"public_keys_b64url": wire.M{"issuer": key(treasury).Public()}}
		},
	}
	signet := signet{
		name: "signature", what: "a revocation", rule: attest.RuleRevocationSignature, at: "/signature/value", signer: treasury, peer: approver,
		preimage: func(v wire.Value) wire.Value { return v.Without("signature") },
		other:    set("/revocation_id", `"urn:concordia:revocation:8"`), tamper: set("/cascade_depth", `8`), shared: true,
	}
	future := limit{name: "future", rule: attest.RuleNotYet, edge: day("09:32:00"), later: true, put: stamp("/issued_at"),
		why: "a record is not issued later than now, but for a skew of 120 seconds", breaks: "records are made in advance and kept to be dated when it suits"}
	s.faults = slices.Concat(revocationMeaning(), signet.forgeries(), signet.keys(treasury, keys), revocationShape(s.value), future.instants())
	return s
}

func revocationMeaning() []fault {
	const stray = "a record that was meant for one artifact is counted against another"
	target := func(name, id, why string) fault {
		return fault{name: name, rule: attest.RuleRevocationTarget, shared: true, edit: set("/references/0/id", wire.Text(id).Canonical()), why: why, breaks: stray}
	}
	return []fault{
		{name: "single-artifact", shared: true, edit: set("/revocation_scope", `"single_artifact"`), why: "a record may leave dependents alone"},
		{name: "depth-zero", shared: true, edit: set("/cascade_depth", `0`), why: "a cascade may go no step"},
		{name: "depth-eight", shared: true, edit: set("/cascade_depth", `8`), why: "a cascade may go eight steps"},
		{name: "without-supersedes", shared: true, edit: drop("/supersedes"), why: "a first record replaces none"},
		{name: "without-extensions", shared: true, edit: drop("/extensions"), why: "extensions may be left out"},
		{name: "old", shared: true, edit: all(set("/issued_at", `"2020-01-01T00:00:00Z"`), set("/effective_at", `"2020-01-01T00:00:00Z"`)), why: "a revocation does not get old: what was withdrawn stays withdrawn"},
		{name: "effective-later", shared: true, edit: set("/effective_at", `"2027-01-01T00:00:00Z"`), why: "a record may announce when something ends; it is sound before"},
		{name: "effective-earlier", shared: true, edit: set("/effective_at", `"2025-01-01T00:00:00Z"`), why: "what should never have stood may be revoked from its beginning"},
		{name: "second-reference", shared: true, edit: set("/references/-", `{"id":"urn:concordia:receipt:1","type":"receipt","relationship":"references"}`), why: "a record may mention other artifacts"},
		{name: "target-is-second", shared: true, edit: all(set("/references/-", `{"id":"`+approvedMandate+`","type":"mandate","relationship":"revokes"}`), set("/references/0/id", `"urn:concordia:mandate:6"`)),
			why: "one of the references is to what is revoked"},
		target("other-target", "urn:concordia:mandate:8", "what is revoked is what the reference points at"),
		target("target-of-a-prefix", approvedMandate+"7", "ids are compared whole"),
		target("target-in-capitals", "urn:concordia:MANDATE:7", "ids are compared with their case"),
		{name: "target-only-mentioned", rule: attest.RuleRevocationTarget, shared: true,
			edit: all(set("/references/0/id", `"urn:concordia:mandate:8"`), set("/references/-", `{"id":"`+approvedMandate+`","type":"mandate","relationship":"references"}`)),
			why:  "one reference has both, the relationship and the id", breaks: stray},
		{name: "other-artifact", rule: attest.RuleRevocationTarget, shared: true, edit: set("/revoked_artifact_id", `"urn:concordia:mandate:8"`),
			why: "what is revoked is what the reference points at", breaks: stray},
		{name: "no-revokes-reference", rule: attest.RuleRevokesReference, shared: true, edit: set("/references/0/relationship", `"references"`),
			why: "a record refers to what it revokes", breaks: "a reader that follows references does not find what is revoked"},
		{name: "revokes-capitalized", rule: attest.RuleRevokesReference, shared: true, edit: set("/references/0/relationship", `"Revokes"`),
			why: "a relationship has one spelling", breaks: "a reader that follows references does not find what is revoked"},
	}
}

func revocationShape(sound wire.Value) []fault {
	s := shape{rule: attest.RuleRevocation, sound: sound, shared: true}
	required := []member{
		{"/revocation_id", "which record it is"}, {"/revoked_artifact_id", "what is revoked"},
		{"/revoked_artifact_type", "the kind of what is revoked"}, {"/revocation_scope", "whether dependents fall too"},
		{"/issuer_did", "who revokes"}, {"/issued_at", "when it was issued"}, {"/effective_at", "from when on it is in force"},
		{"/reason", "why it was revoked"}, {"/cascade_depth", "how far it reaches"}, {"/references", "what it belongs to"},
		{"/references/0/id", "what is referred to"}, {"/references/0/type", "the kind of what is referred to"}, {"/references/0/relationship", "how the artifacts are related"},
		{"/signature", "that anybody signed"}, {"/signature/alg", "how it was signed"}, {"/signature/value", "that anybody signed"},
	}
	const unread = "a reader that knows no such value takes the record for one that does not concern it"
	list := slices.Concat(
		s.omitted(required...), s.mistyped(append(required, member{"/supersedes", "what it replaces"}, member{"/extensions", "what is told besides"})...),
		s.nulled(required[3], required[8]), s.recased(required[3], required[8]),
		s.added("", "/signature"), s.mistimed(required[5], day("09:00:00"))[:3], s.mistimed(required[6], day("09:00:00"))[:8],
		[]fault{
			s.other("/revocation_id", "no-urn", `"revocation-7"`, "the id of a record is a URN of its own space", unread),
			s.other("/revoked_artifact_id", "other-space", `"urn:example:mandate:7"`, "what can be revoked is in one of five URN spaces", unread),
			s.other("/revoked_artifact_type", "other", `"receipt"`, "six kinds of artifact can be revoked", unread),
			s.other("/revocation_scope", "other", `"all"`, "there are two scopes", "one reader takes it for a cascade and the other does not"),
			s.other("/reason", "empty", `""`, "a record says why", "nobody can tell a mistake from a theft"),
			s.other("/cascade_depth", "nine", `9`, "a cascade goes at most eight steps", "one hostile record makes readers walk all they have"),
			s.other("/cascade_depth", "negative", `-1`, "a number of steps is not negative", "a loop that counts down to zero does not end"),
			s.other("/cascade_depth", "fraction", `2.5`, "a number of steps is whole", "one reader rounds up and the other down"),
			s.other("/cascade_depth", "boolean", `true`, "a boolean is no number, although some languages convert it", "one reader goes one step and the other none"),
			s.other("/references", "none", `[]`, "a record refers to what it revokes", "a reader that follows references does not find what is revoked"),
			s.other("/references/0/signed_at", "no-time", `"soon"`, "what is known is well-formed, even where it is optional", "readers disagree on the record"),
			s.other("/signature/alg", "other-label", `"Ed25519"`, "in this kind of artifact the label is EdDSA", "a label that one reader looks up and the other ignores"),
			s.other("/signature/alg", "none", `"none"`, "the algorithm is not for the artifact to choose", "a library that knows none verifies without a key"),
			s.other("/signature/value", "empty", `""`, "an empty signature is none", "an unsigned draft revokes"),
			s.other("/supersedes", "no-urn", `"revocation-6"`, "what is replaced is a record, by its URN", unread),
			s.fine("/extensions", "open", `{"anything":[1,{"goes":null}]}`, "extensions are kept and signed"),
			s.fine("/references/0/note", "open", `"kept"`, "references of this kind are open"),
		},
	)
	undid := s.other("/issuer_did", "no-did", `"treasury.example"`, "an issuer is a DID, which says where its key is", unread)
	undid.context = wire.M{"public_keys": wire.M{"treasury.example": key(treasury).Public()}}
	list = append(list, undid)
	// The published schema lets an id of any characters pass.
	spaced := s.other("/issuer_did", "with-space", `"did:web:treasury. example"`, "an id has no white space", "two ids that a person cannot tell apart are two agents")
	spaced.shared = false
	list = append(list, spaced)
	for _, kind := range []string{"mandate", "commitment", "approval_receipt", "predicate", "attestation", "chain_session"} {
		list = append(list, s.fine("/revoked_artifact_type", "is-"+strings.ReplaceAll(kind, "_", "-"), `"`+kind+`"`, "this kind of artifact can be revoked"))
	}
	for _, space := range []string{"a2cn", "ap2", "x402", "erc8004"} {
		id := `"urn:` + space + `:mandate:7"`
		list = append(list, fault{name: "artifact-of-" + space, edit: all(set("/revoked_artifact_id", id), set("/references/0/id", id)),
			why: "an artifact of the protocol " + space + " can be revoked"})
	}
	return list
}
