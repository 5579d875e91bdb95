//go:build !long

package examples

// killEvery is at which steps of the deal of two nodes processes are killed.
const killEvery = "4"
