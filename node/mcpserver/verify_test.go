package mcpserver_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/mcpserver"
	"github.com/concordia-node/concordia/wire"
)

// mandated makes a mandate of an agent, signed with a key that need not be its own.
func mandated(tb testing.TB, by wire.AgentID, with string) wire.Value {
	tb.Helper()
	i := issuer(with)
	i.Agent, i.Keys = by, wire.AnyKeys{wire.KeyMap{by: key(with).Public()}, wire.DIDKeys{}}
	draft, err := wire.Encode(wire.M{"subject": agent("buyer"), "validity": wire.M{"mode": "windowed", "not_before": wire.FormatTime(i.Now), "not_after": wire.FormatTime(i.Now.Add(time.Hour))}, "constraints": wire.M{"type": "object"}})
	v, err2 := i.Mandate(value(tb, draft, err))
	return value(tb, v, err2)
}

// Keys that a call brings are for agents that are not known otherwise. Whoever shows an
// artifact may have brought them along: they are no keys of a did:key id that is another
// key, nor of a contact whose key the owner wrote down.
func TestKeysOfTheCall(t *testing.T) {
	w := newWorld(t)
	c := w.agent("buyer", mcpserver.Options{}, func(o *node.Options) { o.Agent = "did:web:me" })
	if err := c.node.SetContact(w.ctx, node.Contact{Agent: "did:web:boss", Keys: []node.ContactKey{{Key: key("boss").Public().String()}}}); err != nil {
		t.Fatal(err)
	}
	did := agent("boss")
	thief := key("thief").Public().String()
	for _, test := range []struct {
		name  string
		by    wire.AgentID
		with  string
		key   string
		valid string
	}{
		{"the own key of a did:key", did, "boss", key("boss").Public().String(), "true"},
		{"another key of a did:key", did, "thief", thief, "false"},
		{"another key of a did:key in the spelling of the reference", wire.ReferenceDIDKey(key("boss").Public()), "thief", thief, "false"},
		{"another key of a DID URL of a did:key", did + "#" + did[len("did:key:"):], "thief", thief, "false"},
		{"the key of a contact", "did:web:boss", "boss", key("boss").Public().String(), "true"},
		{"another key of a contact", "did:web:boss", "thief", thief, "false"},
		{"another key of a contact in another spelling", "did:web:BOSS", "thief", thief, "false"},
		{"the own key", "did:web:me", "buyer", key("buyer").Public().String(), "true"},
		{"another key of this agent", "did:web:me", "thief", thief, "false"},
		{"the key of somebody unknown", "did:web:other", "thief", thief, "true"},
	} {
		call := wire.M{"mandate": mandated(t, test.by, test.with), "issuer_public_key_b64": test.key, "action": wire.M{}}
		v := c.call("concordia_verify_mandate", args(call))
		if at(v, "valid") != test.valid || test.valid == "false" && at(v, "failure_reason") != "signature" {
			t.Errorf("%s: %s", test.name, v)
		}
	}
}

// What the node keeps a revocation of does not verify, whoever hands it to a tool.
func TestRevokedDoesNotVerify(t *testing.T) {
	w := newWorld(t)
	c := w.agent("buyer", mcpserver.Options{}, nil)
	boss := issuer("boss")
	offer := `{"terms":{"price":{"value":5,"currency":"EUR"}}}`
	body, err := wire.Parse([]byte(offer), wire.DocumentLimits)
	body = value(t, body, err)
	draft, err := wire.Encode(wire.M{"session_id": "ses_1", "scope": wire.M{"decision": "approve", "offer_hash": body.Hash(), "amount": "none", "threshold_crossed": "none"}})
	approval, err2 := boss.Approval(value(t, draft, err))
	approval = value(t, approval, err2)
	mandate := mandated(t, boss.Agent, "boss")
	for _, test := range []struct {
		kind, tool, args string
		id               string
	}{
		{"mandate", "concordia_verify_mandate", args(wire.M{"mandate": mandate, "action": wire.M{}}), at(mandate, "mandate_id")},
		{"approval_receipt", "concordia_verify_approval_receipt", args(wire.M{"receipt": approval, "offer": body}), at(approval, "id")},
	} {
		for _, by := range []string{"nobody", "stranger", "boss"} {
			if by != "nobody" {
				draft, err := wire.Encode(wire.M{"revoked_artifact_id": test.id, "revoked_artifact_type": test.kind, "reason": "a mistake"})
				record, err2 := issuer(by).Revocation(value(t, draft, err))
				c.call("concordia_approve", args(wire.M{"artifact": value(t, record, err2)}))
			}
			v := c.call(test.tool, test.args)
			if revoked := by == "boss"; at(v, "valid") != fmt.Sprint(!revoked) || revoked && at(v, "failure_reason") != "revocation" || !revoked && at(v, "checks", "revocation") != "pass" {
				t.Errorf("%s, revoked by %s: %s", test.kind, by, v)
			}
		}
	}
	if v := c.call("concordia_verify_mandate", `{"mandate":{"x":1}}`); at(v, "checks", "revocation") == "pass" {
		t.Errorf("nonsense: %s", v)
	}
}
