package conformance

import (
	"bytes"
	"errors"

	"github.com/gowebpki/jcs"

	"github.com/concordia-node/concordia/wire"
)

// ruleTwice reports a bug, ours or the other maker's; no input should break it.
var ruleTwice = &wire.Rule{Section: "12.5", Name: "canonical-twice", Class: wire.ClassDigest, Text: "two independent makers of canonical JSON write the same bytes"}

var errTwice = errors.New("gowebpki/jcs writes other bytes")

// canonicalTwice returns the canonical bytes of v, which package wire made, if
// another maker's code writes the same for them. That code reads the text anew:
// it orders members, writes numbers and escapes by itself.
func canonicalTwice(v wire.Value) ([]byte, error) {
	text := []byte(v.Canonical())
	switch v.Kind() {
	case wire.Object, wire.Array: // it does not take other texts
		again, err := jcs.Transform(text)
		if err != nil {
			return nil, ruleTwice.Because("", err)
		}
		if !bytes.Equal(text, again) {
			return nil, ruleTwice.Because("", errTwice)
		}
	}
	return text, nil
}

// sameText checks that another maker writes the same canonical text of the input,
// from the bytes as they were received.
func (q Question) sameText() error {
	if q.Input.Kind() != wire.Object && q.Input.Kind() != wire.Array {
		return nil
	}
	again, err := jcs.Transform(q.raw)
	if err != nil {
		return ruleTwice.Because("", err)
	}
	if string(again) != q.Input.Canonical() {
		return ruleTwice.Because("", errTwice)
	}
	return nil
}
