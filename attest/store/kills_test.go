//go:build !long

package store_test

// kills is how often TestKill kills; .ci/long does it 200 times.
const kills = 5
