package main

import (
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// A telling is a text, and whether it tells a term of the deal.
type telling struct {
	name, text string
	fine       bool
	apart      bool // in a spelling that the published expressions do not know
}

// tellings has each detector alone, at its edges and in other scripts.
var tellings = []telling{
	{name: "sign", text: "sold for $5"}, {name: "sign-spaced", text: "sold for €  4800"}, {name: "sign-pound", text: "£1"}, {name: "sign-yen", text: "¥900"},
	{name: "code-first", text: "EUR 4800"}, {name: "code-joined", text: "for CHF12 in all"}, {name: "code-lower-case", text: "usd 12"},
	{name: "code-last", text: "4800 EUR"}, {name: "code-last-joined", text: "it was 4800gbp then"}, {name: "code-fraction", text: "0.99 CAD"}, {name: "code-comma", text: "48,5 AUD"},
	{name: "code-rupee", text: "90 INR"}, {name: "code-yuan", text: "CNY 8"}, {name: "code-yen", text: "100 JPY"},
	{name: "price", text: "Price: low"}, {name: "price-spaced", text: "the price  : low"},
	{name: "quantity", text: "quantity 60"}, {name: "quantity-short", text: "qty=60"}, {name: "quantity-colon", text: "Qty : 7"}, {name: "quantity-joined", text: "qty7"},
	{name: "units", text: "60 units"}, {name: "unit", text: "1 unit"}, {name: "items", text: "3items"}, {name: "pieces", text: "12 pieces"}, {name: "pcs", text: "12 PCS"},
	{name: "on-two-lines", text: "4800\nEUR"},
	{name: "no-break-space", text: "4800\u00a0eur", apart: true}, {name: "arabic-digit", text: "€\u202f\u0663", apart: true},
	{name: "fullwidth-digit", text: "price\u3000: \uff15", apart: true}, {name: "long-s", text: "5 unit\u017f", apart: true}, {name: "control-space", text: "4800\u001ceur", apart: true},

	{name: "word-before-code", text: "agent_5usd wrote", fine: true}, {name: "reprice", text: "reprice: no", fine: true}, {name: "code-alone", text: "paid in EUR", fine: true},
	{name: "number-alone", text: "took 4800 seconds", fine: true}, {name: "code-in-word", text: "5 eurasian plates", fine: true}, {name: "unit-in-word", text: "2 united parties", fine: true},
	{name: "price-without-colon", text: "the price was fair", fine: true}, {name: "quantity-alone", text: "the quantity was right", fine: true}, {name: "sign-alone", text: "paid in $", fine: true},
	{name: "code-before-letter", text: "EUR-zone 5", fine: true},
}

const (
	toldWhy    = "free text tells no price, no amount and no quantity"
	toldBreaks = "the terms of a deal, which nobody but its parties should know, are public with its receipt"
)

// told are the tellings in the text at a pointer.
func told(prefix, at string, shared bool) []fault {
	var list []fault
	for i, t := range tellings {
		f := fault{name: prefix + "-tells-" + t.name, rule: attest.RuleDealTerms, shared: shared && i%4 == 0 && !t.apart, edit: set(at, wire.Text(t.text).Canonical()), why: toldWhy, breaks: toldBreaks}
		if t.fine {
			f.name, f.rule, f.breaks = prefix+"-does-not-tell-"+t.name, nil, ""
			f.why = "what merely looks like a term is not one: a verifier that refuses it refuses honest receipts"
		}
		list = append(list, f)
	}
	return list
}

// few are the tellings of one of each detector, for a text that is scanned like
// another.
func few(prefix, at string, shared bool) []fault {
	var list []fault
	for _, f := range told(prefix, at, shared) {
		for _, name := range []string{"sign", "code-first", "code-last", "price", "quantity", "units", "number-alone"} {
			if strings.HasSuffix(f.name, "-tells-"+name) || strings.HasSuffix(f.name, "-does-not-tell-"+name) {
				list = append(list, f)
			}
		}
	}
	return list
}

func attestationPrivacy() []fault {
	list := append(told("summary", "/summary", true), few("extension", "/meta/extensions_used/0", true)...)
	amount := wire.HashOf("x") // stands for a transcript whose hash begins like an amount
	return append(list,
		fault{name: "summary-with-hash-of-another", rule: attest.RuleDealTerms, shared: true, edit: set("/summary", `"Transcript hash: cad5000000000000"`),
			why: "only the line with the attestation's own transcript hash is no free text", breaks: toldBreaks},
		fault{name: "summary-with-own-hash", edit: all(set("/transcript_hash", `"sha256:cad5000000000000`+amount.Hex()[16:]+`"`), set("/summary", `"Outcome: AGREED\nTranscript hash: cad5000000000000"`)),
			why: "the line with the attestation's own transcript hash is no free text, although its digits may look like an amount"},
		fault{name: "summary-with-own-hash-and-more", rule: attest.RuleDealTerms, edit: all(set("/transcript_hash", `"sha256:cad5000000000000`+amount.Hex()[16:]+`"`), set("/summary", `"Transcript hash: cad5000000000000 EUR 4800"`)),
			why: "the line is exempt as a whole or not at all", breaks: toldBreaks},
	)
}
