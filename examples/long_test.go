//go:build long

package examples

const killEvery = "1"
