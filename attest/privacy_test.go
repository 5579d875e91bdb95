package attest_test

import (
	"fmt"
	"testing"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// A term is not hidden by what shows nothing, or by letters of another width.
func TestTellsTermsFolded(t *testing.T) {
	for text, want := range map[string]bool{
		"$\u200b500": true, "U\u200bSD 500": true, "500\u00ad USD": true, "\u20ac\u2060500": true, "price\u200b: low": true,
		"pri\u034fce: low": true, "q\ufe0fty 3": true, "12\u2800units": true, "order\u200b5 units": true, "order\ufeff5 units": true,
		"5\U000e0020 items": true, "U\ufeffSD 5": true, "5\u180eEUR": true,
		"\uff04500": true, "\uff35\uff33\uff24 500": true, "\uff35\uff53\uff44\uff15": true, "\ufe695": true, "\uffe15": true, "\uffe5 5": true,
		"\uff50\uff52\uff49\uff43\uff45\uff1a": true, "qty\uff1d\uff13": true,
		"as\u200bdescribed": false, "\uff41\uff53 \uff44\uff45\uff53\uff43\uff52\uff49\uff42\uff45\uff44": false, "\ufe0f": false, "five\u00ad units": false,
	} {
		if got := attest.TellsTerms(text); got != want {
			t.Errorf("TellsTerms(%+q) = %v", text, got)
		}
	}
}

// The summary may show the start of this transcript's hash, which can look like an
// amount of Canadian dollars; that of another hash is free text.
func TestHashIsNoAmount(t *testing.T) {
	const hash = "cad5" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
	v := edit(t, receiptOf(t, 0), `"sha256:`+hash+`"`, "transcript_hash")
	for text, want := range map[string]string{"cad5012345678": "deal-terms at /summary", "cad5012345678901": "deal-terms at /summary", hash[:16]: ""} {
		signed := signAll(t, v.With("summary", wire.Text("Outcome: AGREED\nTranscript hash: "+text)))
		if _, report := everybody(t).VerifyAttestation(signed); verdict(report) != want {
			t.Errorf("%s: %v, want %q", text, report.Err(), want)
		}
	}
}

// What a party writes into the extensions of a reference, or as the name of a
// disputed term, is free text; who complains is an id.
func TestPrivacyEverywhere(t *testing.T) {
	reference := func(extensions string) string {
		return `[{"type":"receipt","id":"att_0","relationship":"extends"},{"type":"receipt","id":"att_00","relationship":"extends","extensions":` + extensions + `}]`
	}
	hash := wire.HashOf("x").String()
	for _, test := range []struct {
		pointer, text, want string
	}{
		{"references", reference(`{"note":"as described","hash":"` + hash + `","urn":"urn:x:500usd"}`), ""},
		{"references", reference(`{"note":"price: 500 USD for 12 units"}`), "deal-terms at /references/1/extensions/note"},
		{"references", reference(`{"a":[{"$500":1}]}`), "deal-terms at /references/1/extensions/a/0/$500"},
		{"references", reference(`{"hash":"sha256:USD1500"}`), "deal-terms at /references/1/extensions/hash"},
		{"fulfillment", `{"status":"disputed","settled_at":"2026-09-14T09:10:00Z","disputes":[{},{"term_id":"price: 500 USD"}]}`, "deal-terms at /fulfillment/disputes/1/term_id"},
		{"fulfillment", `{"status":"disputed","settled_at":"2026-09-14T09:10:00Z","disputes":[{"term_id":"unit_price","complainant_agent_id":"shop-500USD"}]}`, ""},
	} {
		v := signAll(t, edit(t, receiptOf(t, 0), test.text, test.pointer))
		if _, report := everybody(t).VerifyAttestation(v); verdict(report) != test.want {
			t.Errorf("%s %s: %v, want %q", test.pointer, test.text, report.Err(), test.want)
		}
	}
	f := verifier(t, carrier)
	for text, want := range map[string]string{
		hash: "", "sha256:USD1500": "deal-terms at /meta/resolution_outcome", hash + " 5 EUR": "deal-terms at /meta/resolution_outcome",
	} {
		v := signSettlement(t, edit(t, settlement(t), fmt.Sprintf("%q", text), "meta", "resolution_outcome"))
		if _, report := f.VerifyFulfillment(v, ""); verdict(report) != want {
			t.Errorf("%s: %v, want %q", text, report.Err(), want)
		}
	}
}
