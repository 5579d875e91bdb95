package session_test

import (
	"errors"
	"testing"

	"github.com/concordia-node/concordia/session"
)

// agree plays a two-party session to the end and returns its agreement.
func agree(t *testing.T, terms, settlement, offered string) session.Agreement {
	t.Helper()
	p := newPlayer(t)
	p.line(`+0s seller open -> buyer {"terms": ` + terms + `, "settlement": ` + settlement + `}`)
	p.line(`+1s buyer accept_session`)
	p.line(`+1s seller offer {"offer_id": "o1", "terms": ` + offered + `, "complete": true}`)
	p.line(`+1s buyer accept {"offer_id": "o1"}`)
	a, err := p.log.Session().Agreement()
	if err != nil {
		t.Fatalf("%v\n%s", err, p.out.String())
	}
	return a
}

const cameraTerms = `{"item": {"type": "text"}, "price": {"type": "numeric"}, "delivery": {}, "delivery_date": {"type": "temporal"}, "warranty": {"type": "boolean"}}`

const cameraDeal = `{"item": {"value": "Camera"}, "price": {"value": 2050.5, "currency": "USD"}, "delivery": {"value": "shipping"}, "delivery_date": {"value": "2026-12-05"}, "warranty": {"value": true}}`

func TestExport(t *testing.T) {
	a := agree(t, cameraTerms, `{"expires_after": 3600, "x402": {"network": "eip155:8453", "asset": "0xA", "pay_to": "0xB", "decimals": 6}}`, cameraDeal)
	v, err := a.Value()
	if err != nil {
		t.Fatal(err)
	}
	reference := `"agreement":"` + v.Hash().String() + `","negotiation_ref":"` + a.Head.String() + `","session_id":"ses_golden"`
	for _, test := range []struct {
		as   session.Format
		want string
	}{
		{session.FormatJSON, v.Canonical()},
		{session.FormatACP, `{"extensions":{"warranty":true},"fulfillment":{"expected_date":"2026-12-05","method":"shipping"},"line_items":[{"item":{"id":"ses_golden","title":"Camera"},"price":{"currency":"USD","value":"2050.5"},"quantity":1}],"metadata":{"agreement":"` + v.Hash().String() + `","expires_at":"2026-09-14T10:00:03Z","negotiation_ref":"` + a.Head.String() + `","session_id":"ses_golden"},"payment":{"authorization_proof":"` + v.Hash().String() + `"},"seller":"seller"}`},
		{session.FormatAP2, `{"ap2.mandates.IntentMandate":{"intent_expiry":"2026-09-14T10:00:03Z","merchants":["seller"],"natural_language_description":"What was agreed in ses_golden: delivery \"shipping\", delivery_date \"2026-12-05\", item \"Camera\", price 2050.5, warranty true","requires_refundability":false,"user_cart_confirmation_required":true},"concordia":{` + reference + `},"limit":{"amount":{"currency":"USD","value":"2050.5"},"label":"total"}}`},
		{session.FormatX402, `{"accepts":[{"amount":"2050500000","asset":"0xA","extra":{"concordia":{` + reference + `},"currency":"USD"},"maxTimeoutSeconds":60,"network":"eip155:8453","payTo":"0xB","scheme":"exact"}],"x402Version":2}`},
	} {
		got, err := a.Export(test.as)
		if err != nil || got.Canonical() != test.want {
			t.Errorf("%s: %v\n got %s\nwant %s", test.as, err, got, test.want)
		}
	}
}

func TestExportRefuses(t *testing.T) {
	const x402 = `"x402": {"network": "n", "asset": "a", "pay_to": "p", "decimals": 0}`
	for _, test := range []struct {
		name, settlement, price string
		as                      session.Format
		want                    error
	}{
		{"no currency", `{}`, `{"value": 3}`, session.FormatACP, session.ErrNoPrice},
		{"currency from the hints", `{"currency": "EUR"}`, `{"value": 3}`, session.FormatACP, nil},
		{"no such price", `{"price": "cost"}`, `{"value": 3, "currency": "EUR"}`, session.FormatACP, session.ErrNoPrice},
		{"negative price", `{}`, `{"value": -3, "currency": "EUR"}`, session.FormatACP, session.ErrNoPrice},
		{"no end", `{}`, `{"value": 3, "currency": "EUR"}`, session.FormatAP2, session.ErrNoExpiry},
		{"no means", `{}`, `{"value": 3, "currency": "EUR"}`, session.FormatX402, session.ErrNoMeans},
		{"half a unit", `{` + x402 + `}`, `{"value": 3.5, "currency": "EUR"}`, session.FormatX402, session.ErrFraction},
		{"whole units", `{` + x402 + `}`, `{"value": 3, "currency": "EUR"}`, session.FormatX402, nil},
		{"large and exact", `{` + x402 + `}`, `{"value": 1e21, "currency": "EUR"}`, session.FormatX402, nil},
		{"no such format", `{}`, `{"value": 3, "currency": "EUR"}`, "pdf", session.ErrFormat},
	} {
		a := agree(t, `{"price": {"type": "numeric"}}`, test.settlement, `{"price": `+test.price+`}`)
		if _, err := a.Export(test.as); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
	if _, err := session.New("ses", nil).Agreement(); !errors.Is(err, session.ErrNotAgreed) {
		t.Errorf("no agreement: %v", err)
	}
}
