package resolve_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/resolve"
)

func parse(tb testing.TB, text string) wire.Value {
	tb.Helper()
	v, err := wire.Parse([]byte(text), wire.DocumentLimits)
	if err != nil {
		tb.Fatalf("%v in %s", err, text)
	}
	return v
}

func private(tb testing.TB, name string) wire.PrivateKey {
	tb.Helper()
	k, err := wire.NewPrivateKey([]byte((name + strings.Repeat("-", wire.SeedSize))[:wire.SeedSize]))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func public(tb testing.TB, name string) wire.PublicKey {
	tb.Helper()
	return private(tb, name).Public()
}

func instant(tb testing.TB, text string) time.Time {
	tb.Helper()
	t, err := wire.ParseTime(text)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func contacts(tb testing.TB, texts ...string) *resolve.Contacts {
	tb.Helper()
	c := new(resolve.Contacts)
	for _, text := range texts {
		if err := c.Add(parse(tb, text)); err != nil {
			tb.Fatalf("%v in %s", err, text)
		}
	}
	return c
}

func TestContacts(t *testing.T) {
	a, b := public(t, "a"), public(t, "b")
	c := contacts(t, `{"seller":"`+a.String()+`","buyer":[
		{"key":"`+a.String()+`","until":"2026-03-01T00:00:00Z","name":"Ann's shop"},
		{"key":"`+b.String()+`","from":"2026-03-01T00:00:00Z","until":"2026-04-01T00:00:00Z"},
		{"key":"`+a.String()+`","from":"2026-05-01T00:00:00Z"}]}`)
	for _, test := range []struct {
		agent wire.AgentID
		at    string
		want  wire.PublicKey
	}{
		{"seller", "1970-01-01T00:00:00Z", a},
		{"seller", "2026-03-01T00:00:00Z", a},
		{"buyer", "1970-01-01T00:00:00Z", a},
		{"buyer", "2026-02-28T23:59:59Z", a},
		{"buyer", "2026-03-01T00:00:00Z", b}, // from is in it, until is not
		{"buyer", "2026-03-31T23:59:59Z", b},
		{"buyer", "2026-04-01T00:00:00Z", wire.PublicKey{}},
		{"buyer", "2026-04-30T23:59:59Z", wire.PublicKey{}},
		{"buyer", "2026-05-01T00:00:00Z", a},
		{"Buyer", "2026-05-01T00:00:00Z", wire.PublicKey{}},
	} {
		got, err := c.Key(test.agent, instant(t, test.at))
		if got != test.want || test.want.IsZero() != errors.Is(err, wire.RuleUnknownKey) {
			t.Errorf("Key(%s, %s) = %v, %v, want %v", test.agent, test.at, got, err, test.want)
		}
	}
	if _, err := new(resolve.Contacts).Key("seller", time.Time{}); !errors.Is(err, wire.RuleUnknownKey) {
		t.Errorf("Key of no contacts = %v, want %v", err, wire.RuleUnknownKey)
	}
}

func TestContactsRefused(t *testing.T) {
	a, b := public(t, "a").String(), public(t, "b").String()
	list := func(entries ...string) string { return `{"x":[` + strings.Join(entries, ",") + `]}` }
	many := make([]string, resolve.MaxKeysPerContact+1)
	for i := range many {
		many[i] = fmt.Sprintf(`{"key":"%s","from":"2026-01-01T00:%02d:%02dZ","until":"2026-01-01T00:%02d:%02dZ"}`, a, i/60, i%60, (i+1)/60, (i+1)%60)
	}
	contacts(t, list(many[1:]...))
	for _, test := range []struct {
		name, text, at string
		rule           *wire.Rule
	}{
		{"not an object", `[]`, "", resolve.RuleContacts},
		{"neither key nor list", `{"x":1}`, "/x", resolve.RuleContacts},
		{"an object for a list", `{"x":{"key":"` + a + `"}}`, "/x", resolve.RuleContacts},
		{"not an id", `{"x y":"` + a + `"}`, "/x y", resolve.RuleContacts},
		{"empty list", `{"x":[]}`, "/x", resolve.RuleContacts},
		{"a list of keys", `{"x":["` + a + `"]}`, "/x/0", resolve.RuleContacts},
		{"no key", `{"x":"AAAA"}`, "/x", wire.RuleWeakKey},
		{"weak key", `{"x":"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}`, "/x", wire.RuleWeakKey},
		{"no key in a list", list(`{"key":"AAAA"}`), "/x/0/key", wire.RuleWeakKey},
		{"without a key", list(`{"from":"2026-01-01T00:00:00Z"}`), "/x/0/key", resolve.RuleContacts},
		{"another member", list(`{"key":"` + a + `","till":"2026-01-01T00:00:00Z"}`), "/x/0/till", resolve.RuleContacts},
		{"no instant", list(`{"key":"` + a + `","from":"2026-01-01"}`), "/x/0/from", resolve.RuleContacts},
		{"null is no instant", list(`{"key":"` + a + `","until":null}`), "/x/0/until", resolve.RuleContacts},
		{"no time at all", list(`{"key":"` + a + `","from":"2026-01-01T00:00:00Z","until":"2026-01-01T00:00:00Z"}`), "/x/0/until", resolve.RuleContacts},
		{"long name", list(`{"key":"` + a + `","name":"` + strings.Repeat("é", resolve.MaxContactName+1) + `"}`), "/x/0/name", resolve.RuleContacts},
		{"two keys", list(`{"key":"`+a+`"}`, `{"key":"`+b+`"}`), "/x/1/key", resolve.RuleContacts},
		{"overlap", list(`{"key":"`+a+`","until":"2026-03-01T00:00:01Z"}`, `{"key":"`+b+`","from":"2026-03-01T00:00:00Z"}`), "/x/1/key", resolve.RuleContacts},
		{"overlap, the later first", list(`{"key":"`+b+`","from":"2026-03-01T00:00:00Z"}`, `{"key":"`+a+`","until":"2026-03-01T00:00:01Z"}`), "/x/1/key", resolve.RuleContacts},
		{"overlap of one key", list(`{"key":"`+a+`"}`, `{"key":"`+a+`","from":"2026-03-01T00:00:00Z"}`), "/x/1/key", resolve.RuleContacts},
		{"inside another", list(`{"key":"`+a+`","from":"2026-01-01T00:00:00Z","until":"2026-12-01T00:00:00Z"}`, `{"key":"`+b+`","from":"2026-03-01T00:00:00Z","until":"2026-04-01T00:00:00Z"}`), "/x/1/key", resolve.RuleContacts},
		{"another key than the did:key", `{"` + string(wire.DIDKey(public(t, "a"))) + `":"` + b + `"}`, "", resolve.RuleContacts},
		{"many keys", list(many...), "/x/64/key", resolve.RuleContacts},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := new(resolve.Contacts).Add(parse(t, test.text))
			v, ok := errors.AsType[*wire.Violation](err)
			if !ok || v.Rule != test.rule || test.at != "" && v.At != test.at {
				t.Errorf("Add = %v, want %s at %s", err, test.rule.Name, test.at)
			}
		})
	}
}

