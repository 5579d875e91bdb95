package attest_test

import (
	"strings"
	"testing"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// didOf is the did:key of a test key as cosigned receipts spell it.
func didOf(tb testing.TB, who string) string {
	return string(wire.ReferenceDIDKey(key(tb, who).Public()))
}

// cosigned is a sound receipt that "publisher" presents and "cosigner" signed.
func cosigned(tb testing.TB) wire.Value {
	return cosign(tb, parse(tb, `{
		"concordia":"0.5","session_id":"ses_1","counterparty_did":"`+didOf(tb, "cosigner")+`",
		"outcome":{"status":"agreed","rounds":3,"duration_seconds":140,"terms_count":2},
		"parties":[
			{"agent_id":"`+didOf(tb, "publisher")+`","role":"initiator","behavior":{"concessions":1}},
			{"agent_id":"`+didOf(tb, "cosigner")+`","role":"responder","behavior":{},"signature":"x"}],
		"fulfillment":{"status":"fulfilled"},"graceful_degradation":false}`))
}

// unpadded is who's signature of v as cosigned receipts spell it.
func unpadded(tb testing.TB, v wire.Value, who string) wire.Value {
	return wire.Text(strings.TrimRight(signature(tb, v, who).Text(), "="))
}

// cosign signs v anew as the counterparty, where it has its signature.
func cosign(tb testing.TB, v wire.Value) wire.Value { return signParty(tb, v, 1, "cosigner") }

func signParty(tb testing.TB, v wire.Value, i int, who string) wire.Value {
	parties, _ := v.Get("parties")
	if parties.Kind() != wire.Array || parties.Len() <= i {
		return v
	}
	entry := mustAt(tb, parties, []string{"0", "1", "2"}[i])
	if text, _ := entry.Get("signature"); text.Kind() != wire.String {
		return v
	}
	return v.With("parties", parties.WithElem(i, entry.With("signature", unpadded(tb, v.StripSignatures(), who))))
}

func cosignSpecimen(tb testing.TB) specimen {
	publisher := wire.AgentID(didOf(tb, "publisher"))
	return specimen{
		name: "cosigned", value: cosigned(tb), sign: cosign,
		verify: func(v wire.Value) wire.Report {
			_, report := attest.Verifier{Now: judged}.VerifyCosigned(v, publisher)
			return report
		},
		tolerated: map[string]string{"drop /parties/0/behavior/concessions": "optional"},
	}
}

func TestCosigned(t *testing.T) {
	third := func(id, role string) string {
		return `[` + mustAt(t, cosigned(t), "parties", "0").Canonical() + `,` + mustAt(t, cosigned(t), "parties", "1").Canonical() +
			`,{"agent_id":"` + id + `","role":"` + role + `","behavior":{}}]`
	}
	publisher, cosigner := didOf(t, "publisher"), didOf(t, "cosigner")
	for _, test := range []struct {
		rule string
		path []string
		text string
	}{
		{"", []string{"outcome", "status"}, `"expired"`},
		{"", []string{"outcome", "terms_count"}, `0`},
		{"", []string{"graceful_degradation"}, `true`},
		{"", []string{"note"}, `"what the schema does not name is signed"`},
		{"", []string{"parties", "0", "agent_id"}, `"` + publisher + `"`},
		{"", []string{"parties"}, third("did:web:ombud", "mediator")},
		{"cosigned-receipt at /outcome/rounds", []string{"outcome", "rounds"}, `-1`},
		{"cosigned-receipt at /concordia", []string{"concordia"}, `"v1"`},
		{"cosigned-receipt at /session_id", []string{"session_id"}, `"ses 1"`},
		{"cosigned-receipt at /parties/0/role", []string{"parties", "0", "role"}, `"buyer"`},
		{"cosigned-receipt at /parties/1/signature", []string{"parties", "1", "signature"}, `{"value":"x"}`},
		{"cosign-entry at /parties", []string{"parties"}, third(cosigner, "witness")},
		{"cosign-entry at /parties", []string{"parties", "1", "agent_id"}, `"did:web:other"`},
		{"cosign-parties at /parties/2/agent_id", []string{"parties"}, third(publisher, "initiator")},
		{"cosign-parties at /parties/2/role", []string{"parties"}, third("did:web:other", "responder")},
		{"cosign-parties at /parties/0/role", []string{"parties", "0", "agent_id"}, `"did:web:other"`},
		{"cosign-parties at /parties", []string{"parties", "0", "role"}, `"responder"`},
		{"cosign-parties at /parties/1/role", []string{"parties", "1", "role"}, `"witness"`},
		{"cosign-unsigned at /signature", []string{"signature"}, `"x"`},
		{"cosign-unsigned at /outcome/signature", []string{"outcome", "signature"}, `{"price":"4800 EUR"}`},
		{"cosign-unsigned at /parties/0/behavior/signature", []string{"parties", "0", "behavior", "signature"}, `"x"`},
		{"cosign-unsigned at /list/0/signature", []string{"list"}, `[{"signature":[]}]`},
		{"deal-terms at /note", []string{"note"}, `"4800 EUR"`},
		{"deal-terms at /parties/0/behavior/note", []string{"parties", "0", "behavior", "note"}, `"price: low"`},
	} {
		v := cosign(t, edit(t, cosigned(t), test.text, test.path...))
		c, report := attest.Verifier{Now: judged}.VerifyCosigned(v, wire.AgentID(publisher))
		if got := verdict(report); got != test.rule {
			t.Errorf("%v %s: got %q, want %q", test.path, test.text, got, test.rule)
		}
		if test.path[0] == "note" && (c.Session != "ses_1" || c.Status != "agreed" || c.Rounds != 3 || len(c.Parties) < 2 || c.Counterparty != wire.AgentID(cosigner)) {
			t.Errorf("read %+v", c)
		}
	}
	// Its roles may be the other way round.
	v := edit(t, edit(t, cosigned(t), `"responder"`, "parties", "0", "role"), `"initiator"`, "parties", "1", "role")
	if _, report := (attest.Verifier{}).VerifyCosigned(cosign(t, v), wire.AgentID(publisher)); report.Err() != nil {
		t.Error(report.Err())
	}
}

// rename gives the counterparty another id, and has "cosigner" sign for it.
func rename(t *testing.T, id wire.AgentID) wire.Value {
	v := edit(t, cosigned(t), `"`+string(id)+`"`, "counterparty_did")
	return cosign(t, edit(t, v, `"`+string(id)+`"`, "parties", "1", "agent_id"))
}

func TestCosignKey(t *testing.T) {
	publisher, cosigner := wire.AgentID(didOf(t, "publisher")), wire.AgentID(didOf(t, "cosigner"))
	base58 := wire.DIDKey(key(t, "cosigner").Public())
	for _, test := range []struct {
		name      string
		v         wire.Value
		publisher wire.AgentID
		keys      wire.Keys
		want      string
	}{
		{"sound", cosigned(t), publisher, wire.KeyMap{cosigner: key(t, "cosigner").Public()}, ""},
		{"base58", rename(t, base58), publisher, nil, "cosign-key at /counterparty_did"},
		{"not a key", rename(t, "did:web:cosigner"), publisher, wire.KeyMap{"did:web:cosigner": key(t, "cosigner").Public()}, "cosign-key at /counterparty_did"},
		{"padded", rename(t, cosigner+"="), publisher, nil, "cosign-key at /counterparty_did"},
		{"another key known", cosigned(t), publisher, wire.KeyMap{cosigner: key(t, "other").Public()}, "cosign-key at /counterparty_did"},
		{"signed by the publisher", signParty(t, cosigned(t), 1, "publisher"), publisher, nil, "cosign-signature at /parties/1/signature"},
		{"its own publisher", cosigned(t), cosigner, nil, "cosign-publisher at /counterparty_did"},
		{"its own publisher, spelled otherwise", cosigned(t), base58, nil, "cosign-publisher at /counterparty_did"},
		{"another publisher", cosigned(t), "did:web:other", nil, "cosign-parties at /parties/0/role"},
		{"not signed", edit(t, cosigned(t), "", "parties", "1", "signature"), publisher, nil, "cosign-signature at /parties/1/signature"},
	} {
		_, report := attest.Verifier{Keys: test.keys, Now: judged}.VerifyCosigned(test.v, test.publisher)
		if got := verdict(report); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	if _, report := (attest.Verifier{}).VerifyCosigned(cosigned(t), ""); report.Outcome() != wire.NotChecked {
		t.Error("nobody published it:", report.Err())
	}
}

// The signature has one spelling.
func TestCosignSpelling(t *testing.T) {
	publisher := wire.AgentID(didOf(t, "publisher"))
	text := mustAt(t, cosigned(t), "parties", "1", "signature").Text()
	for name, other := range map[string]string{
		"padded":        text + "==",
		"line break":    text[:10] + "\n" + text[10:],
		"unused bits":   text[:len(text)-1] + string(text[len(text)-1]+1),
		"one too short": text[:len(text)-1],
	} {
		v := edit(t, cosigned(t), wire.Text(other).Canonical(), "parties", "1", "signature")
		if _, report := (attest.Verifier{}).VerifyCosigned(v, publisher); verdict(report) != "cosign-signature at /parties/1/signature" {
			t.Errorf("%s: %v", name, report.Err())
		}
	}
}

// A signature of the publisher is looked at, and decides nothing.
func TestCosignPublisherSignature(t *testing.T) {
	publisher := wire.AgentID(didOf(t, "publisher"))
	with := edit(t, cosigned(t), `"x"`, "parties", "0", "signature")
	for who, want := range map[string]wire.Outcome{"publisher": wire.Passed, "other": wire.Failed} {
		_, report := (attest.Verifier{}).VerifyCosigned(signParty(t, with, 0, who), publisher)
		if last := report[len(report)-1]; last.Outcome != want || report.Outcome() != wire.Passed {
			t.Errorf("%s: %v, %v", who, last, report.Err())
		}
	}
}

// The public contract reads no more than the parties: what is not of the schema is
// a matter of what was signed.
func TestReadCosignedParties(t *testing.T) {
	counterparty := wire.AgentID(didOf(t, "cosigner"))
	verify := func(v wire.Value) string {
		c, err := attest.ReadCosignedParties(v, counterparty)
		if err != nil {
			return broke(err)
		}
		s := &attest.CosignSubject{Receipt: c, Publisher: "did:web:publisher"}
		return verdict(wire.Run(s, attest.CosignChecks()[:4]...))
	}
	bare := `{"parties":[{"agent_id":"` + string(counterparty) + `","signature":"x"}]}`
	for _, test := range []struct {
		v    wire.Value
		want string
	}{
		{signParty(t, parse(t, bare), 0, "cosigner"), ""},
		{parse(t, bare), "cosign-signature at /parties/0/signature"},
		{parse(t, `{"parties":[{"agent_id":7}]}`), "cosign-entry at /parties"},
		{parse(t, `{"parties":{}}`), "cosigned-receipt at /parties"},
		{parse(t, `[]`), "cosigned-receipt at "},
		{edit(t, cosigned(t), "", "parties"), "cosigned-receipt at /parties"},
		{parse(t, strings.Repeat(`[`, wire.MaxDepth+1)+strings.Repeat(`]`, wire.MaxDepth+1)), "json-depth at "},
	} {
		if got := verify(test.v); got != test.want {
			t.Errorf("%.80s: got %q, want %q", test.v, got, test.want)
		}
	}
}
