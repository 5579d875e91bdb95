//go:build !long

package node_test

const simultaneous = 100

const loadFew, loadMany, loadMessages = 5, 50, 12

const killRounds = 8
