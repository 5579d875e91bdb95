package wire_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/wire"
)

// corpus returns the files of a folder of JSONTestSuite by name.
func corpus(t *testing.T, folder string, want int) map[string][]byte {
	t.Helper()
	dir := outside(t, "data", "jsontestsuite", folder)
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(paths) != want {
		t.Fatalf("%s has %d cases, want %d (%v)", folder, len(paths), want, err)
	}
	files := make(map[string][]byte, want)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimSuffix(filepath.Base(path), ".json")] = data
	}
	return files
}

// TestParsingSuite runs the parsing cases of JSONTestSuite: y_ must be read, n_
// must be refused, i_ is up to the reader.
func TestParsingSuite(t *testing.T) {
	// What the suite wants read and SPEC §9.2.1 refuses.
	excluded := map[string]*wire.Rule{
		"y_number_minus_zero":               wire.RuleNumber,    // -0
		"y_number_negative_zero":            wire.RuleNumber,    // -0
		"y_object_duplicated_key":           wire.RuleDuplicate, // the last would win
		"y_object_duplicated_key_and_value": wire.RuleDuplicate, // even if both are equal
	}
	// What the suite leaves open, this reader refuses. By name, the longest prefix
	// decides for which rule.
	open := map[string]*wire.Rule{
		"i_number_":                          wire.RuleNumber,  // beyond doubles or exact integers
		"i_object_key_lone_":                 wire.RuleUnicode, // a surrogate alone
		"i_string_":                          wire.RuleUnicode, // a surrogate alone, or no UTF-8
		"i_string_UTF-16LE_with_BOM":         wire.RuleSyntax,  // another encoding
		"i_string_utf16":                     wire.RuleSyntax,  // another encoding
		"i_structure_500_nested_arrays":      wire.RuleDepth,
		"i_structure_UTF-8_BOM_empty_object": wire.RuleSyntax,
	}
	counts := make(map[byte]int)
	for name, data := range corpus(t, "test_parsing", 318) {
		v, err := wire.Parse(data, wire.DocumentLimits)
		again, errAgain := wire.Parse(data, wire.DocumentLimits)
		if !v.Equal(again) || refusal(err) != refusal(errAgain) {
			t.Errorf("%s: read twice: %v, %v, then %v, %v", name, v, err, again, errAgain)
		}
		counts[name[0]]++
		switch name[0] {
		case 'y':
			if rule := excluded[name]; rule != nil {
				if !errors.Is(err, rule) {
					t.Errorf("%s: got %q, want %s", name, refusal(err), rule.Name)
				}
			} else if err != nil {
				t.Errorf("%s: got %v, want no error", name, err)
			}
		case 'n':
			if !isParseRule(err) {
				t.Errorf("%s: got %q, want a rule of §9.2.1", name, refusal(err))
			}
		case 'i':
			var rule *wire.Rule
			length := 0
			for prefix, r := range open {
				if strings.HasPrefix(name, prefix) && len(prefix) > length {
					rule, length = r, len(prefix)
				}
			}
			if rule == nil || !errors.Is(err, rule) {
				t.Errorf("%s: got %q, want %v", name, refusal(err), rule)
			}
		}
	}
	for kind, want := range map[byte]int{'y': 95, 'n': 188, 'i': 35} {
		if counts[kind] != want {
			t.Errorf("%d cases %c_, want %d", counts[kind], kind, want)
		}
	}
	t.Logf("318 cases: y_ %d (%d of them excluded by rule), n_ %d, i_ %d", counts['y'], len(excluded), counts['n'], counts['i'])
}

func isParseRule(err error) bool {
	v, ok := errors.AsType[*wire.Violation](err)
	return ok && v.Rule.Section == "9.2.1"
}

// TestTransformSuite runs the cases in which readers of JSON are known to differ,
// all 22 with what this one does and why.
func TestTransformSuite(t *testing.T) {
	const (
		unsafe   = "json-number at /0"    // not an integer that every reader holds
		lone     = "json-unicode at /0"   // a surrogate alone, or its encoding
		twice    = "json-duplicate at /a" // one name, two members
		nfc, nfd = "\u00e9", "e\u0301"
	)
	want := map[string]string{
		"number_-9223372036854775808":         unsafe,
		"number_-9223372036854775809":         unsafe,
		"number_9223372036854775807":          unsafe,
		"number_9223372036854775808":          unsafe,
		"number_10000000000000000999":         unsafe,
		"number_1e-999":                       "json-number at /0", // would round to zero
		"number_1000000000000000":             "[1000000000000000]",
		"number_1.0":                          "[1]", // 1.0 and 1 are one value
		"number_1.000000000000000005":         "[1]", // the nearest double, as RFC 8785 has it
		"number_1e6":                          "[1000000]",
		"object_key_nfc_nfd":                  `{"` + nfd + `":"NFD","` + nfc + `":"NFC"}`, // names are code points
		"object_key_nfd_nfc":                  `{"` + nfd + `":"NFD","` + nfc + `":"NFC"}`,
		"object_same_key_different_values":    twice,
		"object_same_key_same_value":          twice,
		"object_same_key_unclear_values":      twice, // the -0 comes after the second name
		"string_1_escaped_invalid_codepoint":  lone,
		"string_1_invalid_codepoint":          lone,
		"string_2_escaped_invalid_codepoints": lone,
		"string_2_invalid_codepoints":         lone,
		"string_3_escaped_invalid_codepoints": lone,
		"string_3_invalid_codepoints":         lone,
		"string_with_escaped_NULL":            `["A\u0000B"]`, // kept, and escaped again
	}
	for name, data := range corpus(t, "test_transform", len(want)) {
		v, err := wire.Parse(data, wire.DocumentLimits)
		got := v.Canonical()
		if err != nil {
			got = refusal(err)
		}
		if got != want[name] {
			t.Errorf("%s: got %s, want %s", name, got, want[name])
		}
	}
}
