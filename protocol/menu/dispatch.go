package menu

import (
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

// The tools of the dispatch mode.
const (
	StatusTool  = "protocol_status"
	CallTool    = "protocol_call"
	RequestTool = "protocol_request_approval"
)

var controls = []string{CallTool, RequestTool, StatusTool}

// Dispatch returns the definitions of the three tools of the dispatch mode, as an array
// that is always the same.
func (m *Menu) Dispatch() wire.Value {
	text := func(description string) wire.M { return wire.M{"type": "string", "description": description} }
	call := wire.M{
		"tool":      text("the name of a tool that " + StatusTool + " lists"),
		"arguments": wire.M{"type": "object", "description": "the arguments of that tool, as its inputSchema says"},
	}
	object := func(properties wire.M, required ...string) wire.M {
		o := wire.M{"type": "object", "properties": properties, "additionalProperties": false}
		if required != nil {
			o["required"] = required
		}
		return o
	}
	return encode([]any{
		wire.M{
			"name": CallTool, "inputSchema": object(call, "tool", "arguments"),
			"description": "Calls a tool that is legal now. What is not legal is refused, and the refusal says what is.",
		},
		wire.M{
			"name": RequestTool, "inputSchema": object(call, "tool", "arguments"),
			"description": "Requests the approval that a call needs, for exactly these arguments. Somebody else decides; call the tool when it is granted.",
		},
		wire.M{
			"name": StatusTool, "inputSchema": object(wire.M{}), "annotations": wire.M{"readOnlyHint": true},
			"description": "Says where the conversation stands, and lists the tools that are legal now with their schemas. They change from step to step; ask again after each.",
		},
	})
}

// Status returns what protocol_status tells of a conversation in one of its states: the
// state, the tools that are legal with their definitions, and guidance. A conversation
// that is over has an end, and one that waits for a result or an approval says so.
func (m *Menu) Status(state protocol.State) wire.Value {
	a := m.c.Automaton()
	whole := a.Whole(state)
	doc := wire.M{"state": string(whole), "tools": m.Dynamic(state)}
	if public := a.Public[state]; public != "" {
		doc["state"] = public
	}
	if text := a.Guidance[state]; text != "" {
		doc["guidance"] = text
	}
	if end := a.Ends[state]; end != "" {
		doc["end"] = string(end)
	}
	if i := m.c.Index(state); i >= 0 && m.c.Awaits(i) {
		doc["waiting"] = true
	}
	return encode(doc)
}
