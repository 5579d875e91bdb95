package main

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const profileText = `{"type":"concordia.agent_profile","version":"1.0","agent_id":"did:web:vintner.example","name":"Vintner","description":"Wine by the barrel",
	"capabilities":{"categories":["beverages.wine","goods.barrels"],"offer_types":["basic","bundle"],"resolution_methods":["split"],"max_concurrent_sessions":4,"languages":["de","fr"],"currencies":["EUR"]},
	"negotiation_profile":{"style":"patient","avg_rounds_to_agreement":3.5,"agreement_rate":0.75,"avg_session_duration_seconds":420,"concession_pattern":"graduated"},
	"trust_signals":{"verascore_did":"did:web:scores.example","verascore_tier":"gold","verascore_composite":88.5,"sovereignty":{"L1":"full","L2":"partial","L3":"full","L4":"none"},
		"concordia_sessions_completed":12,"attestation_count":9,"concordia_preferred":true,
		"reputation":[{"provider":"scores.example","subject_did":"did:web:vintner.example","tier":"gold","composite":88.5}]},
	"endpoints":{"negotiate":"https://vintner.example/n","a2a_card":"https://vintner.example/card","mcp_manifest":"https://vintner.example/mcp"},
	"location":{"regions":["eu-west"],"jurisdictions":["FR"]},"ttl":3600,"updated_at":"2026-09-14T09:00:00Z","signature":"","verified":false}`

// signedMembers are the members of a profile that its agent signs, in the order in
// which the contract names them.
var signedMembers = []string{
	"type", "version", "agent_id", "name", "description", "capabilities", "negotiation_profile", "trust_signals",
	"endpoints", "location", "ttl", "updated_at",
}

// ofAgent is what the agent signs of the profiles here: those with members in open
// places, or with nulls, are signed before these are put in.
func ofAgent(v wire.Value) wire.Value { return v.Without("signature").Without("verified") }

func signProfile(v wire.Value) wire.Value {
	if text, _ := v.Get("signature"); text.Kind() != wire.String {
		return v
	}
	return v.With("signature", signature(ofAgent(v), vintner))
}

