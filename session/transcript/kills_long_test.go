//go:build long

package transcript_test

const kills = 200
