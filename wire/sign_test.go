package wire_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// What ParseMessage would refuse, Sign refuses.
func TestSignRefuses(t *testing.T) {
	deep := parse(t, `{"x":`+nested(63, "")+"}") // 64 deep in itself, 65 in a message
	tests := []struct {
		name   string
		change func(e *wire.Envelope)
		want   string
	}{
		{"no type", func(e *wire.Envelope) { e.Type = "" }, "message-type at /type"},
		{"unknown type", func(e *wire.Envelope) { e.Type = "negotiate.haggle" }, "message-type at /type"},
		{"no id", func(e *wire.Envelope) { e.ID = "" }, "envelope at /id"},
		{"bad session", func(e *wire.Envelope) { e.Session = "a b" }, "envelope at /session_id"},
		{"no sender", func(e *wire.Envelope) { e.From = "" }, "envelope at /from/agent_id"},
		{"no body", func(e *wire.Envelope) { e.Body = wire.Value{} }, "envelope at /body"},
		{"array as a body", func(e *wire.Envelope) { e.Body = parse(t, "[]") }, "envelope at /body"},
		{"deep body", func(e *wire.Envelope) { e.Body = deep }, "json-depth"},
		{"large body", func(e *wire.Envelope) {
			e.Body = encode(t, wire.M{"x": strings.Repeat("x", wire.MaxMessageSize)})
		}, "json-size"},
		{"bad recipient", func(e *wire.Envelope) { e.To = []wire.AgentID{"a", ""} }, "envelope at /to/1/agent_id"},
		{"bad reply", func(e *wire.Envelope) { e.InReplyTo = "\n" }, "envelope at /in_reply_to"},
		{"negative ttl", func(e *wire.Envelope) { e.TTL = -time.Second }, "envelope at /ttl"},
		{"ttl below a second", func(e *wire.Envelope) { e.TTL = time.Millisecond }, "envelope at /ttl"},
		{"ttl beyond the limit", func(e *wire.Envelope) { e.TTL = 101 * 366 * 24 * time.Hour }, "envelope at /ttl"},
		{"year 10000", func(e *wire.Envelope) { e.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, "envelope at /timestamp"},
		{"year -1", func(e *wire.Envelope) { e.Time = time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC) }, "envelope at /timestamp"},
	}
	for _, tt := range tests {
		e := fill(t, full(t))
		tt.change(&e)
		m, err := wire.Sign(e, testKey(t, "seller"))
		if refusal(err) != tt.want || m != nil {
			t.Errorf("%s: got %q, want %q", tt.name, refusal(err), tt.want)
		}
	}
	for name, change := range map[string]func(e *wire.Envelope){
		"reasoning": func(e *wire.Envelope) { e.Reasoning = "\xff" },
		"thread":    func(e *wire.Envelope) { e.Thread = "\xed\xa0\x80" },
		"principal": func(e *wire.Envelope) { e.Principal = "a\xc0" },
		"id":        func(e *wire.Envelope) { e.ID = "a\xff" },
	} {
		e := full(t)
		change(&e)
		if m, err := wire.Sign(e, testKey(t, "seller")); err == nil {
			t.Errorf("%s of invalid UTF-8: signed %v", name, m.Value())
		}
	}
	if _, err := wire.Sign(full(t), brokenSigner{}); !errors.Is(err, errBroken) {
		t.Errorf("a broken signer: got %v, want its error", err)
	}
}

type brokenSigner struct{}

func (brokenSigner) Public() wire.PublicKey              { return wire.PublicKey{} }
func (brokenSigner) Sign([]byte) (wire.Signature, error) { return wire.Signature{}, errBroken }

