package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// judged are the packages whose rules the suite has to see, and the one that judges
// by rules of theirs.
var judged = []string{"wire", "offer", "session", "attest", "attest/cmpc", "attest/reputation", "wire/a2a", "conformance"}

// A rewriter makes sources in which a rule can be switched off: a statement that
// returns a violation of a rule is passed over while that rule is. The sources are
// given to the compiler as an overlay; no released program has the switch.
type rewriter struct {
	fset  *token.FileSet
	dir   string            // where rewritten files are put
	files map[string]string // the overlay: from real path to rewritten one
}

// hook is added to package wire.
const hook = `package wire

// Off reports which rules are switched off; nil: none.
var Off func(*Rule) bool

// IsOff reports whether a rule is switched off.
func IsOff(r *Rule) bool { return r != nil && Off != nil && Off(r) }
`

func (w *rewriter) all(root string) error {
	for _, pkg := range judged {
		names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*.go"))
		if err != nil {
			return err
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			if err := w.file(name, pkg == "wire"); err != nil {
				return err
			}
		}
	}
	return w.put(filepath.Join(root, "wire", "off.go"), []byte(hook))
}

// put adds a file to the overlay.
func (w *rewriter) put(name string, text []byte) error {
	to := filepath.Join(w.dir, fmt.Sprintf("%d.go", len(w.files)))
	w.files[name] = to
	return os.WriteFile(to, text, 0o600)
}

// file rewrites one source.
func (w *rewriter) file(name string, inWire bool) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if inWire && filepath.Base(name) == "json.go" {
		// The JSON reader refuses these by itself.
		const call = "jsontext.AppendFormat((*buf)[:0], data, canonicalOptions...)"
		if !bytes.Contains(text, []byte(call)) {
			return fmt.Errorf("%s has changed: switch the rules of the JSON reader off in another way", name)
		}
		text = bytes.Replace(text, []byte(call), []byte("jsontext.AppendFormat((*buf)[:0], data, append(canonicalOptions[:len(canonicalOptions):len(canonicalOptions)], "+
			"jsontext.AllowDuplicateNames(IsOff(RuleDuplicate)), jsontext.AllowInvalidUTF8(IsOff(RuleUnicode)))...)"), 1)
	}
	f, err := parser.ParseFile(w.fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	isOff := "wire.IsOff"
	if inWire {
		isOff = "IsOff"
	}
	changed := false
	for n := range ast.Preorder(f) {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if inWire && n.Name.Name == "failAt" {
				guard := statement(w.fset, "if "+isOff+"(rule) { return }")
				n.Body.List = append([]ast.Stmt{guard}, n.Body.List...)
				changed = true
			}
			changed = w.body(n.Type, n.Body, isOff) || changed
		case *ast.FuncLit:
			changed = w.body(n.Type, n.Body, isOff) || changed
		}
	}
	if !changed {
		return nil
	}
	f.Comments = nil // they would be printed in the wrong places
	var b bytes.Buffer
	if err := printer.Fprint(&b, w.fset, f); err != nil {
		return err
	}
	return w.put(name, b.Bytes())
}

// body guards the returns of one function, but not of those inside it.
func (w *rewriter) body(t *ast.FuncType, body *ast.BlockStmt, isOff string) bool {
	if body == nil || t.Results == nil || !refuses(t.Results) {
		return false
	}
	changed := false
	var visit func(list []ast.Stmt)
	visit = func(list []ast.Stmt) {
		for i, s := range list {
			if r, ok := s.(*ast.ReturnStmt); ok {
				if rule := ruleOf(r); rule != nil {
					guard := statement(w.fset, "if !"+isOff+"(x) {}").(*ast.IfStmt)
					guard.Cond.(*ast.UnaryExpr).X.(*ast.CallExpr).Args[0] = rule
					guard.Body.List = []ast.Stmt{r}
					list[i], changed = guard, true
				}
				continue
			}
			ast.Inspect(s, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncLit:
					return false
				case *ast.BlockStmt:
					visit(n.List)
					return false
				case *ast.CaseClause:
					visit(n.Body)
					return false
				case *ast.CommClause:
					visit(n.Body)
					return false
				}
				return true
			})
		}
	}
	visit(body.List)
	if changed {
		body.List = append(body.List, zeroReturn(t.Results))
	}
	return changed
}

// refuses reports whether the last result can be a violation or the rule of one.
func refuses(results *ast.FieldList) bool {
	switch t := results.List[len(results.List)-1].Type.(type) {
	case *ast.Ident:
		return t.Name == "error"
	case *ast.StarExpr:
		name := lastName(t.X)
		return name == "Violation" || name == "Rule"
	}
	return false
}

// ruleOf returns the rule that a return statement gives as the reason, or nil.
func ruleOf(r *ast.ReturnStmt) (rule ast.Expr) {
	if len(r.Results) == 0 || lastName(r.Results[len(r.Results)-1]) == "nil" {
		return nil
	}
	for _, result := range r.Results {
		ast.Inspect(result, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && (s.Sel.Name == "At" || s.Sel.Name == "Because") && isRule(s.X) {
					rule = s.X
				}
				for _, a := range n.Args {
					if isRule(a) && rule == nil && lastName(n.Fun) != "Is" {
						rule = a
					}
				}
			}
			return rule == nil
		})
		if rule == nil && isRule(result) {
			rule = result
		}
	}
	return rule
}

func isRule(e ast.Expr) bool {
	name := lastName(e)
	return strings.HasPrefix(name, "Rule") && name != "Rules" || slices.Contains([]string{"rule", "broken"}, name)
}

func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// zeroReturn returns zero values, for a function whose last return may be passed
// over.
func zeroReturn(results *ast.FieldList) ast.Stmt {
	r := &ast.ReturnStmt{}
	for _, f := range results.List {
		for range max(len(f.Names), 1) {
			r.Results = append(r.Results, &ast.StarExpr{X: &ast.CallExpr{Fun: ast.NewIdent("new"), Args: []ast.Expr{f.Type}}})
		}
	}
	return r
}

// statement parses one statement.
func statement(fset *token.FileSet, text string) ast.Stmt {
	f := must(parser.ParseFile(fset, "", "package p\nfunc _() {\n"+text+"\n}", parser.SkipObjectResolution))
	return f.Decls[0].(*ast.FuncDecl).Body.List[0]
}
