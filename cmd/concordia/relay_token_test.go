package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// A file of positions is taken or refused, whatever is in it.
func TestPositionFileTexts(t *testing.T) {
	const tip = `"tip": "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`
	for text, want := range map[string]bool{
		`{}`:   true,
		`null`: true,
		``:     false,
		`[]`:   false,
		`{"s": {"number": 3, "messages": 2, ` + tip + `}}`:                       true,
		`{"s": {"number": 3, "messages": 4, ` + tip + `}}`:                       false,
		`{"s": {"number": 3, "messages": -1, ` + tip + `}}`:                      false,
		`{"s": {"number": -3, "messages": 2, ` + tip + `}}`:                      false,
		`{"s": {"number": 3, "messages": 2, "tip": "sha256:aa"}}`:                false,
		`{"s": {"number": 3, "messages": 2, "clock": "yesterday", ` + tip + `}}`: false,
	} {
		path := filepath.Join(t.TempDir(), "positions")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := openPositions(path)
		if (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil {
			continue
		}
		at := relay.Position{Number: 7, Tip: wire.Tip{Session: "other", Len: 7}}
		if err := p.SetPosition(t.Context(), "other", at); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if again, err := openPositions(path); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got, err := again.Position(t.Context(), "other"); err != nil || got != at {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
