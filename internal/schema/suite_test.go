package schema

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// outsideOfConstraints are the keywords of 2020-12 that a constraint may not have.
var outsideOfConstraints = []string{
	"$anchor", "$dynamicAnchor", "$dynamicRef", "$vocabulary", "unevaluatedItems", "unevaluatedProperties",
	"contentEncoding", "contentMediaType", "contentSchema", "dependencies",
	"array_of_schemas", "unknown-keyword", "unknown/keyword", // which the suite made up
}

// TestSuite runs the cases of json-schema-org/JSON-Schema-Test-Suite, if they are
// at hand. A schema that is refused must be outside of what a constraint may be; a
// schema that is read must decide as the suite does.
func TestSuite(t *testing.T) {
	dir := os.Getenv("CONCORDIA_TESTDATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	dir = filepath.Join(dir, "JSON-Schema-Test-Suite", "tests", "draft2020-12")
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	optional, _ := filepath.Glob(filepath.Join(dir, "optional", "*.json"))
	if files = append(files, optional...); len(files) == 0 {
		t.Skip("no JSON-Schema-Test-Suite here; CONCORDIA_TESTDATA may name the folder that holds it")
	}
	agree, numbers, refused := 0, 0, map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var groups []struct {
			Description string
			Schema      json.RawMessage
			Tests       []struct {
				Description string
				Data        json.RawMessage
				Valid       bool
			}
		}
		if err := json.Unmarshal(text, &groups); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(file, dir+string(filepath.Separator))
		for _, g := range groups {
			c, err := ParseConstraint(string(g.Schema))
			if err != nil {
				refused[reason(t, err)] += len(g.Tests)
				if reason(t, err) == "" {
					t.Errorf("%s: %s: %v", name, g.Description, err)
				}
				continue
			}
			for _, test := range g.Tests {
				err := c.Check(string(test.Data))
				switch {
				case errors.Is(err, errNumber):
					numbers++ // an integer that no double holds never gets here
					continue
				case (err == nil) == test.Valid:
					agree++
					continue
				}
				t.Errorf("%s: %s: %s: Check(%.80s) = %v, want valid: %v", name, g.Description, test.Description, test.Data, err, test.Valid)
			}
		}
	}
	t.Logf("%d cases agree; in %d the instance is no double; of refused schemas are %v", agree, numbers, refused)
	if agree < 1000 {
		t.Errorf("only %d cases agree", agree)
	}
}

// reason says by which rule a schema of the suite is outside of what a constraint
// may be, or nothing.
func reason(t *testing.T, err error) string {
	for _, why := range []error{errDialect, errID, errReference, errNumber} {
		if errors.Is(err, why) {
			return why.Error()
		}
	}
	at := misfitAt(t, err)
	keyword, _ := unescapeToken(at[strings.LastIndexByte(at, '/')+1:])
	if errors.Is(err, errKeyword) && slices.Contains(outsideOfConstraints, keyword) {
		return keyword
	}
	return ""
}
