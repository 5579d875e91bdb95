package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/concordia-node/concordia/internal/clitest"
	"github.com/concordia-node/concordia/wire"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"conformance": func() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) },
		"slowpoke":    func() { select {} },
	})
}

// TestScripts runs the command as a person would. Each script finds a small suite
// in vectors/.
func TestScripts(t *testing.T) {
	lazy := filepath.Join(t.TempDir(), "lazyverifier")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", lazy, "../../examples/lazyverifier").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("testdata", "script"),
		RequireUniqueNames: true,
		Cmds:               clitest.Commands(),
		Setup: func(env *testscript.Env) error {
			env.Setenv("LAZY", lazy)
			env.Setenv("UPSTREAM", clitest.Shared(filepath.Join("..", ".."), "upstream", "conformance", "vectors"))
			return writeSuite(filepath.Join(env.WorkDir, "vectors"))
		},
		Condition: func(cond string) (bool, error) {
			if cond == "upstream" {
				return clitest.Shared(filepath.Join("..", ".."), "upstream", "conformance", "vectors") != "", nil
			}
			return false, errors.New("unknown condition")
		},
	})
}

// writeSuite writes a suite of four vectors.
func writeSuite(dir string) error {
	key, err := wire.NewPrivateKey([]byte(strings.Repeat("k", wire.SeedSize)))
	if err != nil {
		return err
	}
	offer := wire.M{"offer_id": "off_1"}
	offerValue, err := wire.Encode(offer)
	if err != nil {
		return err
	}
	receipt, err := wire.Encode(wire.M{
		"artifact_type": "ApprovalReceipt", "id": "urn:concordia:receipt:1",
		"issued_at": "2026-09-14T09:30:00Z", "expires_at": "2026-09-14T10:30:00Z",
		"approver": wire.M{"identity": "did:web:cfo.example"},
		"scope":    wire.M{"decision": "approve", "offer_hash": offerValue.Hash(), "amount": "1 x", "threshold_crossed": "1 x"},
		"references": []wire.M{
			{"type": "negotiation_session", "id": "urn:concordia:session:1", "relationship": "approves"},
		},
	})
	if err != nil {
		return err
	}
	sig, err := key.Sign([]byte(receipt.Canonical()))
	if err != nil {
		return err
	}
	block, err := wire.Encode(wire.M{"alg": "Ed25519", "value": sig})
	if err != nil {
		return err
	}
	signed := receipt.With("signature", block)
	context := wire.M{"now": "2026-09-14T10:00:00Z", "offer": offer, "public_keys_b64url": wire.M{"issuer": key.Public()}}
	counts, files := wire.M{"fixtures": 0, "schemas": 0}, wire.M{"fixtures": []string{}, "schemas": []string{}}
	for _, section := range []string{"positive", "mutation", "canary"} {
		counts[section], files[section] = 0, []string{}
	}
	for _, v := range []struct {
		section, id, record, profile, expected, reason string
		input                                          wire.Value
		context                                        wire.M
	}{
		{"positive", "receipt", "approval_receipt", "receipt-v1", "accept", "", signed, context},
		{"positive", "decision", "decision_object", "decision-object-v1", "accept", "", offerValue, wire.M{"expected_decision_id": offerValue.Hash()}},
		{"mutation", "receipt-other-id", "approval_receipt", "receipt-v1", "reject", "signature", signed.With("id", wire.Text("other")), context},
		{"canary", "receipt-no-signature", "approval_receipt", "receipt-v1", "reject", "schema", receipt, context},
	} {
		m := wire.M{
			"schema_version": "concordia-conformance-vector/v1-draft", "id": v.id, "title": "title of " + v.id, "source_fixture": "test",
			"record_type": v.record, "verification_profile": v.profile, "input": v.input, "context": v.context, "expected": v.expected,
			"expected_reason_class": nil,
		}
		if v.reason != "" {
			m["expected_reason_class"] = v.reason
		}
		name := filepath.Join(v.section, v.id+".json")
		if err := writeJSONFile(filepath.Join(dir, name), m); err != nil {
			return err
		}
		counts[v.section] = counts[v.section].(int) + 1
		files[v.section] = append(files[v.section].([]string), filepath.ToSlash(name))
	}
	return writeJSONFile(filepath.Join(dir, "manifest.json"), wire.M{
		"schema_version": "concordia-conformance-manifest/v1-draft", "counts": counts, "files": files,
	})
}

func writeJSONFile(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
