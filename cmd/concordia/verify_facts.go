package main

import (
	"slices"
	"strings"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/wire"
)

// A kindOfFile says what a person should be told of an artifact beside whether it
// stands, and which flags mean something for it.
type kindOfFile struct {
	signer []string // path of the member that names who signed it
	facts  []fact
	flags  []string
}

// A fact is a member that is shown.
type fact struct {
	Name string
	path []string
}

func at(name, path string) fact { return fact{name, strings.Split(path, ".")} }

// kindsOfFile holds every kind that verify shows.
var kindsOfFile = map[string]kindOfFile{
	"approval_receipt": {
		[]string{"approver", "identity"},
		[]fact{at("decision", "scope.decision"), at("amount", "scope.amount"), at("expires", "expires_at")},
		[]string{"offer", "session", "revocations"},
	},
	"mandate": {
		[]string{"issuer"},
		[]fact{at("subject", "subject"), at("mode", "validity.mode"), at("until", "validity.not_after")},
		[]string{"action", "sequence-key", "state-active", "uses", "revocations"},
	},
	"predicate": {
		[]string{"issuer"},
		[]fact{at("type", "type"), at("subject", "subject"), at("result", "condition.result"), at("expires", "expires_at")},
		[]string{"revocations"},
	},
	"revocation": {
		[]string{"issuer_did"},
		[]fact{at("revokes", "revoked_artifact_id"), at("from", "effective_at"), at("scope", "revocation_scope")},
		nil,
	},
	"cascade": {[]string{"verifier"}, []fact{at("decision", "decision"), at("id", "decision_id")}, []string{"decision"}},
	"fulfillment": {
		[]string{"signature", "signer_did"},
		[]fact{at("agreement", "agreement_attestation_id"), at("status", "fulfillment.status")},
		[]string{"revocations"},
	},
	"receipt_bundle": {
		[]string{"agent_id"},
		[]fact{at("receipts", "summary.total_negotiations"), at("agreements", "summary.agreements")},
		nil,
	},
	"competence_proof": {
		[]string{"agent_id"},
		[]fact{at("claims", "claims.total_negotiations"), at("agreements", "claims.agreements")},
		[]string{"aggregate"},
	},
	"agent_profile":    {[]string{"agent_id"}, []fact{at("name", "name"), at("updated", "updated_at")}, nil},
	"reputation_query": {nil, []fact{at("subject", "subject_agent_id"), at("asks", "requester_agent_id")}, nil},
	"reputation_response": {
		[]string{"service_id"},
		[]fact{at("subject", "subject_agent_id"), at("score", "summary.overall_score"), at("confidence", "summary.confidence"), at("computed", "computed_at")},
		[]string{"query"},
	},
	"cosign": {[]string{"counterparty_did"}, []fact{at("session", "session_id"), at("status", "outcome.status")}, []string{"publisher"}},
	"envelope": {
		[]string{"provider", "kid"},
		[]fact{at("provider", "provider.did"), at("subject", "subject.did"), at("outcome", "payload.outcome"), at("expires", "expires_at")},
		nil,
	},
	"commitment": {
		[]string{"committer_did"},
		[]fact{at("session", "chain_session_id"), at("expires", "expires_at")},
		[]string{"chain-session", "revocations"},
	},
	"activation_proof":  {[]string{"issuer_did"}, []fact{at("session", "chain_session_id"), at("activated", "activated_at")}, []string{"chain-session"}},
	"unwind":            {[]string{"issuer_did"}, []fact{at("session", "chain_session_id"), at("reason", "dissolution_reason")}, []string{"chain-session"}},
	"closure_predicate": {[]string{"issuer"}, []fact{at("subject", "subject"), at("expires", "expires_at")}, []string{"chain-session", "revocations"}},
	"closure":           {nil, []fact{at("predicate", "predicate.predicate_id")}, []string{"revocations"}},
	"chain_session":     {nil, []fact{at("session", "chain_session_id"), at("state", "state")}, nil},
	"cascade_traversal": {nil, []fact{at("target", "target")}, nil},
	"record":            {nil, []fact{at("key", "verification_material.public_key_b64url")}, []string{"signer"}},
	"a2a_part":          {nil, nil, []string{"active-extension"}},
	"message":           {[]string{"from", "agent_id"}, []fact{at("type", "type"), at("session", "session_id")}, nil},
	"transcript":        {nil, nil, []string{"import"}},
	"mail":              {nil, []fact{at("session", "session_id"), at("initiator", "initiator")}, nil},
	"attestation": {
		nil,
		[]fact{at("session", "session_id"), at("status", "outcome.status"), at("issued", "timestamp")},
		[]string{"revocations"},
	},
}

// A told is a fact of one artifact. It says what stands there, verified or not: the
// checks say that.
type told struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// facts returns what an artifact says of itself that a person should see.
func facts(kind string, v wire.Value) []told {
	k := kindsOfFile[kind]
	var list []told
	add := func(name string, path []string) {
		if m, ok := v.At(path...); ok && m.Kind() != wire.Null {
			text := m.Text()
			if m.Kind() != wire.String {
				text = m.Canonical()
			}
			if len(text) > 300 {
				text = text[:300] + "..."
			}
			list = append(list, told{name, text})
		}
	}
	if k.signer != nil {
		add("by", k.signer)
	}
	for _, f := range k.facts {
		add(f.Name, f.path)
	}
	return list
}

// signedBy is the check of a person who knows who has to have signed.
func signedBy(kind string, v wire.Value, who string) wire.Finding {
	signer, _ := v.At(kindsOfFile[kind].signer...)
	var err error
	switch {
	case kindsOfFile[kind].signer == nil:
		err = &wire.Unchecked{Why: "no single agent signs this kind"}
	case !among([]string{who}, wire.AgentID(signer.Text())):
		err = errOtherSigner
	}
	return wire.Find("by", false, err)
}

// unusedFlags returns those of the given flags that mean nothing for any of the
// kinds.
func unusedFlags(given []string, kinds []string) []string {
	return slices.DeleteFunc(slices.Clone(given), func(flag string) bool {
		return slices.ContainsFunc(kinds, func(kind string) bool { return slices.Contains(kindsOfFile[kind].flags, flag) })
	})
}

// revoked verifies the revocation records that a person brought, in a file, in a store
// or in both, once for all artifacts. It returns a finding for each that does not
// verify: whatever that one revokes may be revoked.
func (o *verifyOptions) revoked(s *conformance.Subject) ([]wire.Finding, error) {
	if o.revocations == "" && o.store == "" {
		return nil, nil
	}
	var records []wire.Value
	if o.revocations != "" {
		v, err := readJSONInput(o.revocations)
		if err != nil {
			return nil, err
		}
		records = append(records, v)
		if v.Kind() == wire.Array {
			records = records[:0]
			for _, e := range v.Elems() {
				records = append(records, e)
			}
		}
	}
	var reports []wire.Report
	if o.store == "" {
		s.Revocations, reports = s.Verifier().ReadRevocations(records, o.revoker)
	} else {
		st, err := openStore(o.store, true)
		if err != nil {
			return nil, err
		}
		defer st.Close()
		if s.Revocations, reports, err = st.Revocations(s.Verifier(), o.revoker, records...); err != nil {
			return nil, err
		}
		o.lookedUp = len(reports) - len(records)
	}
	var list []wire.Finding
	for _, r := range reports {
		if err := r.Err(); err != nil {
			list = append(list, wire.Find("revocation-record", false, &wire.Unchecked{Why: "a record does not verify: " + err.Error()}))
		}
	}
	return list, nil
}
