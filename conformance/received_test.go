package conformance_test

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/conformance/vectors"
	"github.com/concordia-node/concordia/internal/mutate"
	"github.com/concordia-node/concordia/wire"
)

// sound returns the sound vectors of this project's own profiles, by name. The
// contract's profiles demand less.
func sound(t *testing.T) map[string]wire.Value {
	t.Helper()
	suite, err := conformance.OpenSuite(vectors.FS(), manifest)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]wire.Value{}
	for _, e := range suite.Entries {
		name, ok := strings.CutSuffix(path.Base(e.Path), "-sound.json")
		if !ok || !strings.Contains(e.Path, "/positive/") || strings.HasPrefix(name, "contract-") || name == "message_chain" {
			continue
		}
		data, err := fs.ReadFile(vectors.FS(), e.Path)
		if err != nil {
			t.Fatal(err)
		}
		if all[name], err = wire.Parse(data, wire.DocumentLimits); err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 20 {
		t.Fatalf("%d sound vectors", len(all))
	}
	return all
}

// accepts reports whether this implementation accepts v in place of a vector's input.
func accepts(t *testing.T, of, v wire.Value) bool {
	t.Helper()
	vector, err := conformance.ReadVector([]byte(of.With("input", v).Canonical()))
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := conformance.Own{}.Judge(vector.Question)
	if err != nil {
		t.Fatal(err)
	}
	return got == "accept"
}

// unsigned says, of the sound vectors, what nobody signed: a pointer and what is below
// it, or a pointer with ! for that member alone. Everything else of an artifact is
// covered by a signature.
var unsigned = map[string][]string{
	"a2a_part":                 {"/metadata", "/!"}, // the carrier is not signed
	"agent_profile":            {"/verified", "/trust_signals!", "/trust_signals/reputation/0!"},
	"attestation":              {"/countersignatures!"},                                          // a witness may be added
	"attestation-v0-1-0":       {"/fulfillment", "/meta", "/outcome", "/references", "/summary"}, // had no countersignatures
	"attestation-fulfilled":    {"/fulfillment"},                                                 // what one party says; the confirmation is signed
	"competence_proof":         {"/concordia_competence_proof"},
	"transcript":               {"/!", "/receipt!", "/receipt/countersignatures!", "/evidence!"}, // a document of signed messages
	"cascade_traversal":        {""},                                                             // questions, not artifacts
	"closure":                  {""},
	"chain_session-transition": {""},
	"reputation_query":         {""}, // anybody may ask
	"json_text":                {""},
	"signed_text":              {""},
}

// isFree reports whether a change at a pointer of a sound vector changes nothing that
// is signed.
func isFree(name, at string) bool {
	for prefix := name; ; {
		for _, free := range unsigned[prefix] {
			one, only := strings.CutSuffix(free, "!")
			if only && strings.TrimSuffix(one, "/") == at || !only && strings.HasPrefix(at+"/", free+"/") || !only && free == "" {
				return true
			}
		}
		i := strings.LastIndexByte(prefix, '-')
		if i < 0 {
			return false
		}
		prefix = prefix[:i]
	}
}

// What was received is verified, not what could be made of it: a member that is taken
// away or added, be it null, and a signature in another spelling are refused in every
// kind of artifact, wherever somebody signed.
func TestUnsignedChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("computes much, one step after the other")
	}
	null, err := wire.Parse([]byte("null"), wire.DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	for name, vector := range sound(t) {
		input, _ := vector.Get("input")
		if !accepts(t, vector, input) {
			t.Errorf("%s: not accepted itself", name)
		}
		refused := func(at, what string, v wire.Value) {
			if !isFree(name, at) && accepts(t, vector, v) {
				t.Errorf("%s: accepted with %s at %q", name, what, at)
			}
		}
		for m := range mutate.All(input.Canonical()) {
			if v, err := wire.Parse([]byte(m.Text), wire.DocumentLimits); err == nil && m.What == "drop" {
				refused(m.Pointer, "nothing", v)
			}
		}
		walk(input, "", func(v wire.Value) wire.Value { return v }, func(at string, v wire.Value, set func(wire.Value) wire.Value) {
			if v.Kind() == wire.Object {
				refused(at, "null added", set(v.With("zz_added", null)))
				refused(at, "a text added", set(v.With("zz_added", wire.Text("y"))))
			}
			if raw, err := base64.URLEncoding.DecodeString(v.Text() + strings.Repeat("=", -len(v.Text())&3)); err != nil || len(raw) < 64 || len(raw) > 72 {
				return // no signature
			}
			for what, other := range respelled(v.Text()) {
				if other != v.Text() {
					refused(at, what, set(wire.Text(other)))
				}
			}
		})
	}
}

// respelled returns texts that a lenient reader decodes to the bytes of a signature.
func respelled(text string) map[string]string {
	bare := strings.TrimRight(text, "=")
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, bare[len(bare)-1])
	return map[string]string{
		"without padding": bare, "padded": bare + strings.Repeat("=", -len(bare)&3), "more padding": bare + "====",
		"line feed": text + "\n", "space": " " + text, "junk": text[:10] + "*" + text[10:],
		"trailing bits":     bare[:len(bare)-1] + alphabet[last^1:last^1+1] + text[len(bare):],
		"standard alphabet": strings.NewReplacer("-", "+", "_", "/").Replace(text),
	}
}

// walk does what is to be done for v and all values below it. set puts a value in the
// place of the one that is visited and returns the whole.
func walk(v wire.Value, at string, set func(wire.Value) wire.Value, do func(string, wire.Value, func(wire.Value) wire.Value)) {
	do(at, v, set)
	for name, m := range v.Members() {
		walk(m, at+wire.Pointer(name), func(w wire.Value) wire.Value { return set(v.With(name, w)) }, do)
	}
	for i, e := range v.Elems() {
		walk(e, fmt.Sprintf("%s/%d", at, i), func(w wire.Value) wire.Value { return set(v.WithElem(i, w)) }, do)
	}
}
