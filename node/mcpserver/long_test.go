//go:build long

package mcpserver_test

import "time"

// rounds is how often calls are made at once.
const rounds = 20

const patience = 20 * time.Minute
