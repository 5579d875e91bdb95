package wire_test

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/wire"
)

var testTime = time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC)

// testKey returns the key whose seed is the name padded with dots.
func testKey(tb testing.TB, name string) wire.PrivateKey {
	tb.Helper()
	k, err := wire.NewPrivateKey([]byte(name + strings.Repeat(".", wire.SeedSize-len(name))))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// offer1KB returns a signed offer of about 1 KB and the key it verifies under.
func offer1KB(tb testing.TB) ([]byte, wire.KeyMap) {
	tb.Helper()
	key := testKey(tb, "seller")
	body, err := wire.Encode(wire.M{
		"offer_id": "off_00112233445566778899aabbccddeeff",
		"terms": wire.M{
			"price":     wire.M{"value": 2050.5, "currency": "USD"},
			"condition": wire.M{"value": "like_new"},
			"shipping":  wire.M{"value": "insured courier", "days": 3},
			"warranty":  wire.M{"value": true},
		},
		"complete": true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	m, err := wire.Sign(wire.Envelope{
		Type: wire.TypeOffer, ID: "msg_00112233445566778899aabbccddeeff", Session: "ses_00112233445566778899aabbccddeeff",
		Time: testTime, From: "agent_seller", PrevHash: wire.HashOf("x"), Body: body,
		To:        []wire.AgentID{"agent_buyer"},
		Reasoning: strings.Repeat("Fair for a body with 4,000 shutter counts. ", 7),
	}, key)
	if err != nil {
		tb.Fatal(err)
	}
	return []byte(m.Value().Canonical()), wire.KeyMap{"agent_seller": key.Public()}
}

func BenchmarkVerifyBare(b *testing.B) {
	data, keys := offer1KB(b)
	key := testKey(b, "seller")
	sig, _ := key.Sign(data)
	pub := ed25519.PublicKey(keys["agent_seller"].Bytes())
	for b.Loop() {
		if !ed25519.Verify(pub, data, sig[:]) {
			b.Fatal("bad signature")
		}
	}
}

func BenchmarkVerifyEnvelope(b *testing.B) {
	data, keys := offer1KB(b)
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		u, err := wire.ParseMessage(data)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := u.Verify(keys); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	data, _ := offer1KB(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.Parse(data, wire.DocumentLimits); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadMessage(b *testing.B) {
	data, _ := offer1KB(b)
	v, _ := wire.Parse(data, wire.DocumentLimits)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.ReadMessage(v); err != nil {
			b.Fatal(err)
		}
	}
}
