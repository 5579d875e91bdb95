package mcpserver

import (
	"time"

	"github.com/concordia-node/concordia/wire"
)

// Hurry bounds how long a request may take to arrive, and a piece of an answer to be taken.
func (h *Handler) Hurry(d time.Duration) { h.readTime, h.writeTime = d, d }

// Tools returns the names of all tools, in the order of the table, and the schemas of
// their arguments and results.
func Tools() (names []string, inputs, outputs map[string]wire.M) {
	inputs, outputs = map[string]wire.M{}, map[string]wire.M{}
	for _, t := range table() {
		names = append(names, t.name)
		inputs[t.name], outputs[t.name] = t.input(), t.output()
	}
	return names, inputs, outputs
}

// Moves returns the tools that make moves.
func Moves() map[wire.MessageType]string {
	all := map[wire.MessageType]string{}
	for _, t := range table() {
		if t.messages != "" {
			all[t.messages] = t.name
		}
	}
	return all
}

// Refusal returns the names of the members that a refusal may have.
func Refusal() (names []string) {
	for _, p := range refusalMembers {
		names = append(names, p.name)
	}
	return names
}
