package wire_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/edwards25519"
	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/wire"
)

// SPEC §4.1, §9.2: what Sign makes, ParseMessage reads and Verify proves.
func TestSignParseVerify(t *testing.T) {
	key := testKey(t, "seller")
	for name, e := range map[string]wire.Envelope{"required members": fill(t, wire.Envelope{}), "all members": full(t)} {
		m, err := wire.Sign(e, key)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := m.Value().Canonical()
		got, err := verify(text, wire.KeyMap{"agent_seller": key.Public()})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := e
		want.Time = e.Time.Truncate(time.Second)
		if diff := cmp.Diff(want, got.Envelope); diff != "" {
			t.Errorf("%s: the envelope read (-signed +read):\n%s", name, diff)
		}
		if diff := cmp.Diff(m.Envelope, got.Envelope); diff != "" {
			t.Errorf("%s: Sign and ParseMessage differ (-Sign +Parse):\n%s", name, diff)
		}
		if got.Value().Canonical() != text || got.Hash() != m.Hash() || m.Hash() != wire.HashOf(text) {
			t.Errorf("%s: hash %v, want the hash of the whole text %v", name, got.Hash(), wire.HashOf(text))
		}
		// The preimage is the canonical text less the signature.
		sig, err := wire.ParseSignature(textAt(m.Value(), "signature"))
		if err != nil || !key.Public().Verify([]byte(m.Value().Without("signature").Canonical()), sig) {
			t.Errorf("%s: the signature is not of the text without it (%v)", name, err)
		}
		again, err := wire.Sign(m.Envelope, key)
		if err != nil || again.Hash() != m.Hash() {
			t.Errorf("%s: signing the result again gives %v, %v, want the same message", name, again.Value(), err)
		}
	}
	want := `{"body":{"terms":{"price":{"value":1.5}}},"concordia":"0.1.0","from":{"agent_id":"agent_seller","principal_id":"Rosso & Söhne"},` +
		`"id":"msg_2","in_reply_to":"msg_1","prev_hash":"` + wire.HashOf("x").String() + `","reasoning":"<fair>\n","session_id":"ses_9",` +
		`"thread":"t 1","timestamp":"2026-09-14T09:00:00Z","to":[{"agent_id":"agent_buyer"},{"agent_id":"agent_witness"}],"ttl":3600,"type":"negotiate.counter"}`
	if diff := cmp.Diff(want, signed(t, full(t)).Without("signature").Canonical()); diff != "" {
		t.Errorf("what is signed (-want +got):\n%s", diff)
	}
}

// A message is what it says, however it is spelled: spelling does not reach hash
// or signature.
func TestSpellings(t *testing.T) {
	m := sign(t, full(t))
	text := m.Value().Canonical()
	for what, spelled := range map[string]string{
		"white space":   " " + strings.ReplaceAll(text, `":`, "\" :\t\n"),
		"escapes":       strings.ReplaceAll(strings.ReplaceAll(text, "a", `\u0061`), "ö", `\u00F6`),
		"numbers":       strings.ReplaceAll(strings.ReplaceAll(text, "3600", "36.00e2"), "1.5}", "15E-1}"),
		"another order": `{"ttl":3600,` + strings.ReplaceAll(text[1:], `"ttl":3600,`, ""),
	} {
		got, err := verify(spelled, sellerKeys)
		if err != nil || spelled == text || got.Hash() != m.Hash() {
			t.Errorf("%s: got %v, want the same message: %s", what, err, spelled)
		}
	}
}

