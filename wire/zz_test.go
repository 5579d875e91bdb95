package wire

import (
	"testing"
	"github.com/go-json-experiment/json/jsontext"
	"strings"
)

var zzdata = func() []byte {
	k, _ := NewPrivateKey([]byte(strings.Repeat("x", 32)))
	body, _ := Encode(M{
		"offer_id": "off_00112233445566778899aabbccddeeff",
		"terms": M{
			"price":     M{"value": 2050.5, "currency": "USD"},
			"condition": M{"value": "like_new"},
			"shipping":  M{"value": "insured courier", "days": 3},
			"warranty":  M{"value": true},
		},
		"complete": true,
	})
	m, err := Sign(Envelope{
		Type: TypeOffer, ID: "msg_00112233445566778899aabbccddeeff", Session: "ses_00112233445566778899aabbccddeeff",
		From: "agent_seller", PrevHash: HashOf("x"), Body: body,
		To:        []AgentID{"agent_buyer"},
		Reasoning: strings.Repeat("Fair for a body with 4,000 shutter counts. ", 7),
	}, k)
	if err != nil { panic(err) }
	return []byte(m.Value().Canonical())
}()

func BenchmarkZGuard(b *testing.B) { for b.Loop() { guard(zzdata, 64) } }
func BenchmarkZIndex(b *testing.B) { b.ReportAllocs(); s := string(zzdata); for b.Loop() { index(s) } }
func BenchmarkZFormat(b *testing.B) { b.ReportAllocs(); buf := make([]byte, 0, 8192); for b.Loop() { jsontext.AppendFormat(buf[:0], zzdata, canonicalOptions...) } }
func BenchmarkZDepth(b *testing.B) { v := index(string(zzdata)); for b.Loop() { v.Depth() } }
func BenchmarkZHash(b *testing.B) { v := index(string(zzdata)); for b.Loop() { v.Hash() } }
func BenchmarkZRead(b *testing.B) { b.ReportAllocs(); v := index(string(zzdata)); for b.Loop() { ReadMessage(v) } }
func BenchmarkZWithout(b *testing.B) { v := index(string(zzdata));var buf []byte; for b.Loop() { buf = v.AppendWithout(buf[:0], "signature") } }
func BenchmarkZOpen(b *testing.B) { v := index(string(zzdata)); r := Read(v, "", RuleEnvelope); for b.Loop() { 	r.Open("concordia", "type", "id", "session_id", "timestamp", "from", "prev_hash", "body", "signature",
		"to", "in_reply_to", "thread", "ttl", "reasoning") } }
