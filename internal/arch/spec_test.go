package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const (
	section = `(?:\d+|[A-Z]\b)(?:\.\d+)*(?:[a-z]\b)?`
	// more continues a citation: "§9.1-9.3", "§4, §5.2", "§4 and §5".
	more = `(?: ?[-–] ?§?| ?(?:,|;|and|or)(?: and| or)? §)` + section
)

var (
	sectionRE  = regexp.MustCompile(section)
	citationRE = regexp.MustCompile(`\bSPEC §` + section + `(?:` + more + `)*`)
	headingRE  = regexp.MustCompile(`^#{2,6} (?:(\d+(?:\.\d+)*[a-z]?)\.? |Appendix ([A-Z])\b|([A-Z](?:\.\d+)+)\.? )`)
)

// A spec is what SPEC.md declares.
type spec struct {
	sections map[string]bool
	rules    []rule // the rows of the appendix "Rules"
	problems []string
}

// A rule is one wire.Rule, as declared in the source or listed in SPEC.md.
type rule struct {
	pkg, section, name, class string
	at                        string // file:line
}

func (r rule) String() string {
	return fmt.Sprintf("| %s | %s | §%s | %s |", r.pkg, r.name, r.section, r.class)
}

// readSpec reads the headings and the table of rules from SPEC.md. Its rows are
// | package | name | §section | class | text |.
func readSpec(t *tree) (*spec, error) {
	data, err := fs.ReadFile(t.fsys, "SPEC.md")
	if err != nil {
		return nil, err
	}
	s := &spec{sections: make(map[string]bool)}
	inFence, inRules, n := false, false, 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			inFence = !inFence
		}
		if inFence {
			continue
		}
		if m := headingRE.FindStringSubmatch(line); m != nil {
			s.sections[m[1]+m[2]+m[3]] = true
		}
		if strings.HasPrefix(line, "## ") {
			inRules = strings.HasPrefix(line, "## Appendix") && strings.Contains(line, "Rules")
		}
		if inRules && strings.HasPrefix(line, "|") {
			s.readRow(n, line)
		}
	}
	return s, nil
}

func (s *spec) readRow(n int, line string) {
	cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "\x00"), "|")
	for i := range cells {
		cells[i] = strings.Trim(cells[i], " `")
	}
	switch {
	case strings.EqualFold(cells[0], "package") || strings.Trim(cells[0], ":-") == "":
		// The head of the table.
	case len(cells) != 5 || !strings.HasPrefix(cells[2], "§") || cells[4] == "":
		s.problems = append(s.problems, fmt.Sprintf("SPEC.md:%d: a row of the rules reads | package | name | §section | class | text |", n))
	default:
		s.rules = append(s.rules, rule{
			pkg: cells[0], name: cells[1], section: strings.TrimPrefix(cells[2], "§"), class: cells[3],
			at: fmt.Sprintf("SPEC.md:%d", n),
		})
	}
}

// checkCitations finds comments that cite a section SPEC.md does not have.
func checkCitations(t *tree) []string {
	s, err := readSpec(t)
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	for _, p := range t.pkgs {
		for _, f := range p.files {
			for _, group := range f.ast.Comments {
				text := strings.Join(strings.Fields(group.Text()), " ")
				for _, cite := range citationRE.FindAllString(text, -1) {
					for _, sec := range sectionRE.FindAllString(strings.TrimPrefix(cite, "SPEC"), -1) {
						if !s.sections[sec] {
							problems = append(problems, t.problem(group.Pos(), "cites %q, but SPEC.md has no section %s", cite, sec))
						}
					}
				}
			}
		}
	}
	return problems
}

// checkRules compares the declared rules with the appendix of SPEC.md, both
// ways. The text of a rule is not compared: it is for people and may change.
func checkRules(t *tree) []string {
	s, err := readSpec(t)
	if err != nil {
		return []string{err.Error()}
	}
	declared, problems := declaredRules(t)
	problems = append(problems, s.problems...)
	type key struct{ pkg, name string }
	inSource := make(map[key]rule)
	for _, r := range declared {
		k := key{r.pkg, r.name}
		if first, ok := inSource[k]; ok {
			problems = append(problems, fmt.Sprintf("%s: rule %s is declared at %s already", r.at, r.name, first.at))
			continue
		}
		inSource[k] = r
		if !s.sections[r.section] {
			problems = append(problems, fmt.Sprintf("%s: rule %s is of section %s, which SPEC.md does not have", r.at, r.name, r.section))
		}
	}
	inSpec := make(map[key]bool)
	for _, r := range s.rules {
		k := key{r.pkg, r.name}
		src, ok := inSource[k]
		switch {
		case inSpec[k]:
			problems = append(problems, fmt.Sprintf("%s: rule %s of %s is listed twice", r.at, r.name, r.pkg))
		case !ok:
			problems = append(problems, fmt.Sprintf("%s: no package-level rule in the source for %s", r.at, r))
		case src.section != r.section || src.class != r.class:
			problems = append(problems, fmt.Sprintf("%s: SPEC.md has %s, the source at %s has %s", r.at, r, src.at, src))
		}
		inSpec[k] = true
	}
	for _, r := range declared {
		if !inSpec[key{r.pkg, r.name}] {
			problems = append(problems, fmt.Sprintf("%s: add to the rules in the appendix of SPEC.md: %s", r.at, r))
		}
	}
	return problems
}

