// Package endpoint asks the revocation endpoints that mandates and predicates name
// whether they still stand (SPEC §9.9, §9.10).
//
//	f := attest.Verifier{Keys: keys, Now: now, Listed: endpoint.Listed(ctx, nil)}
//	_, report := f.VerifyMandate(received, use)
//
// An endpoint is an https URL that answers with the ids of what its issuer revoked:
//
//	{"revoked_ids": ["urn:concordia:mandate:…", …]}
//
// Whoever issues an artifact writes the URL, so that it is asked over a client that
// dials public addresses only. An answer is read strictly: one that is not of this
// form says nothing at all, and what says nothing leaves open whether the artifact
// stands.
//
// # Trust
//
// The list is signed by nobody. It is what the host says that the issuer named, and a
// host that lies can hide a revocation, or claim one. What must not be hidden belongs
// into a revocation record (SPEC §9.6.4c).
package endpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/concordia-node/concordia/internal/outbound"
	"github.com/concordia-node/concordia/wire"
)

// Bounds of an answer.
const (
	MaxAnswerSize = 1 << 20 // bytes
	maxDepth      = 16
	maxValues     = 1 << 16
)

// DefaultMaxEndpoints is how many endpoints one verification asks.
const DefaultMaxEndpoints = outbound.DefaultMaxQuestions

// A Fetch returns what is at an https URL that a stranger wrote. It has to be careful
// whom it connects to, and to bound time and size; nil stands for one that is: HTTPS,
// public addresses only, no proxy and no redirect, ten seconds at most.
type Fetch func(ctx context.Context, url string) ([]byte, error)

// Ask reports whether the endpoint at url lists id as revoked. An error says that it is
// not known.
func Ask(ctx context.Context, fetch Fetch, url, id string) (revoked bool, err error) {
	ids, err := list(ctx, fetch, url)
	return ids[id], err
}

// Listed returns what attest.Verifier.Listed wants, for one verification, which ends
// with ctx. Each endpoint is asked once, failures included, and at most
// DefaultMaxEndpoints. It may be called by many at the same time.
func Listed(ctx context.Context, fetch Fetch) func(url, id string) (revoked bool, err error) {
	var lists outbound.Once[map[string]bool]
	return func(url, id string) (bool, error) {
		ids, err := lists.Ask(url, func() (map[string]bool, error) { return list(ctx, fetch, url) })
		return ids[id], err
	}
}

// list asks for the ids that are revoked.
func list(ctx context.Context, fetch Fetch, url string) (map[string]bool, error) {
	if fetch == nil {
		fetch = (&outbound.Client{MaxBody: MaxAnswerSize, HighPorts: true}).Get
	}
	data, err := fetch(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("getting a list of revocations: %w", err)
	}
	ids, err := readAnswer(data)
	if err != nil {
		return nil, fmt.Errorf("reading a list of revocations: %w", err)
	}
	return ids, nil
}

var (
	errAnswer = errors.New("want an object with revoked_ids, an array of strings")
	errCase   = errors.New("a member differs only in case from revoked_ids")
)

// readAnswer reads {"revoked_ids": [...]}; what else is there is not looked at.
func readAnswer(data []byte) (map[string]bool, error) {
	v, err := wire.Parse(data, wire.Limits{Size: MaxAnswerSize, Depth: maxDepth, Values: maxValues})
	if err != nil {
		return nil, err
	}
	for name := range v.Members() {
		if name != "revoked_ids" && strings.EqualFold(name, "revoked_ids") {
			return nil, errCase
		}
	}
	listed, _ := v.Get("revoked_ids")
	if listed.Kind() != wire.Array {
		return nil, errAnswer
	}
	ids := make(map[string]bool, listed.Len())
	for _, id := range listed.Elems() {
		if id.Kind() != wire.String {
			return nil, errAnswer
		}
		ids[id.Text()] = true
	}
	return ids, nil
}