// SPEC §4.1: every member, left out or malformed, is refused in its place.
func TestEnvelopeMembers(t *testing.T) {
	const drop = "drop"
	tests := []struct {
		member string // "a/b" is member b of a
		value  string
		rule   *wire.Rule // nil: the message is fine
		at     string
	}{
		{"concordia", drop, wire.RuleEnvelope, "/concordia"},
		{"concordia", "null", wire.RuleEnvelope, "/concordia"},
		{"concordia", "0.1", wire.RuleEnvelope, "/concordia"},
		{"concordia", `"1.0.0"`, wire.RuleVersion, "/concordia"},
		{"type", drop, wire.RuleEnvelope, "/type"},
		{"type", "null", wire.RuleEnvelope, "/type"},
		{"type", `["negotiate.offer"]`, wire.RuleEnvelope, "/type"},
		{"type", `"negotiate.haggle"`, wire.RuleMessageType, "/type"},
		{"id", drop, wire.RuleEnvelope, "/id"},
		{"id", "1", wire.RuleEnvelope, "/id"},
		{"id", `""`, wire.RuleEnvelope, "/id"},
		{"id", `"msg 1"`, wire.RuleEnvelope, "/id"},
		{"id", `"msg\u202e"`, wire.RuleEnvelope, "/id"},
		{"session_id", drop, wire.RuleEnvelope, "/session_id"},
		{"session_id", "{}", wire.RuleEnvelope, "/session_id"},
		{"session_id", `"` + strings.Repeat("x", 257) + `"`, wire.RuleEnvelope, "/session_id"},
		{"timestamp", drop, wire.RuleEnvelope, "/timestamp"},
		{"timestamp", "1789376400", wire.RuleEnvelope, "/timestamp"},
		{"timestamp", `"2026-09-14"`, wire.RuleEnvelope, "/timestamp"},
		{"timestamp", `"2026-09-14T09:00:00"`, wire.RuleEnvelope, "/timestamp"},
		{"timestamp", `"2026-09-14T11:00:00.25+02:00"`, nil, ""},
		{"from", drop, wire.RuleEnvelope, "/from"},
		{"from", `"agent_seller"`, wire.RuleEnvelope, "/from"},
		{"from", "null", wire.RuleEnvelope, "/from"},
		{"from", "[]", wire.RuleEnvelope, "/from"},
		{"from/agent_id", drop, wire.RuleEnvelope, "/from/agent_id"},
		{"from/agent_id", "null", wire.RuleEnvelope, "/from/agent_id"},
		{"from/agent_id", `"a\n"`, wire.RuleEnvelope, "/from/agent_id"},
		{"from/principal_id", "null", nil, ""},
		{"from/principal_id", `"any text, with spaces\n"`, nil, ""},
		{"from/principal_id", "1", wire.RuleEnvelope, "/from/principal_id"},
		{"from/principal_id", "{}", wire.RuleEnvelope, "/from/principal_id"},
		{"from/x~/y", "1", nil, ""},
		{"prev_hash", drop, wire.RuleEnvelope, "/prev_hash"},
		{"prev_hash", "null", wire.RuleEnvelope, "/prev_hash"},
		{"prev_hash", `"sha256:"`, wire.RuleEnvelope, "/prev_hash"},
		{"prev_hash", `"` + strings.ToUpper(wire.HashOf("x").String()) + `"`, wire.RuleEnvelope, "/prev_hash"},
		{"body", drop, wire.RuleEnvelope, "/body"},
		{"body", "null", wire.RuleEnvelope, "/body"},
		{"body", "[]", wire.RuleEnvelope, "/body"},
		{"body", `"{}"`, wire.RuleEnvelope, "/body"},
		{"body", "{}", nil, ""},
		{"signature", drop, wire.RuleEnvelope, "/signature"},
		{"signature", "null", wire.RuleEnvelope, "/signature"},
		{"signature", `{"value":"x"}`, wire.RuleEnvelope, "/signature"},
		{"signature", `""`, wire.RuleSignatureForm, "/signature"},
		{"signature", `"AAAA"`, wire.RuleSignatureForm, "/signature"},
		{"to", "null", wire.RuleEnvelope, "/to"},
		{"to", `"agent_buyer"`, wire.RuleEnvelope, "/to"},
		{"to", `{"agent_id":"agent_buyer"}`, wire.RuleEnvelope, "/to"},
		{"to", "[]", nil, ""},
		{"to", `["agent_buyer"]`, wire.RuleEnvelope, "/to/0"},
		{"to", `[{"agent_id":"a"},null]`, wire.RuleEnvelope, "/to/1"},
		{"to", `[{"agent_id":"a"},{}]`, wire.RuleEnvelope, "/to/1/agent_id"},
		{"to", `[{"agent_id":"a b"}]`, wire.RuleEnvelope, "/to/0/agent_id"},
		{"to", `[{"agent_id":"a","role":"responder"}]`, nil, ""},
		{"in_reply_to", "null", wire.RuleEnvelope, "/in_reply_to"},
		{"in_reply_to", `""`, wire.RuleEnvelope, "/in_reply_to"},
		{"in_reply_to", `["msg_1"]`, wire.RuleEnvelope, "/in_reply_to"},
		{"thread", "null", wire.RuleEnvelope, "/thread"},
		{"thread", "7", wire.RuleEnvelope, "/thread"},
		{"thread", `""`, nil, ""},
		{"ttl", "null", wire.RuleEnvelope, "/ttl"},
		{"ttl", `"60"`, wire.RuleEnvelope, "/ttl"},
		{"ttl", "0", wire.RuleEnvelope, "/ttl"},
		{"ttl", "-1", wire.RuleEnvelope, "/ttl"},
		{"ttl", "1.5", wire.RuleEnvelope, "/ttl"},
		{"ttl", "1", nil, ""},
		{"ttl", "60.0", nil, ""},
		{"ttl", "3162240000", nil, ""}, // 100 years of 366 days
		{"ttl", "3162240001", wire.RuleEnvelope, "/ttl"},
		{"ttl", "9007199254740991", wire.RuleEnvelope, "/ttl"},
		{"ttl", "1e21", wire.RuleEnvelope, "/ttl"},
		{"reasoning", "null", wire.RuleEnvelope, "/reasoning"},
		{"reasoning", `["x"]`, wire.RuleEnvelope, "/reasoning"},
		{"reasoning", `""`, nil, ""},
	}
	for _, base := range []wire.Value{signed(t, wire.Envelope{}), signed(t, full(t))} {
		for _, tt := range tests {
			set := func(v wire.Value, name string) wire.Value {
				if tt.value == drop {
					return v.Without(name)
				}
				return v.With(name, parse(t, tt.value))
			}
			v := base
			if outer, inner, nested := strings.Cut(tt.member, "/"); nested {
				o, _ := v.Get(outer)
				v = v.With(outer, set(o, inner))
			} else {
				v = set(v, tt.member)
			}
			if tt.member != "signature" {
				v = resign(t, v)
			}
			m, err := verify(v.Canonical(), sellerKeys)
			what := tt.member + ": " + brief(tt.value)
			if tt.rule != nil {
				wantRefusal(t, what, err, tt.rule, tt.at)
			} else if err != nil {
				t.Errorf("%s: got %v, want no error", what, err)
			} else if !m.Value().Equal(v) {
				t.Errorf("%s: the message lost something: %s", what, m.Value())
			}
		}
	}
	for _, text := range []string{"null", "[]", `"x"`, "1", "[" + signed(t, wire.Envelope{}).Canonical() + "]"} {
		wantRefusal(t, brief(text), parseErr(text), wire.RuleEnvelope, "")
	}
	// Faults are reported in the order of §4.1.
	wantRefusal(t, "{}", parseErr("{}"), wire.RuleEnvelope, "/concordia")
	two := signed(t, wire.Envelope{}).With("type", parse(t, "1")).With("body", parse(t, "1")).With("signature", parse(t, `"x"`))
	wantRefusal(t, "three faults", parseErr(two.Canonical()), wire.RuleEnvelope, "/type")
}