func agentProfile() specimen {
	v := signProfile(parse(profileText))
	s := sweep{what: "a profile", rule: attest.RuleProfile, shared: true}
	values := sweep{what: "a profile", rule: attest.RuleProfileValues}
	const forged = "whoever stores a profile adds what the agent never said"
	open := func(name, pointer, text, why string) fault {
		return fault{name: name, shared: true, after: set(pointer, text), why: why}
	}
	p := specimen{
		kind: "agent_profile", record: "agent_profile", value: v, sign: signProfile,
		context:  wire.M{"now": now, "public_keys": publicKeys(vintner)},
		contract: "agent-profile-v1",
		contractContext: func(wire.Value) wire.M {
			return wire.M{"public_key_b64url": key(vintner).Public(), "canonical_fields": signedMembers}
		},
		faults: []fault{
			open("verified-by-somebody", "/verified", `true`, "verified is a note of whoever stores the profile: nobody signs it"),
			{name: "not-verified", shared: true, after: drop("/verified"), why: "verified is optional"},
			open("open-trust", "/trust_signals/other_score", `7`, "trust_signals is open, and what the table does not name there is not signed"),
			open("open-reputation", "/trust_signals/reputation/0/asof", `"2026"`, "entries of reputation are open, and what the table does not name there is not signed"),
			{name: "null-endpoint", shared: true, edit: drop("/endpoints/a2a_card"), after: set("/endpoints/a2a_card", `null`), why: "a null endpoint is signed as one that is not there"},
			{name: "null-trust", shared: true, edit: drop("/trust_signals/verascore_tier"), after: set("/trust_signals/verascore_tier", `null`), why: "a null trust signal is signed as one that is not there"},
			{name: "bare", shared: true, edit: all(set("/capabilities", `{}`), set("/negotiation_profile", `{}`), set("/trust_signals", `{}`), set("/endpoints", `{}`), set("/location", `{}`)), why: "the members of the parts are optional"},
			{name: "in-unicode", shared: true, edit: set("/description", `"Wein vom Faß \ud83c\udf77\u2028"`), why: "text of any script is signed as it is"},
			{name: "ttl-zero", edit: set("/ttl", `0`), why: "a ttl of 0 is one, and says to ask again at once"},
			{name: "ttl-passed-and-required", rule: attest.RuleProfileTTL, edit: set("/updated_at", `"2026-01-01T00:00:00Z"`), context: wire.M{"require": []string{"ttl"}},
				why: "a verifier may want a profile that its agent still stands by", breaks: "an agent is called where it no longer is, for what it no longer does"},
			{name: "ttl-passed", edit: set("/updated_at", `"2026-01-01T00:00:00Z"`), why: "when the ttl has passed the agent is to be asked again; the verdict does not depend on it"},
			{name: "never-negotiated", shared: true, edit: set("/negotiation_profile/agreement_rate", `0`), why: "a share may be 0"},
			{name: "always-agreed", shared: true, edit: set("/negotiation_profile/agreement_rate", `1`), why: "a share may be 1"},
			{name: "added-name", rule: attest.RuleProfile, shared: true, after: set("/endorsed_by", `"did:web:authority.example"`), why: "a profile is closed: what nobody signed has no place in it", breaks: forged},
			{name: "added-capability", rule: attest.RuleProfile, shared: true, after: set("/capabilities/guarantees", `true`), why: "capabilities are closed: what nobody signed has no place there", breaks: forged},
			{name: "added-endpoint", rule: attest.RuleProfile, shared: true, after: set("/endpoints/pay", `"https://mallory.example"`), why: "endpoints are closed: what nobody signed has no place there", breaks: "money goes to an address that the agent never gave"},
			{name: "added-location", rule: attest.RuleProfile, shared: true, after: set("/location/offices", `["PA"]`), why: "location is closed: what nobody signed has no place there", breaks: forged},
			{name: "added-level", rule: attest.RuleProfile, shared: true, edit: set("/trust_signals/sovereignty/L5", `"full"`), why: "there are four levels", breaks: "a level that means nothing is shown as the highest"},
			{name: "reputation-by-nobody", rule: attest.RuleProfile, shared: true, edit: drop("/trust_signals/reputation/0/provider"), why: "a reputation is somebody's", breaks: "a reputation that nobody gave is shown"},
			{name: "null-in-place", rule: attest.RuleProfileSignature, shared: true, after: set("/trust_signals/sovereignty", `null`), why: "what the agent signed is not taken away by a null in its place", breaks: "whoever stores a profile takes away what the agent said"},
			{name: "endpoint-taken-away", rule: attest.RuleProfileSignature, shared: true, after: drop("/endpoints/negotiate"), why: "nothing is filled in for what is missing", breaks: "whoever stores a profile takes away where the agent is reached"},
			{name: "endpoint-of-mallory", rule: attest.RuleProfileSignature, shared: true, after: set("/endpoints/negotiate", `"https://mallory.example/n"`), why: "the endpoints are the agent's word", breaks: "everybody negotiates with another agent"},
			{name: "reputation-of-mallory", rule: attest.RuleProfileSignature, shared: true, after: set("/trust_signals/reputation/-", `{"provider":"mallory.example"}`), why: "the list of reputations is the agent's word", breaks: forged},
			{name: "signed-whole", rule: attest.RuleProfileSignature, shared: true, after: func(v wire.Value) wire.Value { return v.With("signature", signature(withoutSignature(v), vintner)) },
				why: "verified is not signed", breaks: "two implementations sign different bytes and refuse each other"},
			{name: "rate-above-one", rule: attest.RuleProfileValues, edit: set("/negotiation_profile/agreement_rate", `1.01`), why: "a share is at most 1", breaks: "a share that no history can have ranks first"},
			{name: "rate-negative", rule: attest.RuleProfileValues, edit: set("/negotiation_profile/agreement_rate", `-0.5`), why: "a share is not negative", breaks: "a share that no history can have is reckoned with"},
			{name: "other-type", rule: attest.RuleProfileValues, edit: set("/type", `"concordia.mandate"`), why: "the type says what was signed", breaks: "what was signed as something else is shown as a profile"},
			{name: "type-in-capitals", rule: attest.RuleProfileValues, edit: set("/type", `"Concordia.agent_profile"`), why: "the type is compared as it is spelled", breaks: "what was signed as something else is shown as a profile"},
			{name: "next-version", rule: attest.RuleProfileValues, edit: set("/version", `"2.0"`), why: "the next version may mean something else", breaks: "members are read by rules that they were not written by"},
			{name: "version-with-zeros", rule: attest.RuleProfileValues, edit: set("/version", `"1.00"`), why: "a version has one spelling", breaks: "readers that compare numbers, and readers that compare texts, disagree"},
			{name: "two-words", rule: attest.RuleProfile, edit: set("/agent_id", `"did:web:vintner.example x"`), why: "an id has no white space", breaks: "two ids that look alike are two"},
		},
	}
	dropped := s.without("/type", "/version", "/agent_id", "/name", "/description", "/capabilities", "/negotiation_profile", "/trust_signals", "/endpoints", "/location", "/ttl", "/updated_at")
	for _, list := range [][]fault{
		dropped,
		s.mistyped("/capabilities", `[]`, "/negotiation_profile", `"patient"`, "/trust_signals", `[]`, "/trust_signals/reputation", `{}`, "/endpoints", `[]`, "/location", `"eu"`),
		sweep{what: "a profile", rule: attest.RuleProfile}.mistyped("/name", `7`, "/description", `null`, "/ttl", `-1`, "/updated_at", `1789376400`, "/capabilities/categories", `"beverages.wine"`,
			"/capabilities/languages/0", `7`, "/capabilities/max_concurrent_sessions", `1.5`, "/negotiation_profile/avg_rounds_to_agreement", `-1`, "/negotiation_profile/style", `null`,
			"/trust_signals/concordia_preferred", `"yes"`, "/trust_signals/attestation_count", `-9`, "/endpoints/negotiate", `["https://vintner.example/n"]`, "/location/regions", `{}`, "/verified", `"no"`),
		s.recased("/name", "/ttl"), values.misdated("/updated_at"),
		seal{at: "/signature", who: vintner, what: "a profile", signs: ofAgent, rule: attest.RuleProfileSignature, known: publicKeys(vintner),
			theirs: func(k string) wire.M { return wire.M{"public_key_b64url": k} },
		}.forged(v, "/name", `"Vintner & Sons"`, "/ttl", `360000`, "/updated_at", `"2026-09-14T09:29:00Z"`, "/capabilities/currencies/0", `"USD"`, "/negotiation_profile/agreement_rate", `1`,
			"/trust_signals/attestation_count", `900`, "/location/jurisdictions/0", `"PA"`),
		late(bound{name: "updated-at", rule: attest.RuleNotYet, limit: "2026-09-14T09:32:00Z", beyond: 1, put: edits("/updated_at"),
			why: "a profile is not of the future, but for the skew of 120 seconds", breaks: "a profile of next year replaces each that comes before, and cannot be corrected"}),
		late(bound{name: "clock", rule: attest.RuleNotYet, limit: "2026-09-14T08:58:00Z", beyond: -1, put: byClock,
			why: "a profile is not of the future, but for the skew of 120 seconds", breaks: "a profile of next year replaces each that comes before, and cannot be corrected"}),
	} {
		p.faults = append(p.faults, list...)
	}
	return p
}