// Two files may say the same, and not two things.
func TestContactsOfTwoFiles(t *testing.T) {
	a, b := public(t, "a").String(), public(t, "b").String()
	c := contacts(t, `{"x":"`+a+`"}`, `{"x":"`+a+`","y":"`+b+`"}`)
	if err := c.Add(parse(t, `{"x":"`+b+`"}`)); !errors.Is(err, resolve.RuleContacts) {
		t.Errorf("Add of another key = %v, want %v", err, resolve.RuleContacts)
	}
	if k, _ := c.Key("x", time.Time{}); k != public(t, "a") {
		t.Errorf("the key is %v, want that of the first file", k)
	}
}

func TestContactsAreBounded(t *testing.T) {
	a := public(t, "a").String()
	var text strings.Builder
	for i := range resolve.MaxContacts {
		fmt.Fprintf(&text, `"%d":"%s",`, i, a)
	}
	c := contacts(t, `{`+strings.TrimSuffix(text.String(), ",")+`}`)
	if err := c.Add(parse(t, `{"more":"`+a+`"}`)); !errors.Is(err, resolve.RuleContacts) {
		t.Errorf("Add = %v, want %v", err, resolve.RuleContacts)
	}
}

// A world has one key for every did:web.
type world struct{ key wire.PublicKey }

