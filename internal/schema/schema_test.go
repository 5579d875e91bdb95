package schema

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

func anyTime(string) bool { return true }

// TestSetCompiles makes every schema: a fault in one is a panic at its first use.
func TestSetCompiles(t *testing.T) {
	s := New(anyTime)
	if len(Names()) == 0 {
		t.Fatal("no schemas")
	}
	for _, name := range Names() {
		for _, text := range []string{"null", "[]", `"x"`} {
			if s.Check(name, text) == nil {
				t.Errorf("%s: %s fits", name, text)
			}
		}
	}
}

// TestSetIDs keeps two schemas from one name: the later one would hide the other.
func TestSetIDs(t *testing.T) {
	ids := map[string]string{}
	for _, name := range Names() {
		text, err := Source(name)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := ids[urn(text)]; ok {
			t.Errorf("%s and %s have the same $id", name, other)
		}
		ids[urn(text)] = name
	}
	if _, err := Source("nothing"); err == nil {
		t.Error("Source of no schema = nil error")
	}
}

// TestSetComparesStrings keeps enum and const to what the library compares rightly
// (rfcs/adr/0007).
func TestSetComparesStrings(t *testing.T) {
	for _, name := range Names() {
		text, err := Source(name)
		if err != nil {
			t.Fatal(err)
		}
		var tree any
		if err := json.Unmarshal(text, &tree); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, at := range notStrings(tree, "") {
			t.Errorf("%s: %s compares with what is not a string", name, at)
		}
	}
	faulty := map[string]any{"a": []any{map[string]any{"const": 1.0}, map[string]any{"enum": []any{"x", true}}}, "enum": []any{"x"}}
	if got := notStrings(faulty, ""); len(got) != 2 {
		t.Errorf("notStrings = %q, want two", got)
	}
}

// notStrings finds enum and const with anything but strings. A member that is named
// so is none, as its value is a schema.
func notStrings(tree any, at string) (found []string) {
	switch v := tree.(type) {
	case []any:
		for _, e := range v {
			found = append(found, notStrings(e, at)...)
		}
	case map[string]any:
		for name, e := range v {
			values, isArray := e.([]any)
			_, isObject := e.(map[string]any)
			switch {
			case name == "const" && !isObject:
				values = []any{e}
			case name != "enum" || !isArray:
				found = append(found, notStrings(e, at+"/"+name)...)
				continue
			}
			for _, x := range values {
				if _, ok := x.(string); !ok {
					found = append(found, at+"/"+name)
				}
			}
		}
	}
	return found
}

