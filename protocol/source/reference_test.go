package source

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/protocol"
)

// keys returns the keys that the reader of documents knows, out of its code: those of
// the maps of functions, and those added to them.
func keys(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	for _, name := range []string{"decode.go", "condition.go"} {
		file, err := goparser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		note := func(e ast.Expr) {
			if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if key, err := strconv.Unquote(lit.Value); err == nil {
					known[key] = true
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				note(n.Key)
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					if index, ok := left.(*ast.IndexExpr); ok {
						note(index.Index)
					}
				}
			}
			return true
		})
	}
	for kind := range eventRoles {
		known[kind] = true
	}
	return known
}

func TestReferenceHasEveryKey(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "rfcs", "0002-protocols.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := keys(t)
	if len(known) < 80 {
		t.Errorf("only %d keys were found in the code", len(known))
	}
	var written strings.Builder
	for _, code := range regexp.MustCompile("`[^`\n]+`").FindAllString(string(text), -1) {
		written.WriteString(strings.Trim(code, "`") + "\n")
	}
	for key := range known {
		if !regexp.MustCompile(`(?m)(^|\b)` + regexp.QuoteMeta(key) + `($|\b)`).MatchString(written.String()) {
			t.Errorf("the reference does not have the key %q", key)
		}
	}
	for _, outcome := range Outcomes {
		if !strings.Contains(string(text), "`"+outcome+"`") {
			t.Errorf("the reference does not have the outcome %q", outcome)
		}
	}
}

// The example of the reference has the canonical document and the digest that it says.
func TestReferenceExample(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "rfcs", "0002-protocols.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := func(language string) string {
		_, after, _ := strings.Cut(string(text), "```"+language+"\n")
		content, _, _ := strings.Cut(after, "```")
		return content
	}
	p, err := ParseDocument(block("yaml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := protocol.Compile(p.Automaton)
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(block("json")); got != v.Canonical() {
		t.Errorf("the reference has\n%s, and it is\n%s", got, v)
	}
	if h, err := c.Digest(); err != nil || !strings.Contains(string(text), "`"+h.String()+"`") {
		t.Errorf("%v: the digest is %s", err, h)
	}
}
