//go:build long

package main

// relayKills is how often a relay is killed.
const relayKills = 200
