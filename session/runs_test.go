//go:build !long

package session_test

const modelRuns = 400
