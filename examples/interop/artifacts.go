package main

import (
	"crypto/sha256"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// An artifact is a sample that stands for itself: a case (SPEC §12.3), which holds
// what was issued, the keys and the time to judge it with, and what the judge knows
// besides.
type artifact struct {
	name    string
	kind    string
	input   wire.Value
	context wire.M
	rejects bool // to reject is the right answer
	why     string

	unlisted bool // it has what the published schemas have no place for
}

// issued is when artifacts are issued, after the sessions; judged is when they are to
// be judged.
var (
	issued = began.Add(4 * time.Hour)
	judged = issued.Add(time.Hour)
)

// The agents that issue artifacts. The parties of the sessions are seller and buyer.
const (
	authority = "did:web:authority.example"
	agent     = "did:web:agent.example"
	deputy    = "did:web:deputy.example"
	provider  = "did:web:provider.example"
	curve     = "did:web:curve.example" // whose key is on P-256
	alpha     = "did:web:alpha.example"
	beta      = "did:web:beta.example"
)

var agents = []string{"seller", "buyer", "neighbour", authority, agent, deputy, provider, curve, alpha, beta}

// signer returns the key of an agent: of that name, or on P-256 of the scalar that is
// that name.
func signer(name string) wire.PrivateKey {
	if name != curve {
		return key(name)
	}
	k, err := wire.NewP256Key(key(name).Seed())
	check(err)
	return k
}

// issuer is an agent that is about to issue the artifact of that name. Its ids are
// drawn from ChaCha8, whose seed is the SHA-256 of the name.
func issuer(who, name string) attest.Issuer {
	keys := wire.KeyMap{}
	for _, a := range agents {
		keys[wire.AgentID(a)] = signer(a).Public()
	}
	return attest.Issuer{
		Agent: wire.AgentID(who), Key: signer(who), Now: issued, Keys: keys,
		Random: rand.NewChaCha8(sha256.Sum256([]byte(name))),
	}
}

// document returns the case.
func (a artifact) document() wire.M {
	keys, expected := wire.M{}, "accept"
	for _, name := range agents {
		keys[name] = signer(name).Public()
	}
	if kid, ok := a.input.At("provider", "kid"); ok { // an envelope names a key, not an agent
		did, _ := a.input.At("provider", "did")
		keys[kid.Text()] = keys[did.Text()]
	}
	if a.rejects {
		expected = "reject"
	}
	if a.context == nil {
		a.context = wire.M{}
	}
	doc := wire.M{
		"id": a.name, "kind": a.kind, "public_keys": keys, "now": wire.FormatTime(judged), "input": a.input,
		"context": a.context, "expected": expected,
	}
	if a.why != "" {
		doc["why"] = a.why
	}
	return doc
}

// artifacts makes all of them. Some are made of the receipts of the sessions.
func artifacts(receipts map[string]attest.Draft) []artifact {
	return slices.Concat(
		approvals(), fulfillments(receipts["agreed"]), revocations(), cascades(), mandates(), predicates(), profiles(), records(),
		attestations(receipts), histories(receipts), envelopes(receipts["agreed"]), reputations(receipts), parts(), chains(),
	)
}

// must returns what was issued.
func must(v wire.Value, err error) wire.Value {
	check(err)
	return v
}
