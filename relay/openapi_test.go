package relay

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/concordia-node/concordia/wire"
)

func readOpenAPI(t *testing.T) wire.Value {
	t.Helper()
	v, err := wire.Parse(openAPI, wire.DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestOpenAPIHasTheOperations compares openapi.json with the table that is dispatched:
// the same operations, members and codes.
func TestOpenAPIHasTheOperations(t *testing.T) {
	api := readOpenAPI(t)
	named := map[string]bool{}
	for _, op := range operations {
		named[op.name] = true
		request, ok := api.At("components", "schemas", op.name)
		if !ok {
			t.Errorf("%s has no schema", op.name)
			continue
		}
		properties, _ := request.Get("properties")
		closed, _ := request.Get("additionalProperties")
		if closed.Canonical() != "false" {
			t.Errorf("%s: the schema is not closed", op.name)
		}
		required, _ := request.Get("required")
		got := []string{}
		for name := range properties.Members() {
			if !slices.ContainsFunc(elements(required), func(r string) bool { return r == name }) {
				name += "?"
			}
			got = append(got, name)
		}
		want := strings.Fields(op.members)
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: members (-table +openapi)\n%s", op.name, diff)
		}
		if op.socket {
			continue
		}
		route, ok := api.At("paths", "/v1/"+op.name, "post")
		if !ok {
			t.Errorf("%s has no route", op.name)
			continue
		}
		security, has := route.Get("security")
		if open := has && security.Len() == 0; open != op.open {
			t.Errorf("%s: needs no token: %v in openapi, %v in the table", op.name, open, op.open)
		}
		checkCodes(t, op.name, route, slices.Concat(commonCodes, op.codes))
	}
	socket, _ := api.At("paths", "/v1/socket", "get")
	checkCodes(t, "socket", socket, append(slices.Clone(commonCodes), CodeQuota))
	paths, _ := api.Get("paths")
	for path := range paths.Members() {
		if name, ok := strings.CutPrefix(path, "/v1/"); ok && name != "socket" && !named[name] {
			t.Errorf("openapi has %s, and the relay does not", path)
		}
	}
	frames, _ := api.At("components", "schemas", "request_frame", "properties", "op", "enum")
	var want []string
	for _, op := range operations {
		if op.stream == nil {
			want = append(want, op.name)
		}
	}
	if diff := cmp.Diff(want, elements(frames)); diff != "" {
		t.Errorf("operations over a websocket (-table +openapi)\n%s", diff)
	}
	var codes []string
	enum, _ := api.At("components", "schemas", "error", "properties", "code", "enum")
	for code := range status {
		codes = append(codes, string(code))
	}
	if diff := cmp.Diff(sorted(codes), sorted(elements(enum))); diff != "" {
		t.Errorf("codes (-table +openapi)\n%s", diff)
	}
}

// checkCodes compares the refusals of a route with codes, each under its status.
func checkCodes(t *testing.T, name string, route wire.Value, codes []Code) {
	t.Helper()
	var got, want []string
	for _, code := range codes {
		want = append(want, fmt.Sprint(status[code], " ", code))
	}
	responses, _ := route.Get("responses")
	for code, r := range responses.Members() {
		schema, ok := r.At("content", "application/json", "schema", "allOf")
		if !ok {
			continue
		}
		for _, part := range schema.Elems() {
			enum, _ := part.At("properties", "error", "properties", "code", "enum")
			for _, c := range elements(enum) {
				got = append(got, code+" "+c)
			}
		}
	}
	if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
		t.Errorf("%s: codes (-table +openapi)\n%s", name, diff)
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func elements(v wire.Value) (list []string) {
	for _, e := range v.Elems() {
		list = append(list, e.Text())
	}
	return list
}

// TestOpenAPIDescribesConversations holds every answer in testdata to the schema of its
// operation, and every request that was granted.
func TestOpenAPIDescribesConversations(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("openapi.json", strings.NewReader(string(openAPI))); err != nil {
		t.Fatal(err)
	}
	checked := map[string]int{}
	check := func(schema string, v wire.Value) {
		t.Helper()
		s, err := compiler.Compile("openapi.json#/components/schemas/" + schema)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(plain(v)); err != nil {
			t.Errorf("%s: %s\n%#v", schema, v, err)
		}
		checked[schema]++
	}
	for _, name := range []string{"conversations", "delivery"} {
		archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			var op string
			var request wire.Value
			for line := range strings.SplitSeq(string(f.Data), "\n") {
				kind, rest, _ := strings.Cut(line, " ")
				word, text, _ := strings.Cut(rest, " ")
				switch {
				case kind == ">":
					op, request = word, parse(t, text)
				case kind == "<" && word == "200":
					check(op, request)
					check(op+"_answer", parse(t, text))
				case kind == "<" && word[0] != '{':
					check("refusal", parse(t, text))
				case kind == "<":
					v := parse(t, rest)
					push, _ := v.Get("push")
					check("push_"+push.Text(), v)
				}
			}
		}
	}
	for _, op := range operations {
		if checked[op.name+"_answer"] == 0 {
			t.Errorf("no conversation has an answer of %s", op.name)
		}
	}
}

func parse(t *testing.T, text string) wire.Value {
	t.Helper()
	v, err := wire.Parse([]byte(text), wire.DocumentLimits)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// plain returns a value as the schema library wants it.
func plain(v wire.Value) any {
	switch v.Kind() {
	case wire.Object:
		m := map[string]any{}
		for name, e := range v.Members() {
			m[name] = plain(e)
		}
		return m
	case wire.Array:
		list := []any{}
		for _, e := range v.Elems() {
			list = append(list, plain(e))
		}
		return list
	case wire.String:
		return v.Text()
	case wire.Number:
		f, _ := v.Float()
		return f
	case wire.Bool:
		return v.Bool()
	}
	return nil
}

// TestRFCHasWhatIsThere compares RFC 0001 with the code: each code with its status, each
// limit with its default, each operation.
func TestRFCHasWhatIsThere(t *testing.T) {
	text, err := os.ReadFile("../rfcs/0001-relay.md")
	if err != nil {
		t.Fatal(err)
	}
	rfc := string(text)
	for code, s := range status {
		if row := fmt.Sprintf("| `%s` | %d |", code, s); !strings.Contains(rfc, row) {
			t.Errorf("RFC 0001 has no row %s", row)
		}
		if http.StatusText(s) == "" {
			t.Errorf("%s: no status %d", code, s)
		}
	}
	for _, op := range operations {
		if !strings.Contains(rfc, "`"+op.name+"`") {
			t.Errorf("RFC 0001 has no operation %s", op.name)
		}
	}
	l := defaultLimits
	published := parse(t, mustJSON(t, l))
	schema, _ := readOpenAPI(t).At("components", "schemas", "limits", "properties")
	for name, v := range published.Members() {
		if _, ok := schema.Get(name); !ok {
			t.Errorf("openapi.json has no limit %s", name)
		}
		if !strings.Contains(rfc, "`"+name+"`") || !strings.Contains(rfc, commas(v.Canonical())) {
			t.Errorf("RFC 0001 has no limit %s of %s", name, commas(v.Canonical()))
		}
	}
	if schema.Len() != published.Len() {
		t.Errorf("openapi.json has %d limits, want %d", schema.Len(), published.Len())
	}
}

func commas(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func mustJSON(t *testing.T, x any) string {
	t.Helper()
	v, err := wire.Encode(x)
	if err != nil {
		t.Fatal(err)
	}
	return v.Canonical()
}
