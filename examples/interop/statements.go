package main

import (
	"fmt"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const offer = `{"offer_id": "off_3", "terms": {"place": {"value": "there"}, "price": {"currency": "EUR", "value": 350}}, "complete": true}`

// An approval and a denial of the offer on which the session "agreed" ends.
func approvals() []artifact {
	var list []artifact
	for _, decision := range []string{"approve", "deny"} {
		name := "approval-" + decision
		list = append(list, artifact{name: name, kind: "approval_receipt",
			input: must(issuer(authority, name).Approval(parse(`{"session_id": "ses_sample_agreed", "approver": {"role": "treasurer"}, "scope": {"decision": "` + decision + `",
				"amount": "350.00 EUR", "threshold_crossed": "over_300", "offer_hash": "` + parse(offer).Hash().String() + `"}}`))),
			context: wire.M{"offer": parse(offer), "session_urn": "urn:concordia:session:ses_sample_agreed"},
		})
	}
	return list
}

// What became of an agreement, as artifacts of their own.
func fulfillments(agreed attest.Draft) []artifact {
	var list []artifact
	for _, f := range []struct{ status, more string }{
		{"fulfilled_clean", ``},
		{"fulfilled_with_mediation", `, "meta": {"mediator_invoked": true, "resolver_did": "neighbour", "resolution_outcome": "partial", "resolution_timestamp": "2026-10-05T11:00:00Z"}`},
		{"failed", `, "charge_ref": "chg_1", "action_ref": "act_1"`},
		{"disputed_unresolved", `, "meta": {"fulfillment_evidence": ["urn:concordia:evidence:1"]}`},
	} {
		name := "fulfillment-" + f.status
		list = append(list, artifact{name: name, kind: "fulfillment",
			input: must(issuer(authority, name).Fulfillment(parse(`{"agreement_attestation_id": "` + agreed.ID + `", "fulfillment": {"status": "` + f.status + `",
				"settled_at": "2026-10-05T11:30:00Z"}` + f.more + `}`))),
			context: wire.M{"agreement_attestation_id": agreed.ID},
		})
	}
	return list
}

// revoke issues a revocation of an artifact of that type.
func revoke(name, kind, id, more string) wire.Value {
	return must(issuer(authority, name).Revocation(parse(fmt.Sprintf(
		`{"revoked_artifact_id": %q, "revoked_artifact_type": %q, "reason": "the key was lost"%s}`, id, kind, more))))
}

// A revocation of each type of artifact.
func revocations() []artifact {
	var list []artifact
	for _, kind := range []string{"mandate", "commitment", "approval_receipt", "predicate", "attestation", "chain_session"} {
		name := "revocation-" + kind
		list = append(list, artifact{name: name, kind: "revocation",
			input: revoke(name, kind, "urn:concordia:"+strings.ReplaceAll(kind, "_", "-")+":revoked", "")})
	}
	name := "revocation-cascading"
	return append(list, artifact{name: name, kind: "revocation", input: revoke(name, "mandate", "urn:concordia:mandate:revoked",
		`, "revocation_scope": "cascade_to_dependents", "cascade_depth": 2, "supersedes": "urn:concordia:revocation:older", "extensions": {"ticket": "T-7"}`)})
}

// What a revocation reaches and what it does not, and the denials that follow.
func cascades() []artifact {
	const root, near, far, beyond, apart = "urn:concordia:mandate:root", "urn:concordia:approval_receipt:near", "urn:concordia:attestation:far",
		"urn:concordia:predicate:beyond", "urn:concordia:predicate:apart"
	record := revoke("cascade", "mandate", root, `, "revocation_scope": "cascade_to_dependents", "cascade_depth": 2`)
	among := wire.M{"revocation": record, "artifacts": parse(`[
		{"artifact_id": "` + root + `", "artifact_type": "mandate", "references": []},
		{"artifact_id": "` + near + `", "artifact_type": "approval_receipt", "references": [{"id": "` + root + `", "type": "mandate", "relationship": "extends"}]},
		{"artifact_id": "` + far + `", "artifact_type": "attestation", "references": [{"id": "` + near + `", "type": "approval_receipt", "relationship": "fulfills"}]},
		{"artifact_id": "` + beyond + `", "artifact_type": "predicate", "references": [{"id": "` + far + `", "type": "attestation", "relationship": "extends"}]},
		{"artifact_id": "` + apart + `", "artifact_type": "predicate", "references": [{"id": "` + root + `", "type": "mandate", "relationship": "references"}]}]`)}
	var list []artifact
	for _, test := range []struct {
		name, target string
		reached      bool
	}{
		{"cascade-revoked", root, true}, {"cascade-two-steps-away", far, true},
		{"cascade-beyond-its-depth", beyond, false}, {"cascade-only-mentioned", apart, false},
	} {
		input := wire.M{"target": test.target}
		for name, v := range among {
			input[name] = v
		}
		v, err := wire.Encode(input)
		check(err)
		a := artifact{name: test.name, kind: "cascade_traversal", input: v, rejects: test.reached}
		if test.reached {
			a.why = "the revocation reaches it"
		}
		list = append(list, a)
	}
	f := issuer(authority, "cascade").Verifier()
	reached, report := f.Cascade(record, nil, attest.IndexDependents([]attest.Dependent{
		{ID: root, Issuer: authority},
		{ID: near, Links: []attest.Link{{ID: root, Type: "mandate", Relationship: "extends"}}},
		{ID: far, Links: []attest.Link{{ID: near, Type: "approval_receipt", Relationship: "fulfills"}}},
	}))
	check(report.Err())
	for step, draft := range attest.Denials(record, reached) {
		name := fmt.Sprintf("decision-%d-steps", step)
		draft = draft.With("request_digest", wire.Text(wire.HashOf("POST /orders").String())).
			With("boundary_id", wire.Text("gateway-1")).With("policy_version", wire.Text("2026-10"))
		list = append(list, artifact{name: name, kind: "cascade", input: must(issuer(authority, name).Decision(draft))})
	}
	return list
}

const (
	upTo500      = `{"type": "object", "properties": {"price": {"type": "number", "maximum": 500}, "category": {"enum": ["furniture.chairs", "furniture.tables"]}}, "required": ["price"]}`
	withRefs     = `{"type": "object", "properties": {"price": {"$ref": "#/$defs/amount"}}, "required": ["price"], "$defs": {"amount": {"type": "number", "maximum": 500}}}`
	manyKeywords = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Orders", "type": "object", "minProperties": 2, "maxProperties": 8, "required": ["price"],
		"propertyNames": {"pattern": "^[a-z]+$"}, "patternProperties": {"^note$": {"type": "string", "minLength": 1, "maxLength": 5}},
		"dependentRequired": {"parts": ["price"]}, "additionalProperties": false,
		"properties": {"price": {"type": "integer", "exclusiveMinimum": 0, "minimum": 1, "maximum": 500, "exclusiveMaximum": 501, "multipleOf": 50},
			"category": {"enum": ["furniture.chairs", "furniture.tables"]},
			"parts": {"type": "array", "minItems": 1, "maxItems": 4, "uniqueItems": true, "items": {"type": "string"}, "contains": {"const": "leg"}}},
		"allOf": [{"anyOf": [{"required": ["category"]}, {"required": ["parts"]}]}, {"not": {"required": ["secret"]}}, {"oneOf": [{"required": ["price"]}, {"required": ["gift"]}]}],
		"if": {"required": ["parts"]}, "then": {"required": ["category"]}, "else": true}`
	windowed = `{"mode": "windowed", "not_before": "2026-10-05T00:00:00Z", "not_after": "2026-11-05T00:00:00Z"}`
)

// Mandates of each mode, with a chain, and of an issuer on P-256.
func mandates() []artifact {
	mandate := func(who, name, validity, more string) wire.Value {
		return must(issuer(who, name).Mandate(parse(`{"subject": "` + agent + `", "validity": ` + validity + `, "constraints": ` + upTo500 + more + `}`)))
	}
	withConstraints := func(name, constraints string) wire.Value {
		return must(issuer(authority, name).Mandate(parse(`{"subject": "` + agent + `", "validity": ` + windowed + `, "constraints": ` + constraints + `}`)))
	}
	action := parse(`{"price": 350, "category": "furniture.chairs"}`)
	list := []artifact{
		{name: "mandate-windowed", kind: "mandate", input: mandate(authority, "mandate-windowed", windowed, ``), context: wire.M{"action": action}},
		{name: "mandate-sequence", kind: "mandate", input: mandate(authority, "mandate-sequence", `{"mode": "sequence", "sequence_key": "ses_sample_agreed"}`, ``),
			context: wire.M{"action": action, "sequence_key": "ses_sample_agreed"}},
		{name: "mandate-state_bound", kind: "mandate", input: mandate(authority, "mandate-state_bound", `{"mode": "state_bound", "state_condition": "warehouse_open"}`, ``),
			context: wire.M{"action": action, "state_active": true}},
		{name: "mandate-with-metadata", kind: "mandate", input: mandate(authority, "mandate-with-metadata", windowed, `, "metadata": {"purpose": "autumn order", "é": ["\u2028", 1e-7, 1e21]}`),
			context: wire.M{"action": action}},
		{name: "mandate-with-many-keywords", kind: "mandate", input: withConstraints("mandate-with-many-keywords", manyKeywords),
			context: wire.M{"action": parse(`{"price": 350, "category": "furniture.chairs", "parts": ["leg", "seat"], "note": "für 2"}`)}},
		{name: "mandate-with-refs", kind: "mandate", input: withConstraints("mandate-with-refs", withRefs), context: wire.M{"action": action}},
		{name: "mandate-es256", kind: "mandate", input: mandate(curve, "mandate-es256", windowed, ``), context: wire.M{"action": action}},
	}
	link := func(from, to, restriction string) wire.Value {
		var r wire.Value
		if restriction != "" {
			r = parse(restriction)
		}
		return must(issuer(from, "link").Link(wire.AgentID(to), r))
	}
	// The reference puts constraints and restrictions into one schema: only with an $id of
	// their own do references inside of them still lead to the same place.
	named := strings.Replace(withRefs, `{`, `{"$id": "urn:example:orders", `, 1)
	list = append(list, artifact{name: "mandate-restricted-with-refs", kind: "mandate", context: wire.M{"action": parse(`{"price": 350, "max_spend": 350}`)},
		input: must(issuer(authority, "mandate-restricted-with-refs").Delegate(withConstraints("mandate-restricted-with-refs", named), link(authority, agent, `{"max_spend": 400}`)))})
	for _, chain := range []struct {
		name   string
		action string
		links  []wire.Value
	}{
		{"mandate-delegated", `{"price": 350}`, []wire.Value{link(authority, agent, ""), link(agent, deputy, "")}},
		{"mandate-restricted-by-schema", `{"price": 350, "category": "furniture.chairs"}`, []wire.Value{
			link(authority, agent, `{"properties": {"category": {"const": "furniture.chairs"}}, "required": ["category"]}`),
			link(agent, deputy, `{"type": "object", "properties": {"price": {"maximum": 400}}}`)}},
		{"mandate-restricted-by-max_spend", `{"price": 350, "max_spend": 350}`, []wire.Value{link(authority, deputy, `{"max_spend": 400}`)}},
	} {
		list = append(list, artifact{name: chain.name, kind: "mandate",
			input:   must(issuer(authority, chain.name).Delegate(mandate(authority, chain.name, windowed, ``), chain.links...)),
			context: wire.M{"action": parse(chain.action)}})
	}
	return list
}

// A predicate of each registered type, with references, and of an issuer on P-256; and
// the CTEF claim that one is mapped to.
func predicates() []artifact {
	predicate := func(who, name, kind, condition, more string) wire.Value {
		return must(issuer(who, name).Predicate(parse(`{"type": "` + kind + `", "subject": "` + agent + `", "condition": ` + condition + `,
			"expires_at": "2026-12-05T00:00:00Z"` + more + `}`)))
	}
	var list []artifact
	for _, p := range []struct{ kind, condition string }{
		{"authority_gate", `{"result": "satisfied"}`},
		{"approval_gate", `{"result": "denied"}`},
		{"jcs_edge", `{"result": "satisfied", "\ue000": 1e30, "\ud83d\ude00": 0.000001}`},
		{"policy_gate", `{"result": "satisfied", "all": ["budget", "hours"], "any": []}`},
		{"procurement_eligibility", `{"result": "satisfied", "operation": "purchase", "limit": {"amount": 500, "currency": "EUR"}}`},
		{"non_deterministic_test", `{"asks": "a person"}`},
	} {
		name := "predicate-" + p.kind
		list = append(list, artifact{name: name, kind: "predicate", input: predicate(authority, name, p.kind, p.condition, "")})
	}
	const references = `, "references": [{"id": "urn:concordia:mandate:1", "type": "mandate", "relationship": "extends", "version": "1.0", "signed_at": "2026-10-05T10:00:00Z",
		"signer_did": "` + authority + `"}], "metadata": {"expected_subject": "` + agent + `"}, "constraints": {"price": {"max": 500}},
		"validity": {"mode": "windowed", "not_before": "2026-10-05T00:00:00Z", "not_after": "2026-12-05T00:00:00Z"}`
	claimed := predicate(authority, "ctef", "authority_gate", `{"result": "satisfied"}`, "")
	p, report := issuer(authority, "ctef").Verifier().VerifyPredicate(claimed)
	check(report.Err())
	return append(list,
		artifact{name: "predicate-with-references", kind: "predicate", input: predicate(authority, "predicate-with-references", "authority_gate", `{"result": "satisfied"}`, references)},
		artifact{name: "predicate-es256", kind: "predicate", input: predicate(curve, "predicate-es256", "authority_gate", `{"result": "satisfied"}`, "")},
		artifact{name: "ctef", kind: "predicate", input: claimed, context: wire.M{"ctef": p.CTEF(judged)}},
	)
}

// A profile that says nothing, and one that says everything there is.
func profiles() []artifact {
	const full = `{"name": "Chairs & Co. – zweite Hand", "description": "Sells \"used\" chairs.",
		"capabilities": {"categories": ["furniture.chairs"], "offer_types": ["basic", "bundle"], "resolution_methods": ["split"], "max_concurrent_sessions": 8,
			"languages": ["de", "en"], "currencies": ["EUR"]},
		"negotiation_profile": {"style": "collaborative", "avg_rounds_to_agreement": 2.5, "agreement_rate": 0.75, "avg_session_duration_seconds": 90, "concession_pattern": "gradual"},
		"trust_signals": {"verascore_did": "did:web:score.example", "verascore_tier": "sovereign", "verascore_composite": 91, "sovereignty": {"L1": "local", "L2": "local", "L3": "shared", "L4": "local"},
			"concordia_sessions_completed": 12, "attestation_count": 11, "concordia_preferred": true,
			"reputation": [{"provider": "did:web:score.example", "subject_did": "` + agent + `", "tier": "gold", "composite": 88.5}, {"provider": "did:web:other.example"}]},
		"endpoints": {"negotiate": "https://agent.example/negotiate", "a2a_card": "https://agent.example/card", "mcp_manifest": "https://agent.example/mcp"},
		"location": {"regions": ["EU"], "jurisdictions": ["DE"]}, "ttl": 7200}`
	return []artifact{
		{name: "profile-empty", kind: "agent_profile", input: must(issuer(agent, "profile-empty").Profile(parse(`{}`)))},
		{name: "profile-full", kind: "agent_profile", input: must(issuer(agent, "profile-full").Profile(parse(full)))},
	}
}

// Any JSON, with what it takes to verify it.
func records() []artifact {
	const text = `{"anything": [1, 1e21, 1e-7, "é\u2028</x>", {"signature": "inside"}, null, true], "\ue000": 1, "\ud83d\ude00": 2}`
	var list []artifact
	for name, who := range map[string]string{"record": authority, "record-es256": curve} {
		list = append(list, artifact{name: name, kind: "record", input: must(issuer(who, name).Record(parse(text))), context: wire.M{"signer": who}})
	}
	return list
}