func TestSetLoadsNothing(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		_, _ = w.Write([]byte("true"))
	}))
	defer server.Close()
	file, err := filepath.Abs("link.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{server.URL, "file://" + filepath.ToSlash(file), "urn:concordia:schema:nothing", "link.json"} {
		c := newCompiler(anyTime)
		text, err := json.Marshal(map[string]any{"$ref": ref})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("urn:x", strings.NewReader(string(text))); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Compile("urn:x"); err == nil {
			t.Errorf("$ref %s compiles", ref)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}

func compileText(t *testing.T, text string) compiled {
	t.Helper()
	c := newCompiler(func(s string) bool { return s == "now" })
	if err := c.AddResource("urn:x", strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	sch := c.MustCompile("urn:x")
	return compiled{sch, shapeOf(sch)}
}

func TestSetMisfit(t *testing.T) {
	names := `{"a~b":{"c/d":{"e%20f":{"g h":[0,{"é%":1}]}}}}`
	tests := []struct{ schema, document, pointer, why string }{
		{`{"type":"object"}`, `[]`, "", "type"},
		{`{"required":["a"]}`, `{}`, "", "required"},
		{`{"additionalProperties":{"additionalProperties":{"additionalProperties":{"additionalProperties":{"items":{"type":"number"}}}}}}`,
			names, "/a~0b/c~1d/e%20f/g h/1", "type"},
		{`{"additionalProperties":{"additionalProperties":{"additionalProperties":{"additionalProperties":
			{"items":{"additionalProperties":{"type":"string"}}}}}}}`, names, "/a~0b/c~1d/e%20f/g h/1/é%", "type"},
		{`{"additionalProperties":false}`, `{"a":1}`, "", "additionalProperties"},
		{`{"properties":{"a":{"format":"date-time"}}}`, `{"a":"then"}`, "/a", "format"},
		{`{"properties":{"a":{"format":"date-time"}}}`, `{"a":"now"}`, "", ""},
		{`{"properties":{"a":{"format":"date-time"}}}`, `{"a":1}`, "", ""},
		{`{"properties":{"a":{"format":"uri"}}}`, `{"a":"no uri"}`, "", ""},
		{`true`, `{"a":1}{}`, "", "more than one value"},
		{`true`, `{"a":`, "", "reading"},
	}
	for _, test := range tests {
		m := check(compileText(t, test.schema), "x", test.document)
		switch {
		case m == nil && test.why != "":
			t.Errorf("check(%s, %s) = nil", test.schema, test.document)
		case m != nil && (test.why == "" || m.Pointer != test.pointer || !strings.Contains(m.Error(), test.why)):
			t.Errorf("check(%s, %s) = %v, want %s: %s", test.schema, test.document, m, test.pointer, test.why)
		}
	}
}

// TestShorten: of many misfits the first is told, where it is; and a document of many
// elements that fits is not touched.
func TestShorten(t *testing.T) {
	sch := compileText(t, `{"properties":{"l":{"$ref":"#/$defs/l"},"m":{"type":"object","properties":{"known":true},"additionalProperties":{"type":"boolean"}},
		"n":{"items":{"items":{"type":"string"}}},"few":{"maxItems":30,"items":{"type":"number"}}},"$defs":{"l":{"minItems":1,"items":{"properties":{"id":{"type":"string"}}}}}}`)
	many := func(one string) string { return strings.Repeat(one+",", 1000) }
	members := func(value string) string {
		var b strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&b, `"m%03d":%s,`, i, value)
		}
		return b.String()
	}
	for document, want := range map[string]string{
		`{"l":[` + many(`{"id":"x"}`) + `{"id":"x"}]}`:        "",
		`{"l":[` + many(`{"id":"x"}`) + `{"id":1},{"id":1}]}`: "/l/1000/id",
		`{"l":[` + many(`{"id":1}`) + `{"id":"x"}]}`:          "/l/0/id",
		`{"l":[]}`: "/l",
		`{"m":{` + members("true") + `"known":1}}`:             "",
		`{"m":{` + members("true") + `"known":1,"z":1,"y":1}}`: "/m/y",
		`{"m":{` + members("1") + `"known":1}}`:                "/m/m000",
		`{"n":[` + many(`["x"]`) + `["x",1]]}`:                 "/n/1000/1",
		`{"n":[["x"],[` + many(`"x"`) + `1,1,1],[1]]}`:         "/n/1/1000",
		`{"few":[` + strings.TrimSuffix(many("1"), ",") + `]}`: "/few",
	} {
		m := check(sch, "x", document)
		if got := ""; m != nil {
			if got = m.Pointer; got != want {
				t.Errorf("%.40s: %v, want %q", document, m, want)
			}
		} else if want != "" {
			t.Errorf("%.40s fits, want %q", document, want)
		}
	}
}

// TestSetMisspelt: an open object has no member that differs from a known one only
// in case, however deep, by way of $ref and in arrays.
func TestSetMisspelt(t *testing.T) {
	sch := compileText(t, `{"required":["need"],"properties":{"a":{"properties":{"b":{}}},"l":{"items":{"$ref":"#/$defs/i"}},"o":{"type":"object"}},
		"$defs":{"i":{"required":["id"],"properties":{"deep":{"properties":{"x~/y":true}}}}}}`)
	for document, want := range map[string]string{
		`{"need":1,"other":1,"a":{"b":1,"a":1},"l":[{"id":1,"Need":1}],"o":{"A":1,"a":2}}`: "",
		`{"need":1,"Need":1}`:                           "/Need",
		`{"need":1,"A":{}}`:                             "/A",
		`{"need":1,"a":{"B":1}}`:                        "/a/B",
		`{"need":1,"a":{"b":1,"B":1}}`:                  "/a/B",
		`{"need":1,"l":[{"id":1},{"id":1,"ID":1}]}`:     "/l/1/ID",
		`{"need":1,"l":[{"id":1,"deep":{"X~/Y":1}}]}`:   "/l/0/deep/X~0~1Y",
		`{"need":1,"NEED":1,"NEEd":1,"Need":1}`:         "/NEED",
		`{"need":1,"l":[{"id":1,"İd":1,"ſd":1,"i":1}]}`: "",
	} {
		m := check(sch, "x", document)
		if got := ""; m != nil {
			got = m.Pointer
			if got != want || m.Why != errCase {
				t.Errorf("%s: %v, want %q", document, m, want)
			}
		} else if got != want {
			t.Errorf("%s fits, want %q", document, want)
		}
	}
	if shapeOf(nil) != nil {
		t.Error("no schema knows a name")
	}
}

// TestSetRecovers: the number guard of package wire keeps such a number away; were
// it to get here, it must not end the program.
func TestSetRecovers(t *testing.T) {
	if m := check(compileText(t, `{"minimum":1}`), "x", `1e10000000`); m == nil {
		t.Error("check of a number beyond all bounds = nil")
	}
}
