package wire_test

import (
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// maxVerifyCost is what reading and verifying a message of 1 KB may cost, in
// bare Ed25519 verifications of the same bytes.
const maxVerifyCost = 1.40

// TestVerifyCost holds the design's promise that strictness is cheap. Both sides
// run in short batches by turns, and the fastest batch of each counts: what else
// the machine does slows single batches, never the fastest of many.
func TestVerifyCost(t *testing.T) {
	switch {
	case testing.Short():
		t.Skip("a measurement: not in -short")
	case raceEnabled:
		t.Skip("a measurement: the race detector slows the two sides differently")
	}
	var ratio float64
	for try := 1; try <= 3; try++ {
		ratio = verifyCost(t)
		t.Logf("try %d: ParseMessage and Verify cost %.3f bare verifications", try, ratio)
		if ratio <= maxVerifyCost {
			return
		}
	}
	t.Errorf("ParseMessage and Verify cost %.2f bare verifications, want at most %.2f", ratio, maxVerifyCost)
}

func verifyCost(t *testing.T) float64 {
	data, keys := offer1KB(t)
	sig, err := testKey(t, "seller").Sign(data)
	if err != nil {
		t.Fatal(err)
	}
	pub := ed25519.PublicKey(keys["agent_seller"].Bytes())
	bare := func() bool { return ed25519.Verify(pub, data, sig[:]) }
	whole := func() bool {
		u, err := wire.ParseMessage(data)
		if err != nil {
			return false
		}
		_, err = u.Verify(keys)
		return err == nil
	}
	const batches, perBatch = 400, 10
	fastest := func(best time.Duration, verify func() bool) time.Duration {
		start := time.Now()
		for range perBatch {
			if !verify() {
				t.Fatal("the offer does not verify")
			}
		}
		if d := time.Since(start); best == 0 || d < best {
			return d
		}
		return best
	}
	var bareBest, wholeBest time.Duration
	for range batches {
		bareBest = fastest(bareBest, bare)
		wholeBest = fastest(wholeBest, whole)
	}
	return float64(wholeBest) / float64(bareBest)
}

// TestVerifyAllocs keeps what one message costs the garbage collector in sight.
func TestVerifyAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	data, keys := offer1KB(t)
	got := testing.AllocsPerRun(100, func() {
		u, err := wire.ParseMessage(data)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Verify(keys); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("ParseMessage and Verify: %v allocations", got)
	if most := 24.0; got > most {
		t.Errorf("ParseMessage and Verify make %v allocations, want at most %v", got, most)
	}
}
