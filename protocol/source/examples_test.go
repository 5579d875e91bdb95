package source_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/concordia-node/concordia/protocol/source"
)

// Each example is read and compiles without a warning.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "protocols", "*"))
	if err != nil || len(files) < 1 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p, err := source.Parse(string(text), &source.Options{Name: filepath.Base(file)})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range p.Warnings {
				t.Error(w)
			}
			if err := p.Automaton.Validate(); err != nil {
				t.Error(err)
			}
			digest(t, p.Automaton)
		})
	}
}
