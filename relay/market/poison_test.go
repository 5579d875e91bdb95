package market_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
)

// Whatever somebody posts, or tries to, what others post later in the same category is
// taken and matches as it would without it.
func TestNoEntryPoisons(t *testing.T) {
	if testing.Short() {
		t.Skip("one thing happens after the other")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "offer", "match", "testdata", "hostile.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, market.Limits{})
	mallory := w.as("mallory")
	honest := func(n int) float64 {
		t.Helper()
		const category = `"category":"a.b","terms":{"price":{%s,"currency":"USD"}},"location":{"lat":0,"lng":0,"within_km":10}`
		want, have := w.want(fmt.Sprint(n), "buyer", fmt.Sprintf(category, `"max":100`)), w.have(fmt.Sprint(n), "seller", fmt.Sprintf(category, `"min":50`))
		w.post(want)
		p := w.post(have)
		list, _, _, err := w.as("buyer").Matches(w.ctx, want, 0)
		if err != nil {
			t.Fatal(err)
		}
		var score float64
		for _, m := range p.Matches {
			if m.ID == want.ID {
				score = m.Match.Score
			}
		}
		seen := false
		for _, m := range list {
			seen = seen || m.ID == have.ID && m.Match.Score == score
		}
		if !seen {
			t.Errorf("the want does not match any more what the have matches with %v", score)
		}
		for _, e := range []*match.Entry{want, have} {
			if err := w.as(string(e.Agent)).Withdraw(w.ctx, e.ID); err != nil {
				t.Error(err)
			}
		}
		return score
	}
	want := honest(0)
	if want == 0 {
		t.Fatal("what is honest does not match")
	}
	taken := 0
	for i, members := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		for _, kind := range []string{"want", "have"} {
			entry := fmt.Sprintf(`{"type":"concordia.%s","id":"%[1]s_m%d","agent_id":"mallory","ttl":604800,%s`, kind, i, bytes.TrimPrefix(members, []byte("{")))
			v, err := wire.Parse([]byte(entry), wire.DocumentLimits)
			if err != nil {
				continue // nor does the relay read it
			}
			switch _, err := mallory.Relay.Call(w.ctx, "market_post", wire.M{"entry": v}); {
			case err == nil:
				taken++
			case relay.CodeOf(err) != relay.CodeRejected && relay.CodeOf(err) != relay.CodeQuota:
				t.Errorf("posting %.200s: %v", entry, err)
			}
		}
		if score := honest(i + 1); score != want {
			t.Errorf("after %.200s the score is %v, want %v", members, score, want)
		}
	}
	if taken < 30 {
		t.Errorf("%d of mallory's entries were taken", taken)
	}
	w.close()
	w.open()
	if score := honest(1000); score != want {
		t.Errorf("after a restart the score is %v, want %v", score, want)
	}
}
