//go:build !long

package node_test

import "time"

const simultaneous = 100

const loadFew, loadMany, loadMessages = 5, 50, 12

const killRounds = 8

// long says that tests may take their time.
const long = false

const patience = 5 * time.Minute