// SPEC §4.1, §9.2.1: at most 262,144 bytes and 64 deep, in whatever spelling it
// comes and whatever file it comes in.
func TestMessageLimits(t *testing.T) {
	base := signed(t, wire.Envelope{})
	room := wire.MaxMessageSize - len(resign(t, base.With("reasoning", wire.Text(""))).Canonical())
	fits := resign(t, base.With("reasoning", wire.Text(strings.Repeat("x", room))))
	if got := len(fits.Canonical()); got != wire.MaxMessageSize {
		t.Fatalf("the message has %d bytes, want %d", got, wire.MaxMessageSize)
	}
	if _, err := verify(fits.Canonical(), sellerKeys); err != nil {
		t.Errorf("%d bytes: got %v, want no error", wire.MaxMessageSize, err)
	}
	wantRefusal(t, "white space beyond the limit", parseErr(fits.Canonical()+" "), wire.RuleSize, "")
	large := resign(t, base.With("reasoning", wire.Text(strings.Repeat("x", room+1))))
	wantRefusal(t, "a byte more", parseErr(large.Canonical()), wire.RuleSize, "")
	_, err := wire.ReadMessage(large)
	wantRefusal(t, "a byte more, in a file", err, wire.RuleSize, "")

	// 5 bytes for each number, 9 in canonical form: what is small on arrival must
	// be so for everyone it is passed on to.
	swelling := base.Without("body").Canonical()
	swelling = `{"body":{"x":[0` + strings.Repeat(",1e-6", 50_000) + `]},` + swelling[1:]
	if len(swelling) > wire.MaxMessageSize {
		t.Fatalf("%d bytes are too many to begin with", len(swelling))
	}
	wantRefusal(t, "canonical form beyond the limit", parseErr(swelling), wire.RuleSize, "")

	body := func(depth int) wire.Value {
		return resign(t, base.With("body", parse(t, `{"x":`+nested(depth-2, "")+"}")))
	}
	if _, err := verify(body(wire.MaxDepth).Canonical(), sellerKeys); err != nil {
		t.Errorf("64 deep: got %v, want no error", err)
	}
	deep := body(wire.MaxDepth + 1)
	wantRefusal(t, "65 deep", parseErr(deep.Canonical()), wire.RuleDepth, "/body/x"+strings.Repeat("/0", wire.MaxDepth-2))
	_, err = wire.ReadMessage(deep)
	wantRefusal(t, "65 deep, in a file", err, wire.RuleDepth, "")
}

// Flipping one bit of a message leaves nothing that verifies, even where every
// agent has the same key.
func TestOneBitFlip(t *testing.T) {
	for name, e := range map[string]wire.Envelope{"required members": fill(t, wire.Envelope{}), "all members": full(t)} {
		data := []byte(signed(t, e).Canonical())
		rules := make(map[string]int)
		for i := range 8 * len(data) {
			data[i/8] ^= 1 << (i % 8)
			_, err := verify(string(data), sellerKeys)
			if v, ok := errors.AsType[*wire.Violation](err); ok {
				rules[v.Rule.Name]++
			} else {
				t.Errorf("%s, bit %d: got %v for %s", name, i, err, data)
			}
			data[i/8] ^= 1 << (i % 8)
		}
		for _, r := range []*wire.Rule{
			wire.RuleSyntax, wire.RuleUnicode, wire.RuleEnvelope, wire.RuleVersion, wire.RuleMessageType, wire.RuleSignatureForm, wire.RuleSignature,
		} {
			if rules[r.Name] == 0 {
				t.Errorf("%s: no flip breaks %s: %v", name, r.Name, rules)
			}
		}
	}
}

// messageSeeds are messages of every type and shape, all signed by the seller.
func messageSeeds(tb testing.TB) []string {
	var seeds []string
	for _, mt := range wire.MessageTypes() {
		seeds = append(seeds, signed(tb, wire.Envelope{Type: mt}).Canonical())
	}
	base := signed(tb, full(tb))
	for _, v := range []wire.Value{
		base,
		base.Without("ttl"),
		base.With("timestamp", parse(tb, `"2026-09-14T11:00:00.25+02:00"`)),
		base.With("body", parse(tb, `{"signature":"x","n":[1.5,1e21,5e-324,"é\u2028\"\\"],"":{}}`)),
		base.With("x", parse(tb, `{"y":[[],{}]}`)),
		base.With("from", parse(tb, `{"agent_id":"agent_seller","principal_id":null}`)),
		base.With("reasoning", wire.Text(strings.Repeat("x", 500))),
	} {
		seeds = append(seeds, resign(tb, v).Canonical())
	}
	return seeds
}

