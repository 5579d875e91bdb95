package node_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// on configures a bridge with identities.
func (p *party) on(list ...node.Identity) {
	p.w.Helper()
	must[node.BridgeConfig](p.w)(p.ConfigureBridge(p.w.ctx, node.BridgeConfig{Enabled: true, Commit: true, Record: true, Identities: list}))
}

func at(v wire.Value, path ...string) string {
	x, _ := v.At(path...)
	if x.Kind() == wire.String {
		return x.Text()
	}
	return x.Canonical()
}

// What is committed to is what was agreed, and not what the session was opened with; both
// sides commit to the same text, whenever they are asked.
func TestCommitment(t *testing.T) {
	w := newWorld(t)
	seller, buyer, witness := w.party("seller", nil), w.party("buyer", nil), w.party("witness", nil)
	id := w.begin(node.Opening{Others: []wire.AgentID{agent("witness")}}, seller, buyer)
	witness.invitation(id)
	must[node.View](w)(witness.Join(w.ctx, id))
	commitment := func(p *party) (node.BridgeCalls, error) { return p.Commitment(w.ctx, id) }
	if _, err := commitment(seller); code(err) != node.CodePolicy {
		t.Errorf("before it is configured: %v", err)
	}
	for _, p := range []*party{seller, buyer, witness} {
		p.on()
	}
	if _, err := commitment(seller); code(err) != node.CodeNotAgreed {
		t.Errorf("before it is agreed: %v", err)
	}
	seller.move(id, wire.TypeOffer, price(900))
	buyer.has(id, 3)
	buyer.move(id, wire.TypeCounter, price(800))
	seller.has(id, 4)
	if _, err := commitment(seller); code(err) != node.CodeNotAgreed {
		t.Errorf("with an offer: %v", err)
	}
	made := seller.move(id, wire.TypeAccept, wire.Value{})
	one := must[node.BridgeCalls](w)(commitment(seller))
	seller.settled(id)
	buyer.settled(id)
	w.forward(time.Hour)
	other := must[node.BridgeCalls](w)(commitment(buyer))
	if one.Session != id || !one.Commitment.Equal(other.Commitment) || one.Skipped != "" {
		t.Errorf("two sides commit to\n%s\n%s", one.Commitment, other.Commitment)
	}
	value := parsed(at(one.Commitment, "arguments", "value"))
	ends, _ := made.Last.Get("timestamp")
	ids := []string{string(agent("buyer")), string(agent("seller"))}
	if ids[0] > ids[1] {
		ids[0], ids[1] = ids[1], ids[0]
	}
	want := encoded(wire.M{
		"agreed_terms": parsed(`{"lens":{"value":"50mm"},"price":{"currency":"EUR","value":800}}`), "concordia_session_id": id,
		"parties": ids, "timestamp": ends, "transcript_hash": made.Tip,
	})
	if !value.Equal(want) {
		t.Errorf("committed to\n%s\nwant\n%s", value, want)
	}
	if text := at(one.Commitment, "arguments", "value"); text != value.Canonical() || text != at(one.Commitment, "raw_value") || at(one.Commitment, "tool") != "sanctuary/proof_commitment" {
		t.Errorf("the call is %s", one.Commitment)
	}
	if got := at(one.Commitment, "agreement_summary", "term_count"); got != "2" {
		t.Errorf("%s terms", got)
	}
	if _, err := commitment(witness); code(err) != node.CodePolicy {
		t.Errorf("a witness commits: %v", err)
	}
	if _, err := seller.Commitment(w.ctx, "ses_none"); code(err) != node.CodeNotFound {
		t.Errorf("of no session: %v", err)
	}
	must[node.BridgeConfig](w)(seller.ConfigureBridge(w.ctx, node.BridgeConfig{Enabled: true, Record: true}))
	if calls, err := commitment(seller); err != nil || calls.Skipped == "" || calls.Commitment.Kind() != wire.Absent {
		t.Errorf("without commitments: %+v, %v", calls, err)
	}
}

