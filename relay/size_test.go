//go:build !long

package relay_test

// How much the tests do; .ci/long does more.
const (
	modelSteps = 2000
	kills      = 5
)