// SPEC §4.1: concordia is a version 0.y.z without leading zeros.
func TestProtocolVersion(t *testing.T) {
	base := signed(t, wire.Envelope{})
	for version, ok := range map[string]bool{
		"0.1.0": true, "0.0.0": true, "0.10.23": true, "0.999999999.0": true,
		"": false, "0": false, "0.1": false, "0.1.": false, "0..0": false, ".1.0": false, "1.0.0": false, "00.1.0": false, "0.01.0": false, "0.1.00": false,
		"0.1.0.0": false, "0.1.0-rc1": false, "0.1.0+b": false, "v0.1.0": false, " 0.1.0": false, "0.1.0 ": false, "0.1.0\n": false,
		"0.1.x": false, "0.-1.0": false, "0.1.+1": false, "0,1,0": false, "0.1.０": false, "0.1234567890.0": false,
	} {
		err := parseErr(base.With("concordia", wire.Text(version)).Canonical())
		if ok && err != nil {
			t.Errorf("version %q: got %v, want no error", version, err)
		} else if !ok {
			wantRefusal(t, "version "+version, err, wire.RuleVersion, "/concordia")
		}
	}
	if got := textAt(base, "concordia"); got != wire.ProtocolVersion {
		t.Errorf("messages say version %q, want %q", got, wire.ProtocolVersion)
	}
}