// A receipt is recorded in the name of this agent, if it verifies and the agent has a part
// in it.
func TestRecording(t *testing.T) {
	w := newWorld(t)
	seller, buyer, stranger := w.party("seller", nil), w.party("buyer", nil), w.party("stranger", nil)
	id, _ := w.settle(2, time.Minute, seller, buyer)
	receipt := must[[]wire.Value](w)(seller.Receipts(w.ctx, id))[0]
	if _, err := seller.Recording(w.ctx, receipt); code(err) != node.CodePolicy {
		t.Errorf("before it is configured: %v", err)
	}
	seller.on()
	if calls, err := seller.Recording(w.ctx, receipt); err != nil || calls.Skipped == "" || len(calls.Records) != 0 {
		t.Errorf("without an identity: %+v, %v", calls, err)
	}
	seller.on(node.Identity{Agent: agent("seller"), Sanctuary: "id_seller"})
	calls := must[node.BridgeCalls](w)(seller.Recording(w.ctx, receipt))
	if len(calls.Records) != 1 || calls.Session != id {
		t.Fatalf("%+v", calls)
	}
	record := calls.Records[0]
	for path, want := range map[string]string{
		"tool": "sanctuary/reputation_record", "concordia_session_id": string(id), "concordia_attestation_id": at(receipt, "attestation_id"),
		"arguments/interaction_id": string(id), "arguments/identity_id": "id_seller", "arguments/counterparty_did": "concordia:" + string(agent("buyer")),
		"arguments/context": "goods.cameras", "arguments/outcome/type": "negotiation", "arguments/outcome/result": "completed",
		"arguments/outcome/metrics/rounds": "2", "arguments/outcome/metrics/offers_made": "1",
		"arguments/outcome/metrics/duration_seconds": at(receipt, "outcome", "duration_seconds"),
	} {
		if got := at(record, strings.Split(path, "/")...); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	// Whoever else has an identity there: nothing is recorded in its name.
	seller.on(node.Identity{Agent: agent("buyer"), Sanctuary: "id_buyer", DID: "did:sanctuary:buyer"})
	calls = must[node.BridgeCalls](w)(seller.Recording(w.ctx, receipt))
	if len(calls.Records) != 1 || at(calls.Records[0], "arguments", "identity_id") != "id_seller" || at(calls.Records[0], "arguments", "counterparty_did") != "did:sanctuary:buyer" {
		t.Errorf("with an identity of the buyer: %v", calls.Records)
	}
	stranger.on(node.Identity{Agent: agent("stranger"), Sanctuary: "id_stranger"})
	if _, err := stranger.Recording(w.ctx, receipt); code(err) != node.CodePolicy {
		t.Errorf("a stranger's: %v", err)
	}
	for _, test := range []struct {
		name    string
		receipt wire.Value
	}{
		{"another outcome", parsed(strings.Replace(receipt.Canonical(), `"status":"agreed"`, `"status":"rejected"`, 1))},
		{"without countersignatures", receipt.Without("countersignatures")},
		{"of a version that binds no outcome", parsed(strings.Replace(receipt.Canonical(), `"status":"agreed"`, `"status":"rejected"`, 1)).Without("countersignatures").With("concordia_attestation", wire.Text("0.1.0"))},
		{"nonsense", parsed(`{"parties":[{"agent_id":"` + string(agent("seller")) + `"}]}`)},
		{"no object", parsed(`7`)},
	} {
		if _, err := seller.Recording(w.ctx, test.receipt); code(err) != node.CodeRule && code(err) != node.CodeBadRequest {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	must[node.BridgeConfig](w)(seller.ConfigureBridge(w.ctx, node.BridgeConfig{Enabled: true}))
	if calls, err := seller.Recording(w.ctx, receipt); err != nil || calls.Skipped == "" || len(calls.Records) != 0 {
		t.Errorf("without records: %+v, %v", calls, err)
	}
}

// A receipt that is revoked, of an end that did not last, or of a deal of this agent with
// itself is not recorded.
func TestRecordingRefuses(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", revokedBy("court")), w.party("buyer", nil)
	seller.on(node.Identity{Agent: agent("seller"), Sanctuary: "id_seller"})
	_, revoked := w.sold(seller, buyer, wire.Value{})
	must[node.BridgeCalls](w)(seller.Recording(w.ctx, revoked))
	w.must(seller.Approve(w.ctx, w.revokes("court", revoked)))

	id := w.begin(node.Opening{}, seller, buyer)
	buyer.move(id, wire.TypeWithdraw, parsed(`{"reactivatable":true}`))
	seller.settled(id)
	buyer.settled(id)
	first := must[[]wire.Value](w)(seller.Receipts(w.ctx, id))[0]
	must[node.BridgeCalls](w)(seller.Recording(w.ctx, first))
	seller.move(id, wire.TypeOffer, price(4))
	buyer.in(id, session.Active)
	buyer.move(id, wire.TypeAccept, wire.Value{})
	seller.settled(id)
	must[node.BridgeCalls](w)(seller.Recording(w.ctx, must[[]wire.Value](w)(seller.Receipts(w.ctx, id))[1]))

	w.must(seller.SetContact(w.ctx, node.Contact{Agent: "did:web:friend", Keys: []node.ContactKey{{Key: key("seller").Public().String()}}}))
	own := parsed(strings.ReplaceAll(attest.Countersigned(revoked).With("attestation_id", wire.Text("att_own")).With("session_id", wire.Text("ses_own")).Canonical(), string(agent("buyer")), "did:web:friend"))
	for _, name := range []wire.AgentID{agent("seller"), "did:web:friend"} {
		own = must[wire.Value](w)(attest.Countersign(own, name, key("seller")))
	}
	for name, v := range map[string]wire.Value{"revoked": revoked, "an end that did not last": first, "with itself": own} {
		if calls, err := seller.Recording(w.ctx, v); code(err) != node.CodeRule && code(err) != node.CodePolicy {
			t.Errorf("%s: %v, %v", name, calls.Records, err)
		}
	}
}

// A bridge is off at first, and belongs to its node: it names only whom the node knows, and
// keeps what it was told.
func TestBridgeConfig(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	want := node.BridgeConfig{Commit: true, Record: true, Context: node.DefaultContext}
	if got := must[node.BridgeConfig](w)(seller.Bridge(w.ctx)); !cmp.Equal(got, want) {
		t.Errorf("at first: %+v", got)
	}
	of := func(list ...node.Identity) node.BridgeConfig {
		return node.BridgeConfig{Enabled: true, Identities: list}
	}
	for _, test := range []struct {
		name string
		c    node.BridgeConfig
		want node.Code
	}{
		{"a stranger", of(node.Identity{Agent: agent("buyer"), Sanctuary: "id"}), node.CodePolicy},
		{"a stranger beside oneself", of(node.Identity{Agent: agent("seller"), Sanctuary: "id"}, node.Identity{Agent: agent("buyer"), Sanctuary: "id"}), node.CodePolicy},
		{"no agent", of(node.Identity{Sanctuary: "id"}), node.CodeBadRequest},
		{"no identity", of(node.Identity{Agent: agent("seller"), Sanctuary: "a b"}), node.CodeBadRequest},
		{"no did", of(node.Identity{Agent: agent("seller"), Sanctuary: "id", DID: "seller"}), node.CodeBadRequest},
		{"no did either", of(node.Identity{Agent: agent("seller"), Sanctuary: "id", DID: "did:a b"}), node.CodeBadRequest},
		{"no context", node.BridgeConfig{Context: "a\nb"}, node.CodeBadRequest},
	} {
		if _, err := seller.ConfigureBridge(w.ctx, test.c); code(err) != test.want {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if got := must[node.BridgeConfig](w)(seller.Bridge(w.ctx)); !cmp.Equal(got, want) {
		t.Errorf("after refusals: %+v", got)
	}
	me, friend := node.Identity{Agent: agent("seller"), Sanctuary: "id_1", DID: "did:x:1"}, node.Identity{Agent: "friend", Sanctuary: "id_2"}
	w.must(seller.SetContact(w.ctx, node.Contact{Agent: "friend"}))
	must[node.BridgeConfig](w)(seller.ConfigureBridge(w.ctx, node.BridgeConfig{Enabled: true, Commit: true, Context: "goods", Identities: []node.Identity{friend, me}}))
	w.begin(node.Opening{}, seller, buyer)
	party := node.Identity{Agent: agent("buyer"), Sanctuary: "id_3"}
	must[node.BridgeConfig](w)(seller.ConfigureBridge(w.ctx, of(party, node.Identity{Agent: "friend"})))
	me.Sanctuary = "id_4"
	last := must[node.BridgeConfig](w)(seller.ConfigureBridge(w.ctx, of(me)))
	want = node.BridgeConfig{Enabled: true, Context: "goods", Identities: []node.Identity{me, party}}
	if me.Agent > party.Agent {
		want.Identities = []node.Identity{party, me}
	}
	seller.restart()
	for _, got := range []node.BridgeConfig{last, must[node.BridgeConfig](w)(seller.Bridge(w.ctx)), must[node.BridgeConfig](w)(seller.served().Bridge(w.ctx))} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	if got := must[node.BridgeConfig](w)(buyer.Bridge(w.ctx)); got.Enabled || len(got.Identities) != 0 {
		t.Errorf("another node has %+v", got)
	}
}

// The reference implementation, asked to commit to the same agreement or to record the same
// receipt, makes the same bytes.
func TestBridgeIsTheReferences(t *testing.T) {
	clone := os.Getenv("CONCORDIA_REFERENCE")
	if clone == "" {
		t.Skip("no reference implementation here; CONCORDIA_REFERENCE may name a clone of it")
	}
	if out, err := exec.CommandContext(t.Context(), "python3", "-c", "import cryptography, jsonschema").CombinedOutput(); err != nil {
		t.Skipf("no Python with what the reference needs: %v\n%s", err, out)
	}
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	terms := wire.M{"price": wire.M{"type": "numeric", "currency": "EUR"}, "lens": wire.M{"value": "50 mm \u2028 \"ü\u200d\U0001F600\" \\ \x7f"}, "weight": wire.M{"value": 1e21}}
	for name, body := range map[string]wire.Value{"with a category": camera(wire.M{"terms": terms}), "without": camera(wire.M{"terms": terms}).Without("category")} {
		t.Run(name, func(t *testing.T) {
			id := w.begin(node.Opening{Body: body}, seller, buyer)
			w.forward(time.Minute)
			seller.move(id, wire.TypeOffer, price(900))
			buyer.has(id, 3)
			buyer.move(id, wire.TypeAccept, wire.Value{})
			seller.settled(id)
			seller.on(node.Identity{Agent: agent("seller"), Sanctuary: "id_seller"}, node.Identity{Agent: agent("buyer"), Sanctuary: "id_buyer", DID: "did:x:buyer"})
			call := must[node.BridgeCalls](w)(seller.Commitment(w.ctx, id)).Commitment
			receipt := must[[]wire.Value](w)(seller.Receipts(w.ctx, id))[0]
			record := must[node.BridgeCalls](w)(seller.Recording(w.ctx, receipt)).Records[0]
			// The reference commits at the time that it is: it is told which.
			const script = `
import datetime, json, sys
import concordia.sanctuary_bridge as bridge
asked = json.load(sys.stdin)
value = json.loads(asked["value"])
class Then:
    now = staticmethod(lambda zone: datetime.datetime.strptime(value["timestamp"], "%Y-%m-%dT%H:%M:%SZ"))
bridge.datetime = Then
config = bridge.SanctuaryBridgeConfig(enabled=True)
config.map_identity(asked["seller"], "id_seller")
config.map_identity(asked["buyer"], "id_buyer", "did:x:buyer")
commitment = bridge.build_commitment_payload(value["concordia_session_id"], value["agreed_terms"], value["parties"][::-1], value["transcript_hash"])
record = bridge.build_reputation_payload(asked["receipt"], config, asked["seller"])
json.dump([commitment, record], sys.stdout)
`
			cmd := exec.CommandContext(t.Context(), "python3", "-c", script)
			cmd.Env = append(os.Environ(), "PYTHONPATH="+clone, "PYTHONDONTWRITEBYTECODE=1")
			cmd.Stdin = strings.NewReader(encoded(wire.M{"value": at(call, "arguments", "value"), "receipt": receipt, "seller": agent("seller"), "buyer": agent("buyer")}).Canonical())
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range parsed(string(out)).Elems() {
				if got := []wire.Value{call, record}[i]; !got.Equal(v) {
					t.Errorf("made here\n%s\nby the reference\n%s", got, v)
				}
			}
		})
	}
}
