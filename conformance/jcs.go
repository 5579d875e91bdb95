package conformance

import (
	"errors"

	"github.com/gowebpki/jcs"

	"github.com/concordia-node/concordia/wire"
)

// ruleTwice reports a bug, ours or the other maker's; no input should break it.
var ruleTwice = &wire.Rule{Section: "12.5", Name: "canonical-twice", Class: wire.ClassDigest, Text: "two independent makers of canonical JSON write the same bytes"}

var errTwice = errors.New("gowebpki/jcs writes other bytes")

// A twice makes canonical JSON a second time, with another maker's code, and
// remembers for which texts it came out the same.
type twice struct{ same map[string]bool }

func newTwice() *twice { return &twice{make(map[string]bool)} }

// canonical returns the canonical bytes of v, which package wire made, if the other
// maker writes the same. It reads the text anew: it orders members, writes numbers
// and escapes by itself.
func (t *twice) canonical(v wire.Value) ([]byte, error) {
	text := v.Canonical()
	if t.same[text] {
		return []byte(text), nil
	}
	return []byte(text), t.compare(v, []byte(text))
}

// compare compares the canonical text of v with what the other maker writes for
// text. It takes objects and arrays only; nothing else is ever signed.
func (t *twice) compare(v wire.Value, text []byte) error {
	if v.Kind() != wire.Object && v.Kind() != wire.Array {
		return nil
	}
	again, err := jcs.Transform(text)
	if err != nil {
		return ruleTwice.Because("", err)
	}
	if string(again) != v.Canonical() {
		return ruleTwice.Because("", errTwice)
	}
	t.same[v.Canonical()] = true
	return nil
}
