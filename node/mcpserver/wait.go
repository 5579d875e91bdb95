package mcpserver

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// How long concordia_wait waits, in seconds.
const (
	defaultWait = 60
	maxWait     = 600
)

// until are the moments that concordia_wait can wait for in a session.
var until = map[string]func(node.View) bool{
	"change":  func(node.View) bool { return true },
	"turn":    func(v node.View) bool { return v.Turn && len(v.Moves) > 0 || isOver(v.State) },
	"active":  func(v node.View) bool { return v.State == session.Active || isOver(v.State) },
	"end":     func(v node.View) bool { return isOver(v.State) },
	"receipt": func(v node.View) bool { return v.Receipt == node.ReceiptDone },
}

func waitTools() []*tool {
	return []*tool{{
		name: "concordia_wait", title: "Wait for the other party", reads: true, waits: true, repeats: true,
		text: lines("Waits until something happens, and says what. With session_id: until that session changes, or is as until says.",
			"Without: until there is any news, such as an invitation. If nothing happens in time, the result says timed_out: call it again."),
		takes: []param{
			{name: "session_id", kind: id, text: "without it: any news"},
			{name: "until", kind: text, oneOf: []string{"change", "turn", "active", "end", "receipt"}, text: "with session_id: change, turn (yours, with something that you were not shown yet, or it is over), active, end or receipt; turn if it is left out"},
			{name: "version", kind: integer, text: "of the session as you know it, for until change; else as it is now"},
			{name: "after", kind: integer, text: "without session_id: the number of the last notice that you know; else those since you connected or waited last"},
			{name: "timeout_seconds", kind: integer, least: 1, most: maxWait, text: "how long to wait at most (60)"},
		},
		gives: with(optional(viewMembers), param{name: "timed_out", kind: yes, must: true}, param{name: "notices", kind: objects}, param{name: "last", kind: integer, text: "for after"}),
		do:    wait,
	}}
}

// optional are params that may be missing.
func optional(list []param) []param {
	all := make([]param, len(list))
	for i, p := range list {
		p.must = false
		all[i] = p
	}
	return all
}

func wait(ctx context.Context, c *call) (wire.M, error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	defer context.AfterFunc(c.leaving, leave)()
	short, stop := context.WithTimeout(ctx, time.Duration(c.int("timeout_seconds", defaultWait))*time.Second)
	defer stop()
	defer c.tell(short)()
	if c.session() == "" {
		return c.news(ctx, short)
	}
	v, err := c.api.Session(ctx, c.session())
	if err != nil {
		return nil, err
	}
	name := c.text("until")
	if name == "" {
		name = "turn"
	}
	reached, change := until[name], name == "change"
	if read, has := c.hasRead(v.Session); has && name == "turn" {
		// Who may speak and waits nevertheless waits for others to.
		reached = func(v node.View) bool { return until[name](v) && (v.Len > read || isOver(v.State)) }
	}
	known := uint64(c.int("version", int64(v.Version)))
	timedOut := false
	for !reached(v) || change && v.Version == known {
		next, err := c.api.Wait(short, c.session(), v.Version)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			timedOut = true
			break
		}
		if err != nil {
			return nil, err
		}
		v = next
	}
	r := c.view(v)
	r["timed_out"] = timedOut
	return r, nil
}

// news waits for notices.
func (c *call) news(ctx, short context.Context) (wire.M, error) {
	c.mu.Lock()
	after := uint64(c.int("after", int64(c.notice)))
	c.mu.Unlock()
	const most = 50
	list, err := c.api.Notices(short, after, most)
	if err != nil && !(errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil) {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all, last := []any{}, after
	for _, n := range list {
		m := wire.M{"number": n.Number, "kind": n.Kind, "at": wire.FormatTime(n.At)}
		if n.Session != "" {
			m["session_id"] = n.Session
		}
		if n.Agent != "" {
			m["agent_id"] = n.Agent
		}
		if n.Type != "" {
			m["type"] = n.Type
		}
		if n.State != "" {
			m["state"] = stateName(n.State)
		}
		if n.Entry != "" {
			m["entry_id"] = n.Entry
		}
		if n.Detail != "" && isPlainText(n.Detail) {
			m["detail"] = n.Detail
		}
		all, last = append(all, m), n.Number
	}
	c.whenHeard(func() { c.notice = max(c.notice, last) })
	r := wire.M{"timed_out": len(list) == 0, "notices": all, "last": last}
	if len(list) > 0 {
		r["next"] = "For an invitation: concordia_invitations. For a session: concordia_session_status. For a match of an entry of yours: concordia_find_matches. For mail: concordia_relay_status, concordia_relay_receive."
	}
	return r, nil
}

// tell tells the client now and then that the call goes on, if it asked for that. The
// function that it returns ends that.
func (c *call) tell(ctx context.Context) (stop func()) {
	if c.request == nil || c.request.Session == nil || c.request.Params.GetProgressToken() == nil {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(c.opts.Tell)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-tick.C:
				_ = c.request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ // who does not hear it misses nothing
					ProgressToken: c.request.Params.GetProgressToken(), Progress: float64(n), Message: "waiting for the other party",
				})
			case <-done:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

// stateOf is the state of SPEC §5.2 that a result calls so.
func stateOf(name string) protocol.State {
	for _, s := range []protocol.State{session.Proposed, session.Active, session.Agreed, session.Rejected, session.Expired, session.Dormant} {
		if stateName(s) == name {
			return s
		}
	}
	return ""
}

// isPlainText reports whether a text is a few words in plain characters.
func isPlainText(s string) bool {
	for _, r := range s {
		if r < ' ' || r > '~' {
			return false
		}
	}
	return len(s) <= 300
}
