//go:build long

package relay_test

const (
	modelSteps = 50_000
	kills      = 200
)