// SPEC §4.2: there are fourteen message types.
func TestMessageTypes(t *testing.T) {
	types := wire.MessageTypes()
	want := []wire.MessageType{
		"negotiate.open", "negotiate.accept_session", "negotiate.decline_session", "negotiate.offer", "negotiate.counter", "negotiate.accept",
		"negotiate.reject", "negotiate.inquire", "negotiate.constrain", "negotiate.signal", "negotiate.withdraw", "negotiate.propose_mediator",
		"negotiate.resolve", "negotiate.commit",
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("MessageTypes (-want +got):\n%s", diff)
	}
	for _, mt := range types {
		m, err := verify(signed(t, wire.Envelope{Type: mt}).Canonical(), sellerKeys)
		if err != nil || m.Type != mt {
			t.Errorf("%s: got %v", mt, err)
		}
		if got, want := "negotiate."+mt.Short(), string(mt); got != want {
			t.Errorf("negotiate. and Short() = %q, want %q", got, want)
		}
	}
	types[0] = "x"
	if wire.MessageTypes()[0] != wire.TypeOpen {
		t.Error("MessageTypes gives its list away")
	}
	for _, name := range []string{"", "offer", "negotiate.", "negotiate.Offer", "NEGOTIATE.OFFER", "negotiate.offer ", "negotiate.offer\u0000", "negotiate.offers", "concordia.offer", "negotiate.close"} {
		err := parseErr(signed(t, wire.Envelope{}).With("type", wire.Text(name)).Canonical())
		wantRefusal(t, "type "+name, err, wire.RuleMessageType, "/type")
	}
}

// SPEC §4.1: other members are kept and signed, also such as are named signature
// deeper inside.
func TestUnknownMembers(t *testing.T) {
	base := signed(t, wire.Envelope{})
	v := base.
		With("x_trace", parse(t, `{"signature":"deep","n":[1,{"signature":2}]}`)).
		With("body", parse(t, `{"terms":{},"signature":"in the body","x":1}`)).
		With("from", parse(t, `{"agent_id":"agent_seller","signature":"in from","x":[]}`)).
		With("to", parse(t, `[{"agent_id":"agent_buyer","signature":"in to"}]`)).
		With("", parse(t, "0"))
	v = resign(t, v)
	m, err := verify(v.Canonical(), sellerKeys)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v.Canonical(), m.Value().Canonical()); diff != "" {
		t.Errorf("unknown members are not kept (-want +got):\n%s", diff)
	}
	// Whatever of it changes, the signature is no more the sender's.
	for _, name := range []string{"x_trace", "body", "from", "to", ""} {
		inner, _ := v.Get(name)
		for what, w := range map[string]wire.Value{
			"dropped":            v.Without(name),
			"changed":            v.With(name, parse(t, `{"agent_id":"agent_seller"}`)),
			"inner signature":    v.With(name, inner.StripSignatures()),
			"another member":     v.With("x_more", parse(t, "1")),
			"sent a second time": v.With(name+"2", inner),
		} {
			if w.Equal(v) {
				continue // there is no signature inside
			}
			if m, err := verify(w.Canonical(), sellerKeys); err == nil {
				t.Errorf("%q %s: verifies as %s", name, what, m.Value())
			}
		}
	}
}

