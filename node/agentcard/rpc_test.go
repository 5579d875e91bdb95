package agentcard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/a2a"
)

// Which versions of A2A are spoken.
func TestCheckVersion(t *testing.T) {
	for v, ok := range map[string]bool{
		"": true, "1.0": true, "1.0.1": true, "0.3": true, "0.3.0": true, " 1.0 ": true,
		"1": false, "1.1": false, "0.2": false, "2.0": false, "10": false, "01.0": false, "x": false, "1.0,2.0": false,
	} {
		if err := checkVersion(http.Header{"A2a-Version": {v}}); (err == nil) != ok {
			t.Errorf("%q: %v", v, err)
		}
	}
}

// A part is the extension's by any one of its marks, so that a broken one is refused and
// not passed over.
func TestIsCarrier(t *testing.T) {
	for text, want := range map[string]bool{
		`{"mediaType":"` + a2a.MediaType + `"}`:         true,
		`{"data":{"type":"` + a2a.PartType + `"}}`:      true,
		`{"data":{"type":"` + a2a.EnclosureType + `"}}`: true,
		`{"metadata":{"` + a2a.ExtensionURI + `":1}}`:   true,
		`{"metadata":{"https://example.test/x":{}},"mediaType":"application/json","data":{"type":"` + a2a.ExtensionURI + `"}}`: false,
		`{"text":"` + a2a.MediaType + `"}`:          false,
		`{"data":[1],"metadata":"x","mediaType":7}`: false,
		`"` + a2a.MediaType + `"`:                   false,
	} {
		v, err := wire.Parse([]byte(text), requestLimits)
		if err != nil {
			t.Fatal(err)
		}
		if isCarrier(v) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// Whatever a request is, it has an answer that can be written, and a part that is taken
// out of it is one of the extension.
func FuzzRequest(f *testing.F) {
	part := `{"data":{"type":"` + a2a.PartType + `","version":"1","envelope":{}},"mediaType":"` + a2a.MediaType + `"}`
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[` + part + `]}}}`,
		`{"jsonrpc":"2.0","id":"x","method":"message/send","params":{"message":{"messageId":"m","role":"user","parts":[{"kind":"text"},` + part + `,3]}}}`,
		`{"jsonrpc":"2.0","id":null,"method":"tasks/get","params":[]}`,
		`[]`, `{`, `"x"`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := readRequest([]byte(text))
		if err == nil && r.id.Kind() == wire.Absent {
			t.Error("a request without id")
		}
		part, fault := carrierOf(r.params)
		if fault == nil && !isCarrier(part) {
			t.Errorf("another part: %s", part)
		}
		if fault == nil {
			_, fault = a2a.Read(part, []string{a2a.ExtensionURI})
		}
		for _, err := range []error{err, fault} {
			if _, err := wire.Encode(r.answer(wire.Text("x"), err)); err != nil {
				t.Error(err)
			}
		}
	})
}

// However a header is written, it makes the extension active only if its URI is there.
func FuzzActivated(f *testing.F) {
	f.Add(a2a.ExtensionURI, "")
	f.Add("https://example.test/x, "+a2a.ExtensionURI, `"x"`)
	f.Fuzz(func(t *testing.T, line, old string) {
		h := http.Header{}
		h.Add(Header, line)
		h.Add(OldHeader, old)
		active := Activated(h)
		if len(active) > 0 && !strings.Contains(line, a2a.ExtensionURI) && !strings.Contains(old, a2a.ExtensionURI) {
			t.Errorf("%q", active)
		}
		answer := http.Header{}
		if echo(answer, h); len(Activated(answer)) != 1 {
			t.Errorf("the echo %v counts for nothing", answer)
		}
	})
}
