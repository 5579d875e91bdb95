//go:build !long

package node_test

import "time"

const simultaneous = 100

const loadFew, loadMany, loadMessages = 5, 50, 12

const killRounds = 8

const patience = 5 * time.Minute