// SPEC §4.1: a name that differs from a known one only in case is refused at the
// top level, in from and in to. The body is for others to judge.
func TestCaseVariants(t *testing.T) {
	base := signed(t, full(t))
	for name := range base.Members() {
		for _, variant := range []string{strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:], strings.Replace(name, "s", "ſ", 1)} {
			if variant == name {
				continue
			}
			value, _ := base.Get(name)
			wantRefusal(t, variant+" besides "+name, parseErr(resign(t, base.With(variant, value)).Canonical()), wire.RuleEnvelope, "/"+variant)
			if name != "signature" {
				wantRefusal(t, variant+" for "+name, parseErr(resign(t, base.Without(name).With(variant, value)).Canonical()), wire.RuleEnvelope, "/"+variant)
			}
		}
	}
	for text, at := range map[string]string{
		`{"agent_id":"a","Agent_id":"b"}`:    "/Agent_id",
		`{"agent_id":"a","AGENT_ID":"b"}`:    "/AGENT_ID",
		`{"agent_id":"a","Principal_ID":""}`: "/Principal_ID",
	} {
		wantRefusal(t, "from "+text, parseErr(base.With("from", parse(t, text)).Canonical()), wire.RuleEnvelope, "/from"+at)
		if at != "/Principal_ID" {
			wantRefusal(t, "to "+text, parseErr(base.With("to", parse(t, "["+text+"]")).Canonical()), wire.RuleEnvelope, "/to/0"+at)
		}
	}
	if err := parseErr(resign(t, base.With("body", parse(t, `{"Signature":1,"Type":2}`))).Canonical()); err != nil {
		t.Errorf("members of the body: got %v, want no error", err)
	}
}

// SPEC §9.2: a signature has one spelling, and no second signature is made of one.
func TestSignatureVariants(t *testing.T) {
	m := sign(t, wire.Envelope{})
	whole := m.Value()
	sig, err := wire.ParseSignature(textAt(whole, "signature"))
	if err != nil {
		t.Fatal(err)
	}
	s := sig.String()
	last := strings.IndexByte(alphabet, s[85])
	if last&15 != 0 {
		t.Fatalf("the last character of %s has unused bits set", s)
	}
	for what, text := range map[string]string{
		"no padding":        strings.TrimRight(s, "="),
		"half the padding":  s[:len(s)-1],
		"more padding":      s + "=",
		"unused bits":       s[:85] + string(alphabet[last|1]) + "==",
		"unused bits, high": s[:85] + string(alphabet[last|8]) + "==",
		"junk":              s[:10] + "!*" + s[10:],
		"junk instead":      s[:10] + "!*" + s[12:],
		"line feed":         s[:10] + "\n" + s[10:],
		"leading space":     " " + s,
		"trailing space":    s + " ",
		"standard alphabet": strings.NewReplacer("-", "+", "_", "/").Replace(s[:10] + "-_" + s[12:]),
		"hex":               strings.Repeat("0f", 64),
		"short":             s[4:],
		"twice":             s + s,
	} {
		wantRefusal(t, what, parseErr(whole.With("signature", wire.Text(text)).Canonical()), wire.RuleSignatureForm, "/signature")
	}
	other := sign(t, wire.Envelope{ID: "msg_2"})
	otherSig, _ := wire.ParseSignature(textAt(other.Value(), "signature"))
	identity := edwards25519.NewIdentityPoint().Bytes()
	negated, err := new(edwards25519.Point).SetBytes(sig[:32])
	if err != nil {
		t.Fatal(err)
	}
	for what, raw := range map[string][]byte{
		"S and the group order":    slices.Concat(sig[:32], plusOrder(sig[32:])),
		"zeros":                    make([]byte, 64),
		"R of small order":         slices.Concat(identity, sig[32:]),
		"R of small order, S zero": slices.Concat(identity, make([]byte, 32)),
		"R negated":                slices.Concat(negated.Negate(negated).Bytes(), sig[32:]),
		"R and S swapped":          slices.Concat(sig[32:], sig[:32]),
		"another message's":        otherSig[:],
		"R of another message":     slices.Concat(otherSig[:32], sig[32:]),
		"R with its sign flipped":  slices.Concat(sig[:31], []byte{sig[31] ^ 0x80}, sig[32:]),
		"S with its high bit set":  slices.Concat(sig[:63], []byte{sig[63] | 0x80}),
		"S with bit 253 of it set": slices.Concat(sig[:63], []byte{sig[63] | 0x20}),
		"all ones":                 bytes.Repeat([]byte{0xff}, 64),
	} {
		_, err := verify(whole.With("signature", wire.Text(wire.Signature(raw).String())).Canonical(), sellerKeys)
		wantRefusal(t, what, err, wire.RuleSignature, "/signature")
	}
}

