package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/menu"
	"github.com/concordia-node/concordia/wire"
)

func newMenu(flow *protocol.Compiled, tools []*tool) (*menu.Menu, error) {
	var definitions []wire.Value
	for _, t := range tools {
		text, err := json.Marshal(t.definition())
		if err != nil {
			return nil, fmt.Errorf("writing the definition of %s: %w", t.name, err)
		}
		v, err := wire.Parse(text, wire.DocumentLimits)
		if err != nil {
			return nil, fmt.Errorf("reading the definition of %s: %w", t.name, err)
		}
		definitions = append(definitions, v)
	}
	return menu.New(flow, definitions)
}

// initialized notes that the client has initialized. None does from the revision on in
// which a list must not change by what was called, 2026-07-28: it keeps the static one.
func (s *Server) initialized(_ context.Context, request *mcp.InitializedRequest) {
	if s.opts.Menu != menu.Auto {
		return
	}
	s.mu.Lock()
	if p := request.Session.InitializeParams(); p != nil && p.ClientInfo != nil {
		s.name = clientName{p.ClientInfo.Name, p.ClientInfo.Version}
	}
	s.client.Known = s.opts.Clients.known(s.name)
	probe := s.client.Initialized()
	s.mu.Unlock()
	if probe {
		s.changed()
	}
}

// listing answers tools/list by the mode of the menu.
func (s *Server) listing(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, request)
		list, ok := result.(*mcp.ListToolsResult)
		if err != nil || !ok {
			return result, err
		}
		mode, probe := s.opts.Menu, false
		s.mu.Lock()
		s.unread = false
		if mode == menu.Auto {
			probe = s.client.Listed()
			mode = s.client.Mode()
		}
		s.mu.Unlock()
		shown, err := s.list(ctx, mode)
		if err != nil {
			return nil, outward(err)
		}
		list.Tools, list.NextCursor = shown, ""
		if probe {
			s.changed()
		}
		return list, nil
	}
}

// list returns the tools that a mode shows now.
func (s *Server) list(ctx context.Context, mode menu.Mode) ([]*mcp.Tool, error) {
	var shown wire.Value
	switch mode {
	case menu.Dispatch:
		shown = s.menu.Dispatch()
	case menu.Dynamic:
		standings, err := s.standings(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the tools: %w", err)
		}
		names := s.menu.Allowed(standings...)
		s.mu.Lock()
		s.listed = names
		s.mu.Unlock()
		shown = s.menu.Dynamic(standings...)
		s.refresh(ctx) // what has changed meanwhile was not compared with this list
	default:
		shown = s.menu.Static()
	}
	var tools []*mcp.Tool
	if err := json.Unmarshal([]byte(shown.Canonical()), &tools); err != nil {
		return nil, fmt.Errorf("listing the tools: %w", err)
	}
	return tools, nil
}

// maxStandings bounds how many sessions a dynamic menu looks at.
const maxStandings = 200

// standings says where the agent stands in its live sessions and invitations, and that
// it may open a session at any time.
func (s *Server) standings(ctx context.Context) ([]protocol.State, error) {
	all := []protocol.State{nowhere}
	add := func(at protocol.State) {
		if !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	list, err := s.api.Sessions(ctx, node.Filter{Live: true, Most: maxStandings})
	if err != nil {
		return nil, err
	}
	for _, summary := range list {
		v, err := s.api.Session(ctx, summary.Session)
		if err != nil {
			return nil, err
		}
		add(standing(v))
	}
	invitations, err := s.api.Invitations(ctx)
	if err != nil {
		return nil, err
	}
	if len(invitations) > 0 {
		add(invited)
	}
	return all, nil
}

// changed tells the client that the list of tools has changed: adding a tool that is
// there does that.
func (s *Server) changed() {
	t := s.tools[0]
	s.mcp.AddTool(t.definition(), t.serve(s))
}

// follows reports whether the client is shown a list that follows the sessions.
func (s *Server) follows() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opts.Menu == menu.Dynamic || s.opts.Menu == menu.Auto && s.client.Changed()
}

// watchAgain is how long a server waits before it asks a node again that did not answer.
const watchAgain = time.Second

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// watch tells the client when what it may call has changed.
func (s *Server) watch(ctx context.Context) {
	s.mu.Lock()
	after := s.notice
	s.mu.Unlock()
	for ctx.Err() == nil {
		list, err := s.api.Notices(ctx, after, node.MaxNotices)
		if err != nil || len(list) == 0 {
			pause(ctx, watchAgain) // another process may take over the node
			continue
		}
		after = list[len(list)-1].Number
		s.refresh(ctx)
	}
}

// refresh tells the client that the list has changed, if it has since it was read.
func (s *Server) refresh(ctx context.Context) {
	if !s.follows() {
		return
	}
	standings, err := s.standings(ctx)
	if err != nil {
		return // the next call says what is wrong
	}
	s.mu.Lock()
	differs := s.listed != nil && !slices.Equal(s.listed, s.menu.Allowed(standings...))
	s.unread = s.unread || differs
	s.mu.Unlock()
	if differs {
		s.changed()
	}
}
