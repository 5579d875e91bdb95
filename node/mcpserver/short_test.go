//go:build !long

package mcpserver_test

import "time"

const rounds = 1

const patience = 5 * time.Minute
