//go:build long

package node_test

import "time"

const simultaneous = 1000

const loadFew, loadMany, loadMessages = 10, 1000, 50

const killRounds = 40

// long says that tests may take their time.
const long = true

const patience = 20 * time.Minute
