package agentcard_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/agentcard"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/a2a"
)

// referenceScript has the reference read a part, make one of the message in it, and look
// at a card. It prints the part that it made.
const referenceScript = `
import json, sys
from concordia.a2a_carrier import A2A_EXTENSION_URI, build_a2a_data_part, parse_a2a_data_part
from concordia.registry import AgentCapabilities, RegisteredAgent
given = json.load(sys.stdin)
envelope = parse_a2a_data_part(given["part"], active_extensions=given["active"])
fragment = RegisteredAgent(agent_id="x", capabilities=AgentCapabilities()).to_agent_card()["capabilities"]["extensions"][0]
[mine] = given["card"]["capabilities"]["extensions"]
assert mine["uri"] == fragment["uri"] == A2A_EXTENSION_URI
assert mine["required"] is fragment["required"]
assert set(fragment) <= set(mine) and set(fragment["params"]) <= set(mine["params"]), (fragment, mine)
json.dump(build_a2a_data_part(envelope), sys.stdout)
`

// The reference reads the parts made here, finds its extension in the card, and a node
// takes the parts that the reference makes.
func TestReference(t *testing.T) {
	clone := os.Getenv("CONCORDIA_REFERENCE")
	if clone == "" {
		t.Skip("no reference implementation here; CONCORDIA_REFERENCE may name a clone of it")
	}
	if out, err := exec.CommandContext(t.Context(), "python3", "-c", "import cryptography, jsonschema").CombinedOutput(); err != nil {
		t.Skipf("no Python with what the reference needs: %v\n%s", err, out)
	}
	seller, buyer := newParty(t, "seller", nil), newParty(t, "buyer", nil)
	id, invitation := seller.open()
	if _, err := buyer.Invited(t.Context(), invitation); err != nil {
		t.Fatal(err)
	}
	if _, err := buyer.Join(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	seller.reach(id, func(v node.View) bool { return v.Len == 1 })
	self, err := seller.Self(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	card, err := agentcard.Card(self)
	if err != nil {
		t.Fatal(err)
	}
	part := messagePart(t, "buyer", wire.Envelope{Type: wire.TypeAcceptSession, Session: id, PrevHash: seller.tip(id)})
	cmd := exec.CommandContext(t.Context(), "python3", "-c", referenceScript)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+clone, "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stdin = strings.NewReader(encoded(t, wire.M{
		"part": part, "card": card, "active": agentcard.Activated(header(agentcard.Header, a2a.ExtensionURI)),
	}).Canonical())
	var fault strings.Builder
	cmd.Stderr = &fault
	made, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, fault.String())
	}
	theirs, err := wire.Parse(made, wire.DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	if r := seller.send(sending(theirs), active); r.Error.Code != 0 {
		t.Fatalf("refused: %s", r.text)
	}
	seller.reach(id, func(v node.View) bool { return v.Len == 2 })
}
