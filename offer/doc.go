// Package offer knows what a deal is made of: the terms of a negotiation and
// their bounds, the four shapes of an offer, and which deal an accept selects
// (SPEC §3, §5.4, §6).
//
// A negotiate.open message defines a [Space], the terms that are negotiated. An
// [Offer] is read against it and becomes one or more branches, each a complete or
// incomplete choice of values: a basic or partial offer has one branch, a
// conditional offer one for each condition, a bundle offer one for each bundle.
// All that can be wrong with an offer is found when it is read, so an Offer is
// sound by construction. An accept selects exactly one branch:
//
//	space, err := offer.ReadSpace(open.Body, "/body")
//	o, err := offer.Read(counter.Body, "/body", space)
//	deal, err := o.Select(accept.Body, "/body", space)
//
// The package is pure: it reads no clock and knows no parties. Who may offer or
// accept, and when, is package session's.
package offer
