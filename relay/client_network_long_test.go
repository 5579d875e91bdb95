//go:build long

package relay_test

import "testing"

func TestNetworkFaultsLong(t *testing.T) { faultyNetwork(t, 10_000) }
