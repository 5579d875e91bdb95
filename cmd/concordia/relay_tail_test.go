package main

import (
	"crypto/rand"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// No party can spoil what is exported with a receipt that does not hold.
func TestSoundReceipt(t *testing.T) {
	dir := t.TempDir()
	a := &app{now: time.Now, rand: rand.Reader, out: printer{w: io.Discard}}
	if err := a.demo(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	concordia(t, cli.OK, "verify", filepath.Join(dir, "seller", transcriptName))
	v, err := readJSON(filepath.Join(dir, "seller", transcriptName))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := session.ReadDocument(v)
	if err != nil {
		t.Fatal(err)
	}
	keys, good := wire.DIDKeys{}, doc.Receipt
	if good.Kind() != wire.Object {
		t.Fatal("the demonstration has no receipt")
	}
	bad := good.With("attestation_id", wire.Text("another")) // all are named, and have signed something else
	log := &relay.Transcript{}
	for _, m := range doc.Messages {
		u, err := wire.ReadMessage(m)
		if err != nil {
			t.Fatal(err)
		}
		msg, err := u.Verify(keys)
		if err != nil {
			t.Fatal(err)
		}
		log.Messages = append(log.Messages, msg)
	}
	enclosed := func(v wire.Value) *relay.Enclosure { return &relay.Enclosure{Kind: relay.KindReceipt, Content: v} }
	for _, c := range []struct {
		name       string
		named      wire.Value
		enclosures []*relay.Enclosure
		want       wire.Value
		bad        int
	}{
		{"none", wire.Value{}, nil, wire.Value{}, 0},
		{"a good one", good, []*relay.Enclosure{enclosed(good)}, good, 0},
		{"a bad one", bad, []*relay.Enclosure{enclosed(bad)}, wire.Value{}, 1},
		{"a bad one behind a good one", bad, []*relay.Enclosure{enclosed(good), enclosed(bad)}, good, 1},
	} {
		log.UnverifiedReceipt, log.Enclosures = c.named, c.enclosures
		got, n := soundReceipt(log, keys, time.Now())
		if got.Canonical() != c.want.Canonical() || n != c.bad {
			t.Errorf("%s: %d do not hold, and it is %.60s", c.name, n, got.Canonical())
		}
	}
}
