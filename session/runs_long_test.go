//go:build long

package session_test

const modelRuns = 100_000
