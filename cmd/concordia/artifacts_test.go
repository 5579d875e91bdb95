package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// testAgents sign the artifacts that scripts verify, all on 2026-09-14.
var testAgents = map[string]byte{"did:web:cfo.example": 'c', "did:web:treasury.example": 't'}

// addReceipts adds three receipts of one session by the test agents: first.json,
// second.json, which has nothing to do with it, and later.json, which supersedes it.
func addReceipts(files map[string]any, signers map[string]wire.PrivateKey) error {
	for id, supersedes := range map[string]string{"first": "", "second": "", "later": "att_first"} {
		d := attest.Draft{
			ID: "att_" + id, Session: "ses_1", Time: time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC),
			Outcome:        attest.Outcome{Status: attest.StatusAgreed, Rounds: 2, Mechanism: attest.MechanismDirect},
			TranscriptHash: wire.HashOf(id), ChainHead: wire.HashOf(id), MessageCount: 5,
		}
		for i, agent := range slices.Sorted(maps.Keys(signers)) {
			d.Parties = append(d.Parties, attest.Party{Agent: wire.AgentID(agent), Role: []attest.Role{attest.RoleInitiator, attest.RoleResponder}[i]})
		}
		if supersedes != "" {
			l, err := wire.Encode(wire.M{"type": "receipt", "id": supersedes, "relationship": "supersedes"})
			if err != nil {
				return err
			}
			d.References = []wire.Value{l}
		}
		v, err := d.Value()
		for agent, k := range signers {
			if err == nil {
				v, err = attest.Countersign(v, wire.AgentID(agent), k)
			}
		}
		if err != nil {
			return err
		}
		files[id+".json"] = v
	}
	return nil
}

// writeArtifacts writes an offer, an action, artifacts about them and the keys of
// who signed them to a folder.
func writeArtifacts(dir string) error {
	keys := wire.M{}
	signers := map[string]wire.PrivateKey{}
	for id, seed := range testAgents {
		k, err := wire.NewPrivateKey([]byte(strings.Repeat(string(seed), wire.SeedSize)))
		if err != nil {
			return err
		}
		signers[id], keys[id] = k, k.Public()
	}
	offer, err := wire.Encode(wire.M{"offer_id": "off_1", "terms": wire.M{"price": wire.M{"value": 4800}}})
	if err != nil {
		return err
	}
	link := func(kind, id, relationship string) wire.M {
		return wire.M{"type": kind, "id": id, "relationship": relationship}
	}
	files := map[string]any{
		"keys.json": keys, "offer.json": offer, "action.json": wire.M{"amount": 100}, "dear.json": wire.M{"amount": 6000},
	}
	for _, a := range []struct {
		file, signer, algorithm string // a signature block if algorithm is given, else a bare signature
		artifact                wire.M
	}{
		{"approval.json", "did:web:cfo.example", "Ed25519", wire.M{
			"artifact_type": "ApprovalReceipt", "id": "urn:concordia:receipt:1",
			"issued_at": "2026-09-14T09:00:00Z", "expires_at": "2026-09-14T12:00:00Z", "approver": wire.M{"identity": "did:web:cfo.example"},
			"scope": wire.M{"decision": "approve", "offer_hash": offer.Hash(), "amount": "x", "threshold_crossed": "x"},
			"references": []wire.M{
				link("negotiation_session", "urn:concordia:session:1", "approves"), link("mandate", "urn:concordia:mandate:1", "fulfills"),
			},
		}},
		{"mandate.json", "did:web:treasury.example", "", wire.M{
			"mandate_id": "urn:concordia:mandate:1", "issuer": "did:web:treasury.example", "subject": "did:web:cfo.example",
			"issued_at": "2026-09-14T08:00:00Z", "algorithm": "EdDSA",
			"validity":    wire.M{"mode": "windowed", "not_before": "2026-09-14T08:00:00Z", "not_after": "2026-09-15T08:00:00Z", "max_uses": 2},
			"constraints": wire.M{"type": "object", "properties": wire.M{"amount": wire.M{"maximum": 5000}}, "required": []string{"amount"}},
		}},
		{"revocation.json", "did:web:treasury.example", "EdDSA", wire.M{
			"revocation_id": "urn:concordia:revocation:1", "revoked_artifact_id": "urn:concordia:mandate:1", "revoked_artifact_type": "mandate",
			"revocation_scope": "cascade_to_dependents", "cascade_depth": 3, "issuer_did": "did:web:treasury.example",
			"issued_at": "2026-09-14T09:00:00Z", "effective_at": "2026-09-14T11:00:00Z", "reason": "rotated",
			"references": []wire.M{link("mandate", "urn:concordia:mandate:1", "revokes")},
		}},
	} {
		v, err := wire.Encode(a.artifact)
		if err != nil {
			return err
		}
		sig, err := signers[a.signer].Sign([]byte(v.Canonical()))
		if err != nil {
			return err
		}
		a.artifact["signature"] = sig
		if a.algorithm != "" {
			a.artifact["signature"] = wire.M{"alg": a.algorithm, "value": sig}
		}
		files[a.file] = a.artifact
	}
	if err := addReceipts(files, signers); err != nil {
		return err
	}
	for name, v := range files {
		text, err := wire.Encode(v)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text.Canonical()), 0o600); err != nil {
			return err
		}
	}
	return nil
}
