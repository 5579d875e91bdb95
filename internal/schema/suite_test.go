package schema

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// outsideOfConstraints are the keywords of 2020-12 that a constraint may not have.
var outsideOfConstraints = []string{
	"$anchor", "$dynamicAnchor", "$dynamicRef", "$vocabulary", "unevaluatedItems", "unevaluatedProperties",
	"contentEncoding", "contentMediaType", "contentSchema", "definitions", "dependencies", "$recursiveRef",
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
	agree, refused := 0, map[string]int{}
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
				refused[name] += len(g.Tests)
				t.Logf("refused: %s: %s: %v", name, g.Description, err)
				continue
			}
			for _, test := range g.Tests {
				err := c.Check(string(test.Data))
				if (err == nil) == test.Valid {
					agree++
					continue
				}
				t.Errorf("%s: %s: %s: Check(%.80s) = %v, want valid: %v", name, g.Description, test.Description, test.Data, err, test.Valid)
			}
		}
	}
	t.Logf("%d cases agree; refused: %v", agree, refused)
}
