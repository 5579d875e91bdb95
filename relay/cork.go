package relay

import (
	"bufio"
	"net"
	"net/http"
	"sync"
)

// A corked connection gathers what is written between cork and uncork, and sends it at
// once: an answer, and what is pushed with it.
type corked struct {
	net.Conn
	mu    sync.Mutex // guards what follows
	corks int
	held  []byte
}

func (c *corked) cork() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.corks++
}

func (c *corked) uncork() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.corks--; c.corks > 0 || len(c.held) == 0 {
		return nil
	}
	_, err := c.Conn.Write(c.held)
	if c.held = c.held[:0]; cap(c.held) > maxCorkKept {
		c.held = nil
	}
	return err
}

// maxCorkKept bounds the buffer that a connection keeps.
const maxCorkKept = 4 << 10

// Write implements [net.Conn].
func (c *corked) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.corks > 0 {
		c.held = append(c.held, b...)
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// A hijacking response has its connection taken over, with a cork.
type hijacking struct {
	http.ResponseWriter
	conn *corked
}

// Hijack implements [http.Hijacker].
func (h *hijacking) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.conn.Conn = conn
	return h.conn, rw, err
}
