package arch

import (
	"fmt"
	"strings"
	"testing"
)

// layers lists the packages of each layer, lowest first (rfcs/adr/0001). A
// package imports packages of lower layers only, never of its own.
//
// Do not change this to fix a build: an import that the table refuses is a
// question about the design, and the answer is an ADR.
var layers = [][]string{
	0: {
		"internal/*",
	},
	1: {
		"wire",
	},
	2: {
		"attest",
		"offer",
		"protocol",
		"relay",
		"session/transcript",
		"wire/a2a",
		"wire/keyfile",
		"wire/resolve",
	},
	3: {
		"attest/cmpc",
		"attest/endpoint",
		"attest/reputation",
		"attest/store",
		"conformance/vectors",
		"offer/*",
		"protocol/menu",
		"protocol/prove",
		"protocol/record",
		"protocol/source",
		"relay/boltmail",
		"relay/mailtest",
		"relay/natsmail",
		"session",
	},
	4: {
		"conformance",
		"node",
		"protocol/guard",
		"protocol/trajectory",
		"relay/market",
		"session/agent",
	},
	5: {
		"conformance/vectorgen",
		"node/*",
	},
	6: {
		"cmd/*",
		"examples", "examples/*",
	},
}

// layerOf returns the layer of a package, or -1.
func layerOf(pkgPath string) int {
	for n, patterns := range layers {
		if matchAny(patterns, pkgPath) {
			return n
		}
	}
	return -1
}

// checkLayers finds packages that are in no layer and imports that do not go
// downwards. Tests may import what they like: the compiler refuses cycles, and a
// driver's test must reach the contract in its own layer.
func checkLayers(t *tree) []string {
	var problems []string
	for _, p := range t.pkgs {
		if p.name() == "" {
			continue
		}
		from := layerOf(p.path)
		if from < 0 {
			problems = append(problems, fmt.Sprintf("package %s is in no layer: add it to the table layers in internal/arch/layers_test.go, "+
				"in the lowest layer above everything it imports; moving a package that is listed takes an ADR", p.path))
			continue
		}
		for _, f := range p.files {
			if !f.linked {
				continue
			}
			for imp, spec := range f.imports() {
				target, ok := strings.CutPrefix(imp, module+"/")
				if !ok && imp != module {
					continue
				}
				to := layerOf(target)
				switch {
				case to < 0 && t.has(target):
					// Reported once, at the package itself.
				case to < 0:
					problems = append(problems, t.problem(spec.Pos(), "imports %s, which is in no layer", imp))
				case to >= from:
					problems = append(problems, t.problem(spec.Pos(), "%s (layer %d) imports %s (layer %d): imports go downwards only; "+
						"let the caller pass in what is needed, or move the code", p.path, from, target, to))
				}
			}
		}
	}
	return problems
}

func (t *tree) has(pkgPath string) bool {
	for _, p := range t.pkgs {
		if p.path == pkgPath && p.name() != "" {
			return true
		}
	}
	return false
}

func TestLayers(t *testing.T) { verify(t, checkLayers) }

// TestLayersAreDisjoint fails when a package is in two layers, so that the order
// of the table never decides.
func TestLayersAreDisjoint(t *testing.T) {
	for n, patterns := range layers {
		for _, p := range patterns {
			for m, others := range layers {
				if m != n && matchAny(others, p) {
					t.Errorf("%q of layer %d is matched in layer %d too", p, n, m)
				}
			}
		}
	}
}

func TestLayersFaults(t *testing.T) {
	verifyFaults(t, checkLayers, []faulty{
		{
			name: "down is fine",
			src: map[string]string{
				"session/a.go": "package session\nimport (\n_ \"" + module + "/wire\"\n_ \"" + module + "/session/transcript\"\n)",
				"wire/a.go":    "package wire\nimport _ \"fmt\"",
			},
		},
		{
			name: "up",
			src:  map[string]string{"attest/a.go": "package attest\nimport _ \"" + module + "/session\""},
			want: []string{"attest/a.go:2: attest (layer 2) imports session (layer 3)"},
		},
		{
			name: "sideways",
			src:  map[string]string{"offer/a.go": "package offer\nimport x \"" + module + "/attest\""},
			want: []string{"offer (layer 2) imports attest (layer 2)"},
		},
		{
			name: "behind a build tag",
			src:  map[string]string{"wire/a.go": "//go:build long\n\npackage wire\nimport _ \"" + module + "/relay\""},
			want: []string{"wire (layer 1) imports relay (layer 2)"},
		},
		{
			name: "the root",
			src:  map[string]string{"wire/a.go": "package wire\nimport _ \"" + module + "\""},
			want: []string{"in no layer"},
		},
		{
			name: "unknown package",
			src: map[string]string{
				"broker/a.go": "package broker",
				"node/a.go":   "package node\nimport _ \"" + module + "/broker\"",
			},
			want: []string{"package broker is in no layer: add it to the table layers"},
		},
		{
			name: "too deep for a pattern",
			src:  map[string]string{"offer/match/deep/a.go": "package deep"},
			want: []string{"package offer/match/deep is in no layer"},
		},
		{
			name: "tests are free",
			src: map[string]string{
				"wire/a.go":            "package wire",
				"wire/a_test.go":       "package wire_test\nimport _ \"" + module + "/node\"",
				"snippet/only_test.go": "package snippet_test",
			},
		},
	})
}
