package mcpserver_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/node/mcpserver"
)

// RFC 0003 has every tool of the reference, and says of each whether it is here; and every
// tool that is here.
func TestTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "rfcs", "0003-mcp.md"))
	if err != nil {
		t.Fatal(err)
	}
	here, _, _ := mcpserver.Tools()
	row := regexp.MustCompile("(?m)^\\| `((?:concordia|agent)_[a-z_]+)` \\| ([^|]+) \\|")
	_, rest, _ := strings.Cut(string(text), "### The reference's tools")
	reference, ours, ok := strings.Cut(rest, "### Tools that the reference does not have")
	if !ok {
		t.Fatal("the tables are not there")
	}
	var listed []string
	for _, m := range row.FindAllStringSubmatch(reference, -1) {
		name, absent := m[1], m[2] == "not yet"
		if slices.Contains(listed, name) {
			t.Errorf("%s is listed twice", name)
		}
		listed = append(listed, name)
		if slices.Contains(here, name) == absent {
			t.Errorf("%s: the table says %q, and it is here: %v", name, m[2], !absent)
		}
	}
	if len(listed) != 59 {
		t.Errorf("%d tools of the reference are listed, want 59", len(listed))
	}
	for _, m := range row.FindAllStringSubmatch(ours, -1) {
		if slices.Contains(listed, m[1]) {
			t.Errorf("%s is listed twice", m[1])
		}
		listed = append(listed, m[1])
		if !slices.Contains(here, m[1]) {
			t.Errorf("%s is not here", m[1])
		}
	}
	for _, name := range here {
		if !slices.Contains(listed, name) {
			t.Errorf("%s is not listed", name)
		}
	}
}
