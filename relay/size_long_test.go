//go:build long

package relay_test

const (
	storedMessages = 1_000_000
	modelSteps     = 50_000
	kills          = 200
)
