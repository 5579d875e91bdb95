//go:build !long

package node_test

const simultaneous = 100
