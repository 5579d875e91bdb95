package mcpserver_test

import (
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/mcpserver"
	"github.com/concordia-node/concordia/wire"
)

// done are the tools that some test has called and that did what they were asked.
var done struct {
	mu    sync.Mutex
	tools map[string]bool
}

func did(tool string) {
	done.mu.Lock()
	defer done.mu.Unlock()
	if done.tools == nil {
		done.tools = map[string]bool{}
	}
	done.tools[tool] = true
}

const priced = `,"terms":{"price":{"value":2000,"currency":"USD"},"delivery":{"value":"pickup"}}`

func issuer(name string) attest.Issuer {
	return attest.Issuer{Agent: agent(name), Key: key(name), Now: time.Now().UTC().Truncate(time.Second), Random: rand.Reader, Keys: wire.DIDKeys{}}
}

func value(tb testing.TB, v wire.Value, err error) wire.Value {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// All moves of SPEC §4.2, with a mediator and an approval.
func TestEveryMove(t *testing.T) {
	w := newWorld(t)
	boss := issuer("boss")
	seller := w.agent("seller", mcpserver.Options{}, nil)
	buyer := w.agent("buyer", mcpserver.Options{}, func(o *node.Options) {
		o.Policy.Thresholds = []node.Threshold{{Name: "large", Term: "price", Amount: 1900, Currency: "USD", Needs: node.NeedApproval, By: []wire.AgentID{boss.Agent}}}
	})
	helper := w.agent("helper", mcpserver.Options{}, nil)
	id := w.begin(seller, buyer, `,"others":["`+string(agent("helper"))+`"],"category":"electronics.cameras","value_range":"1000-5000_USD","reasoning":"To sell soon."`)
	session := `{"session_id":"` + id + `"`
	if at(seller.call("concordia_session_status", session+`}`), "external", "category") != "electronics.cameras" {
		t.Error("the category is not shown")
	}
	seller.call("concordia_signal", session+`,"priority_ranking":["price","delivery"],"flexibility":{"price":"firm"}}`)
	buyer.call("concordia_wait", session+`}`)
	buyer.call("concordia_inquire", session+`,"term_ids":["delivery"]}`)
	seller.call("concordia_wait", session+`}`)
	seller.call("concordia_constrain", session+`,"constraints":{"price":{"min":1600,"currency":"USD"}}}`)
	// Both name the same mediator, and it proposes.
	helper.call("concordia_wait", `{"after":0}`)
	helper.call("concordia_join", session+`}`)
	seller.call("concordia_nominate", session+`,"mediator_id":"`+string(agent("helper"))+`"}`)
	buyer.call("concordia_wait", session+`}`)
	buyer.call("concordia_nominate", session+`,"mediator_id":"`+string(agent("helper"))+`"}`)
	for v := helper.call("concordia_session_status", session+`}`); at(v, "transcript_length") != "7"; {
		v = helper.call("concordia_wait", session+`,"until":"change","version":`+at(v, "version")+`}`)
	}
	resolved := helper.call("concordia_resolve", session+`,"mechanism":"split"`+priced+`}`)
	if at(resolved, "role") != "mediator" {
		t.Errorf("resolved: %s", resolved)
	}
	for _, c := range []*client{seller, buyer} {
		for v := c.call("concordia_session_status", session+`}`); at(v, "transcript_length") != "8"; {
			v = c.call("concordia_wait", session+`,"until":"change","version":`+at(v, "version")+`}`)
		}
	}
	seller.call("concordia_accept", session+`}`)
	for v := buyer.call("concordia_session_status", session+`}`); at(v, "transcript_length") != "9"; {
		v = buyer.call("concordia_wait", session+`,"until":"change","version":`+at(v, "version")+`}`)
	}
	// The buyer's owner wants the boss to sign first.
	refused := buyer.refused("concordia_commit", session+`}`)
	draft, _ := refused.At("external", "needs", "0", "draft")
	approval, err := boss.Approval(draft)
	approval = value(t, approval, err)
	offer, _ := buyer.call("concordia_session_status", session+`}`).At("external", "offer")
	args := `{"receipt":` + approval.Canonical() + `,"offer":` + offer.Canonical() + `,"session_id":"` + id + `"}`
	if v := buyer.call("concordia_verify_approval_receipt", args); at(v, "valid") != "true" || at(v, "decision") != "approve" || at(v, "approver") != string(boss.Agent) {
		t.Errorf("approval: %s", v)
	}
	if v := buyer.call("concordia_verify_approval_receipt", strings.Replace(args, "2000", "2001", 1)); at(v, "valid") != "false" || at(v, "failure_reason") == "" {
		t.Errorf("approval of another offer: %s", v)
	}
	buyer.call("concordia_approve", `{"artifact":`+approval.Canonical()+`}`)
	buyer.call("concordia_present", session+`,"artifact":`+approval.Canonical()+`}`)
	if v := buyer.call("concordia_commit", session+`}`); at(v, "state") != "agreed" {
		t.Errorf("committed: %s", v)
	}
	view := seller.call("concordia_session_public_view", session+`}`)
	if strings.Contains(view.Canonical(), "did:key") || at(view, "transcript_hash_chain", "0") == "" {
		t.Errorf("public view: %s", view)
	}
	for _, c := range []*client{seller, buyer} {
		c.call("concordia_wait", session+`,"until":"receipt"}`)
	}
	receipt, _ := seller.call("concordia_session_receipt", session+`}`).Get("receipt")
	if v := seller.call("concordia_transcript", session+`,"from":7,"limit":2}`); at(v, "count") != "2" || at(v, "external", "messages", "0", "type") != "negotiate.resolve" {
		t.Errorf("transcript: %s", v)
	}
	if v := seller.call("concordia_agreement", session+`,"format":"acp"}`); at(v, "hash") == "" {
		t.Errorf("agreement: %s", v)
	}
	if v := seller.call("concordia_list_sessions", `{"state":"agreed","with":"`+string(agent("buyer"))+`"}`); at(v, "count") != "1" || at(v, "sessions", "0", "receipt") != "complete" {
		t.Errorf("sessions: %s", v)
	}

	bundle, err := issuer("seller").Bundle([]wire.Value{receipt})
	bundle = value(t, bundle, err)
	if v := buyer.call("concordia_verify_receipt_bundle", `{"bundle":`+bundle.Canonical()+`,"max_age_hours":1}`); at(v, "valid") != "true" || at(v, "proven", "agreements") != "1" || at(v, "summary_accurate") != "true" {
		t.Errorf("bundle: %s", v)
	}
	if v := buyer.call("concordia_verify_receipt_bundle", `{"bundle":`+strings.Replace(bundle.Canonical(), `"agreed"`, `"rejected"`, 1)+`}`); at(v, "valid") != "false" {
		t.Errorf("a forged bundle: %s", v)
	}
	proof, err := issuer("seller").Competence([]wire.Value{receipt})
	proof = value(t, proof, err)
	if v := buyer.call("concordia_verify_competence_proof", `{"proof":`+proof.Canonical()+`}`); at(v, "valid") != "true" || at(v, "aggregate_verified") != "false" || at(v, "claims_asserted_not_verified") != "true" {
		t.Errorf("a proof that reveals nothing: %s", v)
	}
}

func TestInvitations(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.agent("seller", mcpserver.Options{}, nil), w.agent("buyer", mcpserver.Options{}, nil)
	to := `,"responder_id":"` + string(agent("buyer")) + `","terms":` + camera
	// Handed over in some other way.
	seller.call("concordia_open_session", `{"session_id":"ses_other","way":"none"`+to+`}`)
	invitation, _ := seller.call("concordia_invitation", `{"session_id":"ses_other","to":"`+string(agent("buyer"))+`"}`).Get("invitation")
	v := buyer.call("concordia_take_invitation", `{"invitation":`+invitation.Canonical()+`}`)
	if at(v, "invitations", "0", "from_is_proven") != "true" {
		t.Errorf("taken: %s", v)
	}
	if v = buyer.refused("concordia_take_invitation", `{"invitation":{"from":"`+string(agent("seller"))+`"}}`); at(v, "code") == "internal" {
		t.Errorf("taking nonsense: %s", v)
	}
	if v = buyer.call("concordia_invitations", `{}`); at(v, "count") != "1" || at(v, "invitations", "0", "from") != string(agent("seller")) {
		t.Errorf("invitations: %s", v)
	}
	buyer.call("concordia_decline_invitation", `{"session_id":"ses_other"}`)
	// Read, and refused.
	seller.call("concordia_open_session", `{"session_id":"ses_read"`+to+`}`)
	for at(buyer.call("concordia_invitations", `{}`), "count") != "1" {
		buyer.call("concordia_wait", `{"timeout_seconds":10}`)
	}
	buyer.call("concordia_join", `{"session_id":"ses_read"}`)
	if v = buyer.call("concordia_decline_session", `{"session_id":"ses_read","reason":"no need"}`); at(v, "state") != "rejected" {
		t.Errorf("declined: %s", v)
	}
	if v = seller.call("concordia_wait", `{"session_id":"ses_read","until":"end"}`); at(v, "state") != "rejected" || at(v, "external", "reason") != "no need" {
		t.Errorf("the seller sees %s", v)
	}
}

// The one tool of SPEC §10.2 opens, goes on, and decides nothing.
func TestNegotiate(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.agent("seller", mcpserver.Options{}, nil), w.agent("buyer", mcpserver.Options{}, nil)
	if err := seller.node.SetContact(w.ctx, node.Contact{Agent: agent("buyer"), Name: "ada"}); err != nil {
		t.Fatal(err)
	}
	if v := seller.refused("concordia_negotiate", `{"counterparty":"ada"}`); at(v, "pointer") != "/terms" {
		t.Errorf("nothing to open with: %s", v)
	}
	opened := seller.call("concordia_negotiate", `{"counterparty":"ada","strategy":"SECRET","terms":`+camera+`}`)
	id := at(opened, "session_id")
	if at(opened, "opened") != "true" || at(opened, "next") == "" {
		t.Errorf("opened: %s", opened)
	}
	buyer.call("concordia_wait", `{"after":0}`)
	if v := buyer.call("concordia_negotiate", `{"counterparty":"`+string(agent("seller"))+`"}`); at(v, "session_id") != id || at(v, "state") != "invited" || !strings.Contains(at(v, "legal_tools"), "concordia_join") {
		t.Errorf("invited: %s", v)
	}
	session := `{"session_id":"` + id + `"`
	buyer.call("concordia_join", session+`}`)
	buyer.call("concordia_accept_session", session+`}`)
	seller.call("concordia_wait", session+`,"until":"active"}`)
	buyer.call("concordia_propose", session+priced+`}`)
	seller.call("concordia_wait", session+`}`) // it may speak already, and waits for the offer nevertheless
	v := seller.call("concordia_negotiate", `{"counterparty":"ada","strategy":"SECRET","terms":`+camera+`}`)
	if at(v, "opened") != "false" || at(v, "session_id") != id || at(v, "state") != "active" || at(v, "transcript_length") != "3" || !strings.Contains(at(v, "legal_tools"), "concordia_accept") {
		t.Errorf("going on: %s", v)
	}
	doc, err := buyer.node.Document(w.ctx, wire.SessionID(id))
	if err != nil || strings.Contains(doc.Canonical(), "SECRET") {
		t.Errorf("the strategy was sent (%v)", err)
	}
	if v = seller.call("concordia_withdraw", session+`}`); at(v, "state") != "rejected" {
		t.Errorf("withdrawn: %s", v)
	}
}

func TestVerifyMandate(t *testing.T) {
	w := newWorld(t)
	c := w.agent("seller", mcpserver.Options{}, nil)
	boss := issuer("boss")
	until := wire.FormatTime(boss.Now.Add(time.Hour))
	draft, err := wire.Parse([]byte(`{"subject":"`+string(agent("buyer"))+`","validity":{"mode":"windowed","not_before":"`+wire.FormatTime(boss.Now)+`","not_after":"`+until+`"},"constraints":{"type":"object","properties":{"amount":{"maximum":5}}}}`), wire.DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	mandate, err := boss.Mandate(draft)
	mandate = value(t, mandate, err)
	args := `{"mandate":` + mandate.Canonical()
	for _, test := range []struct{ name, more, valid, reason string }{
		{"an action that it allows", `,"action":{"amount":5}`, "true", ""},
		{"one that it does not", `,"action":{"amount":6}`, "false", "action"},
		{"no action", ``, "false", "action"},
		{"the key of somebody else", `,"action":{"amount":5},"issuer_public_key_b64":"` + key("other").Public().String() + `"`, "false", "signature"},
	} {
		if v := c.call("concordia_verify_mandate", args+test.more+`}`); at(v, "valid") != test.valid || at(v, "failure_reason") != test.reason && test.reason != "" || at(v, "subject") != string(agent("buyer")) {
			t.Errorf("%s: %s", test.name, v)
		}
	}
	for _, wrong := range []string{`,"algorithm":"ES256"`, `,"issuer_public_key_b64":"x"`, `,"delegation_keys":{"a":"x"}`} {
		c.refused("concordia_verify_mandate", args+wrong+`}`)
	}
	if v := c.call("concordia_verify_mandate", `{"mandate":{"x":1}}`); at(v, "valid") != "false" {
		t.Errorf("nonsense: %s", v)
	}
}

// Every tool is called by some test, and does what it is asked. One test alone does not
// call them all.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	all, _, _ := mcpserver.Tools()
	missing := slices.DeleteFunc(all, func(name string) bool { return done.tools[name] })
	if only := flag.Lookup("test.run").Value.String() + flag.Lookup("test.list").Value.String() + flag.Lookup("test.fuzz").Value.String() + flag.Lookup("test.skip").Value.String(); code == 0 && only == "" && len(missing) > 0 {
		fmt.Printf("no test calls %v\n", missing)
		code = 1
	}
	os.Exit(code)
}