// plusOrder adds the order of the group to a scalar: a careless verifier takes it
// for the same one.
func plusOrder(s []byte) []byte {
	order := []byte{
		0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
	}
	sum, carry := make([]byte, 32), 0
	for i := range sum {
		carry += int(s[i]) + int(order[i])
		sum[i], carry = byte(carry), carry>>8
	}
	return sum
}

// Whose key it is decides the resolver, by id and time.
func TestVerifyKeys(t *testing.T) {
	m := signed(t, wire.Envelope{}).Canonical()
	seller, buyer := testKey(t, "seller").Public(), testKey(t, "buyer").Public()
	tests := []struct {
		name string
		keys wire.Keys
		want string
	}{
		{"the seller's", wire.KeyMap{"agent_seller": seller}, ""},
		{"nobody's", wire.KeyMap{}, "key-unknown at /from/agent_id"},
		{"another id's", wire.KeyMap{"agent_Seller": seller}, "key-unknown at /from/agent_id"},
		{"another key", wire.KeyMap{"agent_seller": buyer}, "signature at /signature"},
		{"no key", wire.KeyMap{"agent_seller": wire.PublicKey{}}, "signature at /signature"},
		{"before rotation", keyRing{before: buyer, after: seller}, ""},
		{"after rotation", keyRing{before: seller, after: buyer}, "signature at /signature"},
		{"did:key for an id that is none", wire.DIDKeys{}, "key-unknown at /from/agent_id"},
		{"broken", brokenKeys{}, "not a Violation: resolving a key: no route to host"},
	}
	for _, tt := range tests {
		got, err := verify(m, tt.keys)
		if refusal(err) != tt.want || (got == nil) != (tt.want != "") {
			t.Errorf("%s: got %q, want %q", tt.name, refusal(err), tt.want)
		}
	}
	_, err := verify(m, brokenKeys{})
	if !errors.Is(err, errBroken) {
		t.Errorf("broken: %v does not wrap its cause", err)
	}
	weak := wire.AgentID("did:key:z6Mkxxxx")
	_, err = verify(resign(t, parse(t, m).With("from", encode(t, wire.M{"agent_id": weak}))).Canonical(), wire.DIDKeys{})
	wantRefusal(t, "a did:key that is none", err, wire.RuleWeakKey, "/from/agent_id")

	did, err := wire.Sign(fill(t, wire.Envelope{From: wire.DIDKey(seller)}), testKey(t, "seller"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := verify(did.Value().Canonical(), wire.DIDKeys{}); err != nil {
		t.Errorf("did:key: got %v, want no error", err)
	}
	_, err = verify(did.Value().With("from", encode(t, wire.M{"agent_id": wire.DIDKey(buyer)})).Canonical(), wire.DIDKeys{})
	wantRefusal(t, "another did:key", err, wire.RuleSignature, "/signature")
}
