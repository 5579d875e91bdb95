package mcpserver

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/wire"
)

// An answered transport does not end before what the client asked is answered: a client
// may close its side as soon as it has asked, and a move that was made has to be told.
type answered struct {
	mcp.Transport
	patience time.Duration // for how long the end waits
	leave    func()        // called when the client has closed its side
}

// Connect implements mcp.Transport.
func (t *answered) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &answeredConnection{Connection: c, patience: t.patience, leave: t.leave, asked: map[jsonrpc.ID]bool{}, answer: make(chan struct{}, 1)}, nil
}

type answeredConnection struct {
	mcp.Connection
	patience time.Duration
	leave    func()

	mu     sync.Mutex // guards asked
	asked  map[jsonrpc.ID]bool
	answer chan struct{} // holds one when something was answered
}

// Read implements mcp.Connection. An end, or what cannot be read, is told when nothing is
// left to answer, or patience ends.
func (c *answeredConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		if errors.Is(err, io.EOF) {
			c.leave()
		}
		c.settle(ctx)
		return m, err
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.mu.Lock()
		c.asked[r.ID] = true
		c.mu.Unlock()
	} else if ok && r.Method == "notifications/cancelled" {
		c.forget(r.Params)
	}
	return m, nil
}

// forget notes that the client wants no answer any more.
func (c *answeredConnection) forget(params []byte) {
	v, err := wire.Parse(params, wire.DocumentLimits)
	if err != nil {
		return
	}
	member, _ := v.Get("requestId")
	var id any = member.Text()
	if n, ok := member.Float(); ok {
		id = n
	}
	if made, err := jsonrpc.MakeID(id); err == nil {
		c.mu.Lock()
		delete(c.asked, made)
		c.mu.Unlock()
	}
}

// Write implements mcp.Connection.
func (c *answeredConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.asked, r.ID)
		c.mu.Unlock()
		select {
		case c.answer <- struct{}{}:
		default:
		}
	}
	return err
}

func (c *answeredConnection) settle(ctx context.Context) {
	enough := time.NewTimer(c.patience)
	defer enough.Stop()
	for {
		c.mu.Lock()
		left := len(c.asked)
		c.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-c.answer:
		case <-enough.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