// declaredRules finds the literals of wire.Rule at package level, and as problems
// those that are hidden in a function or not made of literals.
func declaredRules(t *tree) (rules []rule, problems []string) {
	for _, p := range t.pkgs {
		for _, f := range p.files {
			if !f.linked {
				continue
			}
			c := ruleCollector{tree: t, pkg: p, wire: f.localName(module + "/wire")}
			for _, decl := range f.ast.Decls {
				_, inFunc := decl.(*ast.FuncDecl)
				c.collect(decl, inFunc)
			}
			rules = append(rules, c.rules...)
			problems = append(problems, c.problems...)
		}
	}
	return rules, problems
}

type ruleCollector struct {
	tree     *tree
	pkg      *pkg
	wire     string // what the file calls package wire
	rules    []rule
	problems []string
}

func (c *ruleCollector) collect(root ast.Node, inFunc bool) {
	elided := make(map[ast.Expr]bool) // elements of []*Rule{{...}}
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			if !inFunc {
				c.collect(n.Body, true)
				return false
			}
		case *ast.CompositeLit:
			if c.hasRules(n.Type) {
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						e = kv.Value
					}
					elided[e] = true
				}
			}
			if c.isRule(n.Type, "Rule") || n.Type == nil && elided[n] {
				c.add(n.Pos(), n.Elts, inFunc)
			}
		case *ast.CallExpr:
			if c.isRule(n.Fun, "NewRule") {
				c.add(n.Pos(), n.Args, inFunc)
			}
		}
		return true
	})
}

// isRule reports whether e is the name of package wire, seen from this file.
// Other packages have rules of their own (a linter's, a guard's).
func (c *ruleCollector) isRule(e ast.Expr, name string) bool {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name == name && c.pkg.path == "wire"
	}
	return c.wire != "" && isSelector(e, c.wire, name)
}

// hasRules reports whether e is a slice, array or map of rules.
func (c *ruleCollector) hasRules(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ArrayType:
		return c.isRule(e.Elt, "Rule")
	case *ast.MapType:
		return c.isRule(e.Value, "Rule")
	}
	return false
}

func (c *ruleCollector) add(at token.Pos, fields []ast.Expr, inFunc bool) {
	pos := c.tree.fset.Position(at)
	r := rule{pkg: c.pkg.path, at: fmt.Sprintf("%s:%d", pos.Filename, pos.Line)}
	var text string
	unnamed := []*string{&r.section, &r.name, &text} // and the class, which is no string
	literals := 0
	for _, e := range fields {
		field, value := "", e
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok {
				field = id.Name
			}
			value = kv.Value
		}
		s, isString := stringValue(value)
		if isString {
			literals++
		}
		switch {
		case field == "Section":
			r.section = s
		case field == "Name":
			r.name = s
		case field == "Text":
			text = s
		case field == "Class" || field == "" && !isString:
			r.class = className(value)
		case field == "" && len(unnamed) > 0:
			*unnamed[0], unnamed = s, unnamed[1:]
		}
	}
	switch {
	case literals == 0 && (inFunc || len(fields) == 0):
		// A rule made from arguments, as in a constructor.
	case inFunc:
		c.problems = append(c.problems, fmt.Sprintf("%s: a rule inside a function is in no appendix: declare it at package level", r.at))
	case r.section == "" || r.name == "" || r.class == "" || text == "":
		c.problems = append(c.problems, fmt.Sprintf("%s: a rule has literal Section, Name and Text and a Class constant; read %s", r.at, r))
	default:
		c.rules = append(c.rules, r)
	}
}

// className turns the constant ClassSchema or wire.ClassSchema into "schema".
func className(e ast.Expr) string {
	if sel, ok := e.(*ast.SelectorExpr); ok {
		e = sel.Sel
	}
	id, ok := e.(*ast.Ident)
	if !ok || !strings.HasPrefix(id.Name, "Class") {
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(id.Name, "Class"))
}

// stringValue evaluates a string literal or a sum of them.
func stringValue(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		x, okX := stringValue(e.X)
		y, okY := stringValue(e.Y)
		return x + y, okX && okY && e.Op == token.ADD
	}
	return "", false
}

// verifySpec runs a rule that needs SPEC.md.
func verifySpec(t *testing.T, rule func(*tree) []string) {
	t.Helper()
	repo, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat(repo.fsys, "SPEC.md"); err != nil {
		t.Skip("SPEC.md does not exist yet, so there is nothing to compare with")
	}
	verify(t, rule)
}

func TestCitations(t *testing.T) { verifySpec(t, checkCitations) }

func TestRulesAppendix(t *testing.T) { verifySpec(t, checkRules) }
