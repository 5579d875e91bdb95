//go:build long

package node_test

import "time"

const simultaneous = 1000

const loadFew, loadMany, loadMessages = 10, 1000, 50

const killRounds = 40

const patience = 20 * time.Minute
