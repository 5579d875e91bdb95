//go:build !unix

package relay_test

import "time"

// processorTime is not known here; the time of day is.
func processorTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
