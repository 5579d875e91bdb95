package attest_test

import (
	"crypto/ed25519"
	"runtime"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// minBundleRate is how many signatures a second a full bundle is verified at, at
// least, in bare Ed25519 verifications a second on all cores. Alone on a machine it is
// more than 0.65; tests of other packages run beside this one.
const minBundleRate = 0.5

// A bundle of 1,000 receipts with four signatures each keeps all cores busy with
// signatures. Both sides run by turns, spread the same way, so that what else the
// machine does slows both; the fastest run of each counts.
func TestBundleCost(t *testing.T) {
	switch {
	case testing.Short():
		t.Skip("a measurement: not in -short")
	case raceEnabled:
		t.Skip("a measurement: the race detector slows the two sides differently")
	}
	v := bundle(t, receiptsOf(t, attest.MaxReceipts)...)
	f := everybody(t)
	f.Now = issued.Add(time.Hour)
	cores := runtime.GOMAXPROCS(0)
	f.Each = inParallel(cores)
	const signatures = 4*attest.MaxReceipts + 1

	message := []byte(receiptOf(t, 0).Canonical())[:1024]
	sig, err := key(t, holder).Sign(message)
	if err != nil {
		t.Fatal(err)
	}
	pub := ed25519.PublicKey(key(t, holder).Public().Bytes())
	bare := func() {
		f.Each(signatures, func(int) {
			if !ed25519.Verify(pub, message, sig[:]) {
				t.Error("the message does not verify")
			}
		})
	}
	whole := func() {
		if _, report := f.VerifyBundle(v); report.Outcome() != wire.Passed {
			t.Fatal(report.Err())
		}
	}
	fastest := func(best time.Duration, do func()) time.Duration {
		start := time.Now()
		do()
		if d := time.Since(start); best == 0 || d < best {
			return d
		}
		return best
	}
	var bareBest, wholeBest time.Duration
	for range 8 {
		bareBest = fastest(bareBest, bare)
		wholeBest = fastest(wholeBest, whole)
		rate := float64(bareBest) / float64(wholeBest)
		t.Logf("%d signatures in %v on %d cores: %.2f of bare verification", signatures, wholeBest, cores, rate)
		if rate >= minBundleRate {
			return
		}
	}
	t.Errorf("verifying a bundle is slower than %.2f of bare verification", minBundleRate)
}
