package wire_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/mr-tron/base58"

	"github.com/concordia-node/concordia/wire"
)

// SPEC §9.1: did:key:z and the base58btc form of ed 01 and the key, or unpadded
// base64url of them.
func TestDIDKey(t *testing.T) {
	// The first Ed25519 example of the did:key method, decoded.
	raw, err := hex.DecodeString("2e6fcce36701dc791488e0d0b1745cc1e33a4c1c9fcc41c63bd343dbbe0970e6")
	if err != nil {
		t.Fatal(err)
	}
	k, err := wire.ParsePublicKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	want := wire.AgentID("did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK")
	if got := wire.DIDKey(k); got != want {
		t.Errorf("DIDKey = %s, want %s", got, want)
	}
	reference := wire.AgentID("did:key:z" + base64.RawURLEncoding.EncodeToString(append([]byte{0xed, 1}, raw...)))
	if got := wire.ReferenceDIDKey(k); got != reference {
		t.Errorf("ReferenceDIDKey = %s, want %s", got, reference)
	}
	for _, id := range []wire.AgentID{want, reference} {
		if got, err := wire.ParseDIDKey(id); err != nil || got != k {
			t.Errorf("ParseDIDKey(%s) = %v, %v, want %v", id, got, err, k)
		}
		if err := wire.CheckID(id); err != nil {
			t.Errorf("CheckID(%s): %v", id, err)
		}
	}
	for id, plain := range map[wire.AgentID]wire.AgentID{
		want: want, reference: want, reference + "=": reference + "=", reference + "x": reference + "x", "agent": "agent", "": "", "did:key:z": "did:key:z",
	} {
		if got := wire.PlainDIDKey(id); got != plain {
			t.Errorf("PlainDIDKey(%s) = %s, want %s", id, got, plain)
		}
	}
	// Keys whose text begins otherwise would be taken for the other spelling.
	for i := range 200 {
		k := testKey(t, "key "+strings.Repeat("i", i%20)+string(rune('a'+i/20))).Public()
		for _, id := range []wire.AgentID{wire.DIDKey(k), wire.ReferenceDIDKey(k)} {
			if got, err := wire.ParseDIDKey(id); err != nil || got != k {
				t.Errorf("ParseDIDKey(%s) = %v, %v, want %v", id, got, err, k)
			}
		}
	}
}

// The DID URL of a did:key's one key resolves to it. Another fragment names a key
// that nobody knows; what is no did:key before the fragment is malformed.
func TestDIDKeysURL(t *testing.T) {
	k := testKey(t, "seller").Public()
	plain, reference := wire.DIDKey(k), wire.ReferenceDIDKey(k)
	fragment := func(id wire.AgentID) wire.AgentID { return "#" + id[len("did:key:"):] }
	for id, want := range map[wire.AgentID]*wire.Rule{
		plain:                             nil,
		plain + fragment(plain):           nil,
		reference + fragment(reference):   nil,
		plain + fragment(reference):       wire.RuleUnknownKey,
		plain + "#key-1":                  wire.RuleUnknownKey,
		plain + "#":                       wire.RuleUnknownKey,
		plain + fragment(plain) + "#key":  wire.RuleUnknownKey,
		plain + "1" + fragment(plain):     wire.RuleWeakKey,
		plain[:20] + fragment(plain[:20]): wire.RuleWeakKey,
		"did:key:#key-1":                  wire.RuleWeakKey,
		"did:web:example.org#key-1":       wire.RuleUnknownKey,
	} {
		got, err := wire.DIDKeys{}.Key(id, time.Time{})
		if want == nil {
			if err != nil || got != k {
				t.Errorf("Key(%s) = %v, %v, want %v", id, got, err, k)
			}
			continue
		}
		wantRefusal(t, string(id), err, want, "")
		if !got.IsZero() {
			t.Errorf("Key(%s): got a key with the refusal", id)
		}
	}
}

