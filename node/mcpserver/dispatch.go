package mcpserver

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/protocol/menu"
	"github.com/concordia-node/concordia/wire"
)

// addDispatch offers the three tools of the dispatch mode. What they call is judged as
// any call is.
func (s *Server) addDispatch() {
	inner := []param{{name: "tool", kind: text, must: true}, {name: "arguments", kind: object, must: true}}
	for name, t := range map[string]*tool{
		menu.StatusTool: {do: s.dispatchStatus},
		menu.CallTool:   {takes: inner},
		menu.RequestTool: {takes: inner, do: func(ctx context.Context, c *call) (wire.M, error) {
			t, err := s.named(c)
			if err != nil {
				return nil, err
			}
			if t.messages != wire.TypeAccept && t.messages != wire.TypeCommit {
				return nil, refuse("/tool", "this tool needs no approval: call it with %s", menu.CallTool)
			}
			needs := s.tools[slices.IndexFunc(s.tools, func(t *tool) bool { return t.name == "concordia_needs" })]
			given, err := t.arguments([]byte(c.value("arguments").Canonical()))
			if err != nil {
				return nil, err
			}
			args := given.Whole().Only("session_id", "offer_id", "accepted_terms", "bundle_id").With("move", wire.Text(t.messages.Short()))
			asked, err := needs.arguments([]byte(args.Canonical()))
			if err != nil {
				return nil, err
			}
			return needs.do(ctx, &call{Server: s, tool: needs, args: asked, request: c.request})
		}},
	} {
		t.name = name
		s.mcp.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if t.do != nil {
				return s.call(ctx, t, request, request.Params.Arguments), nil
			}
			args, err := t.arguments(request.Params.Arguments)
			c := &call{Server: s, tool: t, args: args, request: request}
			if err == nil {
				var inner *tool
				if inner, err = s.named(c); err == nil {
					return s.call(ctx, inner, request, []byte(c.value("arguments").Canonical())), nil
				}
			}
			return answer(c.refusal(ctx, err), true), nil
		})
	}
}

// named finds the tool that a call names.
func (s *Server) named(c *call) (*tool, error) {
	for _, t := range s.tools {
		if t.name == c.text("tool") {
			return t, nil
		}
	}
	return nil, refuse("/tool", "there is no such tool: %s lists them", menu.StatusTool)
}

// dispatchStatus says where the agent stands, and lists what it may call now: as much of
// each tool as it takes to call it, for a model reads all of it.
func (s *Server) dispatchStatus(ctx context.Context, _ *call) (wire.M, error) {
	standings, err := s.standings(ctx)
	if err != nil {
		return nil, err
	}
	var tools []wire.Value
	for _, t := range s.menu.Dynamic(standings...).Elems() {
		tools = append(tools, t.Only("name", "description", "inputSchema"))
	}
	return wire.M{"states": standings, "tools": tools}, nil
}
