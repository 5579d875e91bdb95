package session

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

// A Format is a settlement protocol to which an agreement is handed over (SPEC
// §10.3, §10.4).
type Format string

// The formats of Export.
const (
	FormatJSON Format = "json" // the agreement itself
	FormatACP  Format = "acp"  // a checkout of the Agentic Commerce Protocol, and of UCP
	FormatAP2  Format = "ap2"  // an intent mandate of the Agent Payments Protocol
	FormatX402 Format = "x402" // payment requirements of x402, version 2
)

// Formats returns the formats of Export.
func Formats() []Format { return []Format{FormatJSON, FormatACP, FormatAP2, FormatX402} }

// What keeps an agreement from being exported.
var (
	ErrNoPrice  = errors.New("the agreement has no price: no number in the term that settlement.price names (by default \"price\"), or no currency")
	ErrNoExpiry = errors.New("the mandate needs an end: settlement.expires_after in open gives it")
	ErrNoMeans  = errors.New("settlement.x402 in open has to give network, asset, pay_to and decimals")
	ErrFraction = errors.New("the price is no whole number of the asset's smallest unit")
	ErrQuantity = errors.New("the quantity is no whole number of at least 1")
	ErrFormat   = errors.New("want one of json, acp, ap2, x402")
)

// Export returns the agreement in a format of a settlement protocol. It carries
// the agreement's hash, so that whoever settles can ask for the agreement and its
// receipt. (SPEC §10.3, §10.4)
func (a Agreement) Export(as Format) (wire.Value, error) {
	v, err := a.Value()
	if err != nil {
		return v, err
	}
	hash := v.Hash()
	switch as {
	case FormatJSON:
		return v, nil
	case FormatACP:
		return a.acp(hash)
	case FormatAP2:
		return a.ap2(hash)
	case FormatX402:
		return a.x402(hash)
	}
	return v, ErrFormat
}

// hint returns a text of the settlement hints, or otherwise.
func (a Agreement) hint(name, otherwise string) string {
	if v, ok := a.Settlement.Get(name); ok && v.Text() != "" {
		return v.Text()
	}
	return otherwise
}

// A price is an exact decimal amount.
type price struct {
	amount   *big.Rat
	currency string
}

func (p price) value() wire.M {
	decimals, _ := p.amount.FloatPrec()
	return wire.M{"value": p.amount.FloatString(decimals), "currency": p.currency}
}

func (a Agreement) price() (price, error) {
	term, _ := a.Terms.Get(a.hint("price", "price"))
	value, _ := term.Get("value")
	currency := a.hint("currency", "")
	if c, ok := term.Get("currency"); ok {
		currency = c.Text()
	}
	amount, ok := new(big.Rat).SetString(value.Canonical())
	if !ok || value.Kind() != wire.Number || amount.Sign() < 0 || currency == "" {
		return price{}, ErrNoPrice
	}
	return price{amount, currency}, nil
}

// payee returns who is paid: the initiator unless the hints say otherwise.
func (a Agreement) payee() string { return a.hint("payee", string(a.Parties[0])) }

// text returns the value of a term as text, "" if it has none.
func (a Agreement) text(term string) string {
	object, _ := a.Terms.Get(term)
	v, _ := object.Get("value")
	return v.Text()
}

// reference is how an exported form names the agreement it comes from.
func (a Agreement) reference(hash wire.Hash) wire.M {
	return wire.M{"agreement": hash, "session_id": a.Session, "negotiation_ref": a.Head}
}

func (a Agreement) acp(hash wire.Hash) (wire.Value, error) {
	p, err := a.price()
	if err != nil {
		return wire.Value{}, err
	}
	used := map[string]bool{a.hint("price", "price"): true}
	quantity := int64(1)
	if term, ok := a.Terms.Get("quantity"); ok {
		if v, _ := term.Get("value"); v.Kind() == wire.Number {
			used["quantity"] = true
			if quantity, ok = v.Int(); !ok || quantity < 1 {
				return wire.Value{}, ErrQuantity
			}
		}
	}
	// take returns the text of the first of the terms that has one.
	take := func(terms ...string) string {
		for _, id := range terms {
			if text := a.text(id); text != "" {
				used[id] = true
				return text
			}
		}
		return ""
	}
	title := take("item")
	fulfillment := wire.M{}
	if text := take("delivery_method", "delivery"); text != "" {
		fulfillment["method"] = text
	}
	if text := take("delivery_date"); text != "" {
		fulfillment["expected_date"] = text
	}
	extensions := wire.M{}
	for _, t := range a.Terms {
		if !used[t.ID] {
			extensions[t.ID], _ = t.Object.Get("value")
		}
	}
	metadata := a.reference(hash)
	if !a.Expires.IsZero() {
		metadata["expires_at"] = wire.FormatTime(a.Expires)
	}
	return wire.Encode(wire.M{
		"line_items": []wire.M{{
			"item":     wire.M{"id": string(a.Session), "title": title},
			"quantity": quantity, "price": p.value(),
		}},
		"seller":      a.payee(),
		"fulfillment": fulfillment,
		"extensions":  extensions,
		"payment":     wire.M{"authorization_proof": hash},
		"metadata":    metadata,
	})
}

func (a Agreement) ap2(hash wire.Hash) (wire.Value, error) {
	p, err := a.price()
	if err != nil {
		return wire.Value{}, err
	}
	if a.Expires.IsZero() {
		return wire.Value{}, ErrNoExpiry
	}
	var terms []string
	for id, object := range a.Terms.Value().Members() {
		v, _ := object.Get("value")
		terms = append(terms, id+" "+v.Canonical())
	}
	return wire.Encode(wire.M{
		"ap2.mandates.IntentMandate": wire.M{
			"user_cart_confirmation_required": true,
			"natural_language_description":    fmt.Sprintf("What was agreed in %s: %s", a.Session, strings.Join(terms, ", ")),
			"merchants":                       []string{a.payee()},
			"requires_refundability":          false,
			"intent_expiry":                   wire.FormatTime(a.Expires),
		},
		"limit":     wire.M{"amount": p.value(), "label": "total"},
		"concordia": a.reference(hash),
	})
}

func (a Agreement) x402(hash wire.Hash) (wire.Value, error) {
	p, err := a.price()
	if err != nil {
		return wire.Value{}, err
	}
	means, _ := a.Settlement.Get("x402")
	text := func(name, otherwise string) string {
		if v, ok := means.Get(name); ok {
			return v.Text()
		}
		return otherwise
	}
	timeout, decimals := int64(60), int64(-1)
	if v, ok := means.Get("max_timeout_seconds"); ok {
		timeout, _ = v.Int()
	}
	if v, ok := means.Get("decimals"); ok {
		decimals, _ = v.Int()
	}
	network, asset, payTo := text("network", ""), text("asset", ""), text("pay_to", "")
	if network == "" || asset == "" || payTo == "" || decimals < 0 || decimals > 36 || timeout < 1 {
		return wire.Value{}, ErrNoMeans
	}
	units := new(big.Rat).Mul(p.amount, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(decimals), nil)))
	if !units.IsInt() {
		return wire.Value{}, ErrFraction
	}
	return wire.Encode(wire.M{
		"x402Version": 2,
		"accepts": []wire.M{{
			"scheme": text("scheme", "exact"), "network": network, "asset": asset, "payTo": payTo,
			"amount": units.Num().String(), "maxTimeoutSeconds": timeout,
			"extra": wire.M{"currency": p.currency, "concordia": a.reference(hash)},
		}},
	})
}
