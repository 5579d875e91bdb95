package node_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

// published checks the body of a report as its readers do: the key is the did, the
// signature is over data, and the receipt has the reference's members.
const published = `
import base64, json, sys
from concordia import cosign, signing
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

body = json.load(open(sys.argv[1]))
def raw(text): return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
data = body["data"]
assert data["did"] == cosign.ed25519_did_key(raw(body["publicKey"]))
Ed25519PublicKey.from_public_bytes(raw(body["publicKey"])).verify(raw(body["signature"]), signing.canonical_json(data))
session = {"session_id": "s", "counterparty_did": "did:key:z", "outcome": "agreed", "rounds": 1, "duration_seconds": 1,
           "terms_count": 1, "concessions_made": 0, "fulfillment_status": "pending", "negotiation_competence": 0}
usual = cosign.build_cosigned_receipt(session, data["did"])
assert set(usual) == set(data["receipt"]), set(usual) ^ set(data["receipt"])
assert set(usual["outcome"]) == set(data["receipt"]["outcome"])
assert [p["agent_id"] for p in data["receipt"]["parties"]] == [data["did"], data["receipt"]["counterparty_did"]]
assert body["type"] == "concordia-receipt" and set(body) == {"type", "publicKey", "signature", "data"}
`

// The reference implementation verifies what a node issues: with CONCORDIA_REFERENCE, by
// the judge of the samples.
func TestReferenceVerifiesIssued(t *testing.T) {
	clone := os.Getenv("CONCORDIA_REFERENCE")
	if clone == "" {
		t.Skip("no reference implementation here; CONCORDIA_REFERENCE may name a clone of it")
	}
	if out, err := exec.Command("python3", "-c", "import cryptography, jsonschema").CombinedOutput(); err != nil {
		t.Skipf("no Python with what the reference needs: %v\n%s", err, out)
	}
	w := newWorld(t)
	p := w.provider()
	seller, buyer := w.party("seller", p.reportsTo(p.URL)), w.party("buyer", nil)
	id, _ := w.sold(seller, buyer, wire.Value{})
	w.sold(seller, buyer, wire.Value{})
	issued := func(made node.Issued, err error) wire.Value {
		t.Helper()
		w.must(err)
		return made.Artifact
	}
	dry := must[node.Reported](w)(seller.Report(w.ctx, node.Reporting{Session: id, Endpoint: p.URL, DryRun: true}))
	cosigned := must[wire.Value](w)(w.issuer("buyer").Cosign(dry.Receipt, dry.DID))
	must[node.Reported](w)(seller.Report(w.ctx, node.Reporting{Session: id, Endpoint: p.URL, Cosigned: cosigned}))
	keys := wire.M{}
	for _, name := range []string{"seller", "buyer"} {
		did := string(agent(name))
		keys[did], keys[did+"#"+did[len("did:key:"):]] = key(name).Public(), key(name).Public()
	}
	dir := t.TempDir()
	args := []string{filepath.Join("..", "examples", "interop", "verify_artifacts.py")}
	write := func(name string, v any) string {
		path := filepath.Join(dir, name+".json")
		w.must(os.WriteFile(path, []byte(encoded(v).Canonical()), 0o600))
		return path
	}
	for _, c := range []struct {
		name, kind string
		v          wire.Value
		context    wire.M
	}{
		{"a bundle", "receipt_bundle", issued(seller.Bundle(w.ctx, node.ReceiptFilter{})), wire.M{}},
		{"a proof", "competence_proof", issued(seller.Competence(w.ctx, 2)), wire.M{"require_aggregate": true}},
		{"a proof of one of two", "competence_proof", issued(seller.Competence(w.ctx, 1)), wire.M{"require_aggregate": false}},
		{"an envelope", "envelope", issued(seller.Envelope(w.ctx, node.Enveloping{Session: id})), wire.M{}},
		{"a response", "reputation_response", must[wire.Value](w)(buyer.Answer(w.ctx, node.Question{Subject: agent("seller")})), wire.M{}},
		{"what both report", "cosign", cosigned, wire.M{}},
	} {
		args = append(args, write(c.name, wire.M{
			"id": c.name, "kind": c.kind, "input": c.v, "context": c.context, "expected": "accept", "now": wire.FormatTime(w.now()), "public_keys": keys,
		}))
	}
	for _, args := range [][]string{args, {"-c", published, write("published", parsed(string(*p.body.Load())))}} {
		cmd := exec.CommandContext(t.Context(), "python3", args...)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+clone, "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("the reference: %v\n%s", err, out)
		}
		t.Logf("%s", out)
	}
}
