package a2a_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/a2a"
)

const secret = "sekrit" // what no error may repeat

func key(tb testing.TB) wire.PrivateKey {
	tb.Helper()
	k, err := wire.NewPrivateKey([]byte(strings.Repeat("a", wire.SeedSize)))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func message(tb testing.TB) *wire.Message {
	tb.Helper()
	body, err := wire.Encode(wire.M{"terms": wire.M{"taskId": 1}}) // a body may say what it likes
	if err != nil {
		tb.Fatal(err)
	}
	m, err := wire.Sign(wire.Envelope{
		Type: wire.TypeOpen, ID: "msg_1", Session: "ses_1", Time: time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC), From: "seller",
		PrevHash: wire.HashOf("before"), Body: body,
	}, key(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func part(tb testing.TB) wire.Value {
	tb.Helper()
	p, err := a2a.Wrap(message(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func parse(tb testing.TB, text string) wire.Value {
	tb.Helper()
	v, err := wire.Parse([]byte(text), wire.DocumentLimits)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// edit returns v with the member at path set to text, or without it if that is "".
func edit(tb testing.TB, v wire.Value, text string, path ...string) wire.Value {
	tb.Helper()
	switch {
	case len(path) > 1:
		child, _ := v.Get(path[0])
		return v.With(path[0], edit(tb, child, text, path[1:]...))
	case text == "":
		return v.Without(path[0])
	}
	return v.With(path[0], parse(tb, text))
}

var active = []string{"https://example.com/other", a2a.ExtensionURI}

// A message comes out of a part as it went in, byte for byte.
func TestRoundTrip(t *testing.T) {
	m := message(t)
	u, err := a2a.Parse([]byte(part(t).Canonical()), active)
	if err != nil {
		t.Fatal(err)
	}
	got, err := u.Verify(wire.KeyMap{"seller": key(t).Public()})
	if err != nil || got.Hash() != m.Hash() {
		t.Errorf("%v, %v", got, err)
	}
	want := `{"data":{"envelope":` + m.Value().Canonical() + `,"type":"https://concordiaprotocol.dev/a2a-ext/negotiation/v1#envelope","version":"1"},` +
		`"mediaType":"application/vnd.concordia.negotiation+json",` +
		`"metadata":{"https://concordiaprotocol.dev/a2a-ext/negotiation/v1":{"schema":"https://concordiaprotocol.dev/a2a-ext/negotiation/v1/schema/data-part.json"}}}`
	if part(t).Canonical() != want {
		t.Errorf("got %s\nwant %s", part(t), want)
	}
}

func TestRead(t *testing.T) {
	for _, test := range []struct {
		path string // of the member that text replaces; "." separates
		text string
		rule string
	}{
		{"filename", `"offer.json"`, ""},
		{"metadata|https://example.com/other", `{"a":1}`, ""},
		{"text", `""`, "a2a-part at "},
		{"raw", `null`, "a2a-part at "},
		{"url", `"https://sekrit.example"`, "a2a-part at "},
		{"Text", `"sekrit"`, "a2a-part at "},
		{"mediaType", ``, "a2a-part at /mediaType"},
		{"mediaType", `"application/json"`, "a2a-part at /mediaType"},
		{"mediatype", `"sekrit"`, "a2a-part at "},
		{"data", ``, "a2a-part at /data"},
		{"data", `["sekrit"]`, "a2a-part at /data"},
		{"data|sekrit", `1`, "a2a-part at /data"},
		{"data|version", ``, "a2a-part at /data"},
		{"data|version", `1`, "a2a-part at /data/version"},
		{"data|version", `"2"`, "a2a-part at /data/version"},
		{"data|type", `"sekrit"`, "a2a-part at /data/type"},
		{"metadata", ``, "a2a-part at " + metadata},
		{"metadata", `"sekrit"`, "a2a-part at " + metadata},
		{"metadata|" + a2a.ExtensionURI, ``, "a2a-part at " + metadata},
		{"metadata|" + a2a.ExtensionURI + "|sekrit", `1`, "a2a-part at " + metadata},
		{"metadata|" + a2a.ExtensionURI + "|schema", `"sekrit"`, "a2a-part at " + metadata + "/schema"},
		{"data|envelope", `"sekrit"`, "envelope at /data/envelope"},
		{"data|envelope|prev_hash", ``, "envelope at /data/envelope"},
		{"data|envelope|prev_hash", `"` + strings.ToUpper(wire.HashOf("before").String()) + `"`, "envelope at /data/envelope"},
		{"data|envelope|type", `"sekrit"`, "message-type at /data/envelope"},
		{"data|envelope|concordia", `"sekrit"`, "protocol-version at /data/envelope"},
		{"data|envelope|signature", `"sekrit"`, "signature-form at /data/envelope"},
		{"data|envelope|taskId", `"sekrit"`, "a2a-task-ids at /data/envelope/taskId"},
		{"data|envelope|contextId", `null`, "a2a-task-ids at /data/envelope/contextId"},
		{"data|envelope|task_id", `1`, "a2a-task-ids at /data/envelope/task_id"},
		{"data|envelope|context_id", `{}`, "a2a-task-ids at /data/envelope/context_id"},
	} {
		v := edit(t, part(t), test.text, strings.Split(test.path, "|")...)
		_, err := a2a.Read(v, active)
		if got := broke(err); got != test.rule {
			t.Errorf("%s = %s: got %q, want %q", test.path, test.text, got, test.rule)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s = %s: the error repeats it: %v", test.path, test.text, err)
		}
		if _, again := a2a.Parse([]byte(v.Canonical()), active); broke(again) != broke(err) {
			t.Errorf("%s = %s: read as %v, parsed as %v", test.path, test.text, err, again)
		}
	}
}

const metadata = "/metadata/https:~1~1concordiaprotocol.dev~1a2a-ext~1negotiation~1v1"

// An enclosure is carried as a message is, and neither is taken for the other.
func TestEnclosure(t *testing.T) {
	enclosure := parse(t, `{"concordia_enclosure":"0.1.0","kind":"invitation"}`)
	p, err := a2a.WrapEnclosure(enclosure)
	if err != nil {
		t.Fatal(err)
	}
	got, err := a2a.ReadEnclosure(p, active)
	if err != nil || !got.Equal(enclosure) {
		t.Errorf("read %v, %v", got, err)
	}
	if _, err := a2a.ReadEnclosure(p, nil); broke(err) != "a2a-inactive at " {
		t.Errorf("inactive: %v", err)
	}
	if _, err := a2a.Read(p, active); broke(err) != "a2a-part at /data" {
		t.Errorf("read as a message: %v", err)
	}
	if _, err := a2a.ReadEnclosure(part(t), active); broke(err) != "a2a-part at /data" {
		t.Errorf("a message read as an enclosure: %v", err)
	}
	for _, test := range []struct{ path, text, rule string }{
		{"data|sekrit", `1`, "a2a-part at /data"},
		{"data|type", `"` + a2a.PartType + `"`, "a2a-part at /data/type"},
		{"data|version", `"2"`, "a2a-part at /data/version"},
		{"mediaType", ``, "a2a-part at /mediaType"},
		{"text", `"sekrit"`, "a2a-part at "},
	} {
		if _, err := a2a.ReadEnclosure(edit(t, p, test.text, strings.Split(test.path, "|")...), active); broke(err) != test.rule {
			t.Errorf("%s = %s: %v", test.path, test.text, err)
		}
	}
}

// Without the extension nothing is read, not even looked at.
func TestInactive(t *testing.T) {
	for _, list := range [][]string{nil, {}, {""}, {a2a.ExtensionURI + "/"}, {strings.ToUpper(a2a.ExtensionURI)}, {a2a.ExtensionURI + ", x"}} {
		if _, err := a2a.Read(part(t), list); broke(err) != "a2a-inactive at " {
			t.Errorf("%q: %v", list, err)
		}
		if _, err := a2a.Parse([]byte("not JSON"), list); broke(err) != "a2a-inactive at " {
			t.Errorf("%q: %v", list, err)
		}
	}
}

// What is no part is refused without repeating a word of it.
func TestUnreadable(t *testing.T) {
	for _, test := range []struct{ text, rule string }{
		{`{"sekrit":1,"sekrit":2}`, "json-duplicate at "},
		{`{"sekrit":-0}`, "json-number at "},
		{`{"sekrit"`, "json-syntax at "},
		{`"sekrit"`, "a2a-part at "},
		{strings.Repeat(" ", a2a.MaxPartSize+1), "json-size at "},
		{strings.Repeat("[", 100) + strings.Repeat("]", 100), "json-depth at "},
	} {
		_, err := a2a.Parse([]byte(test.text), active)
		if got := broke(err); got != test.rule || strings.Contains(err.Error(), secret) {
			t.Errorf("%.40s: %v, want %q", test.text, err, test.rule)
		}
	}
}

// A part that somebody else parsed keeps to the same limits.
func TestReadLimits(t *testing.T) {
	p := part(t)
	metadata, _ := p.Get("metadata")
	for name, test := range map[string]struct {
		other wire.Value
		rule  string
	}{
		"full": {wire.Text(strings.Repeat("x", a2a.MaxPartSize-len(p.With("metadata", metadata.With("other", wire.Text(""))).Canonical()))), ""},
		"long": {wire.Text(strings.Repeat("x", a2a.MaxPartSize)), "json-size at "},
		"deep": {parse(t, strings.Repeat("[", 79)+strings.Repeat("]", 79)), "json-depth at "},
	} {
		q := p.With("metadata", metadata.With("other", test.other))
		if _, err := a2a.Read(q, active); broke(err) != test.rule {
			t.Errorf("%s: Read: %v", name, err)
		}
		if _, err := a2a.Parse([]byte(q.Canonical()), active); broke(err) != test.rule {
			t.Errorf("%s: Parse: %v", name, err)
		}
	}
}

// A message that another program signed with a task id is not put into a part.
func TestWrapRefuses(t *testing.T) {
	v := message(t).Value().With("taskId", wire.Text("task-9"))
	sig, err := key(t).Sign([]byte(v.Without("signature").Canonical()))
	if err != nil {
		t.Fatal(err)
	}
	u, err := wire.ReadMessage(v.With("signature", wire.Text(sig.String())))
	if err != nil {
		t.Fatal(err)
	}
	m, err := u.Verify(wire.KeyMap{"seller": key(t).Public()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a2a.Wrap(m); !errors.Is(err, a2a.RuleTaskIDs) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(part(f).Canonical()))
	f.Add([]byte(`{"data":{},"metadata":{},"mediaType":""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		u, err := a2a.Parse(data, active)
		if (u == nil) == (err == nil) {
			t.Fatalf("%v, %v", u, err)
		}
	})
}

// broke says which rule an error breaks, and where; "" is no error.
func broke(err error) string {
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		return v.Rule.Name + " at " + v.At
	}
	if err == nil {
		return ""
	}
	return err.Error()
}