func (w world) Key(agent wire.AgentID, at time.Time) (wire.PublicKey, error) {
	if !resolve.IsWeb(agent) {
		return wire.KeyMap(nil).Key(agent, at)
	}
	return w.key, nil
}

// Whom the contacts list they answer for alone: a did:key whose owner lost it does not
// come back by being a did:key.
func TestContactsElse(t *testing.T) {
	lost, other := wire.DIDKey(public(t, "lost")), wire.DIDKey(public(t, "other"))
	keys := contacts(t, `{"`+string(lost)+`":[{"key":"`+public(t, "lost").String()+`","until":"2026-03-01T00:00:00Z"}],
		"`+string(wire.ReferenceDIDKey(public(t, "ended")))+`":[{"key":"`+public(t, "ended").String()+`","until":"2026-03-01T00:00:00Z"}],
		"did:web:example.com#k":"`+public(t, "other").String()+`","did:web:Host.example:a":"`+public(t, "other").String()+`",
		"did:web:port.example%3A443":"`+public(t, "other").String()+`"}`).Else(wire.AnyKeys{wire.DIDKeys{}, world{public(t, "web")}})
	url := lost + "#" + lost[len("did:key:"):]
	for _, test := range []struct {
		agent wire.AgentID
		at    string
		want  wire.PublicKey
	}{
		{lost, "2026-02-01T00:00:00Z", public(t, "lost")},
		{lost, "2026-03-01T00:00:00Z", wire.PublicKey{}},
		{url, "2026-03-01T00:00:00Z", wire.PublicKey{}},
		{wire.ReferenceDIDKey(public(t, "lost")), "2026-02-01T00:00:00Z", public(t, "lost")},
		{wire.ReferenceDIDKey(public(t, "lost")), "2026-03-01T00:00:00Z", wire.PublicKey{}},
		{wire.DIDKey(public(t, "ended")), "2026-02-01T00:00:00Z", public(t, "ended")},
		{wire.DIDKey(public(t, "ended")), "2026-03-01T00:00:00Z", wire.PublicKey{}},
		{"did:web:Host.example:a", "2026-03-01T00:00:00Z", public(t, "other")},
		{"did:web:host.example:a", "2026-03-01T00:00:00Z", wire.PublicKey{}},
		{"did:web:HOST.example%3A443:a#k", "2026-03-01T00:00:00Z", wire.PublicKey{}},
		{"did:web:host.example:A", "2026-03-01T00:00:00Z", public(t, "web")},
		{"did:web:host.example", "2026-03-01T00:00:00Z", public(t, "web")},
		{"did:web:port.example", "2026-03-01T00:00:00Z", wire.PublicKey{}},
		{"did:web:port.example%3A4430", "2026-03-01T00:00:00Z", public(t, "web")},
		{"did:web:example.com", "2026-03-01T00:00:00Z", public(t, "web")},
		{other, "2026-03-01T00:00:00Z", public(t, "other")},
		{"did:web:example.com#k", "2026-03-01T00:00:00Z", public(t, "other")},
		{"nobody", "2026-03-01T00:00:00Z", wire.PublicKey{}},
	} {
		got, err := keys.Key(test.agent, instant(t, test.at))
		if got != test.want || test.want.IsZero() != errors.Is(err, wire.RuleUnknownKey) {
			t.Errorf("Key(%s, %s) = %v, %v, want %v", test.agent, test.at, got, err, test.want)
		}
	}
}
