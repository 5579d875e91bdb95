//go:build !long

package relay_test

// How much the tests do; .ci/long does more.
const (
	storedMessages = 100_000
	modelSteps     = 2000
	kills          = 5
)