// FuzzParseMessage looks for a second message behind one signature: whatever
// verifies must be, in canonical form, one of the messages that were signed.
func FuzzParseMessage(f *testing.F) {
	seeds := messageSeeds(f)
	if len(seeds) < 20 {
		f.Fatalf("only %d seeds", len(seeds))
	}
	known := make(map[string]bool)
	w := newWriter(7)
	for _, s := range seeds {
		known[s] = true
		f.Add([]byte(s))
		f.Add([]byte(respell(f, w, s)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		u, err := wire.ParseMessage(data)
		if err != nil {
			if _, ok := errors.AsType[*wire.Violation](err); !ok {
				t.Fatalf("not a Violation: %v", err)
			}
			return
		}
		checkEnvelope(t, u.Envelope, u.Value())
		m, err := u.Verify(sellerKeys)
		if err != nil {
			if !errors.Is(err, wire.RuleSignature) {
				t.Fatalf("Verify: %v", err)
			}
			return
		}
		text := m.Value().Canonical()
		if !known[text] || m.Hash() != wire.HashOf(text) {
			t.Fatalf("a message nobody signed verifies: %s", text)
		}
		again, err := verify(text, sellerKeys)
		if err != nil || again.Hash() != m.Hash() {
			t.Fatalf("the canonical text does not verify: %v", err)
		}
	})
}

// checkEnvelope checks the members read against the value they were read from.
func checkEnvelope(t *testing.T, e wire.Envelope, v wire.Value) {
	t.Helper()
	for path, got := range map[string]string{
		"type": string(e.Type), "id": string(e.ID), "session_id": string(e.Session), "from agent_id": string(e.From),
		"from principal_id": e.Principal, "prev_hash": e.PrevHash.String(), "in_reply_to": string(e.InReplyTo), "thread": e.Thread, "reasoning": e.Reasoning,
	} {
		if want := textAt(v, strings.Fields(path)...); got != want {
			t.Fatalf("%s = %q, want %q", path, got, want)
		}
	}
	for _, id := range append(e.To, e.From, wire.AgentID(e.ID), wire.AgentID(e.Session)) {
		if err := wire.CheckID(id); err != nil {
			t.Fatalf("id %q: %v", id, err)
		}
	}
	body, _ := v.Get("body")
	to, _ := v.Get("to")
	ttl, _ := v.Get("ttl")
	seconds, _ := ttl.Int()
	if !e.Body.Equal(body) || e.Body.Kind() != wire.Object || len(e.To) != to.Len() || e.TTL != time.Duration(seconds)*time.Second {
		t.Fatalf("body %v, to %v, ttl %v of %v", e.Body, e.To, e.TTL, v)
	}
	if at, err := wire.ParseTime(textAt(v, "timestamp")); err != nil || !at.Equal(e.Time) || v.Depth() > wire.MaxDepth {
		t.Fatalf("timestamp %v (%v), depth %d of %v", e.Time, err, v.Depth(), v)
	}
}

// respell writes a canonical text in another order and spelling.
func respell(tb testing.TB, w writer, text string) string {
	var write func(v wire.Value) string
	write = func(v wire.Value) string {
		var parts []string
		switch v.Kind() {
		case wire.Object:
			for name, m := range v.Members() {
				parts = append(parts, w.space()+w.str(name)+w.space()+":"+w.space()+write(m)+w.space())
			}
			w.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			return "{" + strings.Join(parts, ",") + "}"
		case wire.Array:
			for _, e := range v.Elems() {
				parts = append(parts, w.space()+write(e)+w.space())
			}
			return "[" + strings.Join(parts, ",") + "]"
		case wire.String:
			return w.str(v.Text())
		}
		return v.Canonical()
	}
	return write(parse(tb, text))
}

// The seeds, respelled in many ways, are the same messages.
func TestRespelledMessages(t *testing.T) {
	w := newWriter(3)
	for _, s := range messageSeeds(t) {
		for range 5 {
			spelled := respell(t, w, s)
			m, err := verify(spelled, sellerKeys)
			if err != nil || m.Value().Canonical() != s {
				t.Errorf("%s reads as %v, %v, want %s", spelled, m, err, s)
			}
		}
	}
}