// Each key has one text in each spelling; no other is accepted.
func TestParseDIDKeyRefuses(t *testing.T) {
	k := testKey(t, "seller").Public()
	plain, reference := string(wire.DIDKey(k)), string(wire.ReferenceDIDKey(k))
	b58 := func(prefix string, raw []byte) string {
		return "did:key:z" + base58.Encode(append([]byte(prefix), raw...))
	}
	b64 := func(prefix string, raw []byte) string {
		return "did:key:z" + base64.RawURLEncoding.EncodeToString(append([]byte(prefix), raw...))
	}
	last := strings.IndexByte(alphabet, reference[len(reference)-1])
	for what, id := range map[string]string{
		"empty":                        "",
		"prefix only":                  "did:key:z",
		"prefix of the other spelling": "did:key:z7Q",
		"no multibase":                 strings.Replace(plain, ":z", ":", 1),
		"other multibase":              strings.Replace(plain, ":z", ":m", 1),
		"capital multibase":            strings.Replace(plain, ":z", ":Z", 1),
		"other method":                 strings.Replace(plain, "key", "web", 1),
		"capitals":                     strings.Replace(plain, "did", "DID", 1),
		"leading space":                " " + plain,
		"fragment":                     plain + "#" + plain[len("did:key:"):],
		"trailing character":           plain + "1",
		"trailing line feed":           plain + "\n",
		"last character missing":       plain[:len(plain)-1],
		"leading 1, a zero byte":       strings.Replace(plain, ":z", ":z1", 1),
		"not base58":                   plain[:20] + "0" + plain[21:],
		"not base58, l":                plain[:20] + "l" + plain[21:],
		"codec X25519":                 b58("\xec\x01", k.Bytes()),
		"codec secp256k1":              b58("\xe7\x01", append([]byte{2}, k.Bytes()...)),
		"codec, long varint":           b58("\xed\x81\x00", k.Bytes()),
		"no codec":                     b58("", k.Bytes()),
		"31 bytes":                     b58("\xed\x01", k.Bytes()[:31]),
		"33 bytes":                     b58("\xed\x01", append(k.Bytes(), 0)),
		"no bytes":                     b58("\xed\x01", nil),
		"weak key":                     b58("\xed\x01", append([]byte{1}, make([]byte, 31)...)),
		"not canonical":                b58("\xed\x01", []byte("\xf0"+strings.Repeat("\xff", 30)+"\x7f")),
		"very long":                    "did:key:z6Mk" + strings.Repeat("1", 1<<16),

		"reference: padding":         reference + "=",
		"reference: padding, two":    reference + "==",
		"reference: line feed":       reference[:20] + "\n" + reference[20:],
		"reference: trailing feed":   reference + "\n",
		"reference: junk":            reference[:20] + "!" + reference[20:],
		"reference: unused bits":     reference[:len(reference)-1] + string(alphabet[last|1]),
		"reference: standard":        reference[:20] + "+" + reference[21:],
		"reference: 31 bytes":        b64("\xed\x01", k.Bytes()[:31]),
		"reference: 33 bytes":        b64("\xed\x01", append(k.Bytes(), 0)),
		"reference: codec X25519":    b64("\xec\x01", k.Bytes()),
		"reference: no codec":        b64("", k.Bytes()),
		"reference: weak key":        b64("\xed\x01", make([]byte, 32)),
		"reference: other multibase": strings.Replace(reference, ":z", ":u", 1),
	} {
		if last&1 == 1 && strings.Contains(what, "unused bits") {
			t.Fatal("choose another key: its last character has the unused bit set")
		}
		got, err := wire.ParseDIDKey(wire.AgentID(id))
		wantRefusal(t, what, err, wire.RuleWeakKey, "")
		if !got.IsZero() {
			t.Errorf("%s: got a key with the refusal", what)
		}
	}
	if len(k.Bytes()) != ed25519.PublicKeySize {
		t.Fatal("a key's bytes grew by appending to them")
	}
}
