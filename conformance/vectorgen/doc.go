// Vectorgen writes the conformance suite of this project: conformance/vectors.
//
//	go run ./conformance/vectorgen            writes the suite
//	go run ./conformance/vectorgen -check     fails if the suite is not what it would write
//	go run ./conformance/vectorgen -kill      disables each rule in turn; a vector must see it
//
// Everything is made from published seeds and fixed times, so the suite is the same
// bytes wherever it is made. A vector that is to be rejected has a single fault: it
// is a sound artifact with one thing changed and signed again by whoever signed it,
// so that only a verifier that looks at that one thing rejects it. No context has a
// digest of the artifact, which would catch every change and hide who looks.
//
// Each kind of artifact is a specimen with its faults, one file per kind.
package main
