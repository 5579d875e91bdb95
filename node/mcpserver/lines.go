package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Lines is the transport of standard input and output: one message a line. What is no
// message, or is too large, is answered with an error, and the next line counts. It
// closes neither In nor Out. It is a [mcp.Transport].
type Lines struct {
	In   io.Reader
	Out  io.Writer
	Size int // bytes of a line; 0: DefaultSize
}

// Connect implements [mcp.Transport].
func (t *Lines) Connect(context.Context) (mcp.Connection, error) {
	c := &lineConnection{out: t.Out, lines: make(chan line), closed: make(chan struct{})}
	size := t.Size
	if size <= 0 {
		size = DefaultSize
	}
	go c.readLines(bufio.NewReaderSize(t.In, 64<<10), size)
	return c, nil
}

// A line is what was read: a text, or why there is none.
type line struct {
	text []byte
	err  error
}

var errLong = errors.New("the message is too large")

type lineConnection struct {
	lines  chan line
	closed chan struct{}
	once   sync.Once

	mu  sync.Mutex // guards out
	out io.Writer
}

// readLines hands on line after line until there is none or nobody takes it. A read that
// waits for input cannot be ended.
func (c *lineConnection) readLines(in *bufio.Reader, size int) {
	for {
		text, err := readLine(in, size)
		select {
		case c.lines <- line{text, err}:
		case <-c.closed:
			return
		}
		if err != nil && !errors.Is(err, errLong) {
			return
		}
	}
}

// readLine reads a line without its end, and of one that is too long nothing.
func readLine(in *bufio.Reader, size int) (text []byte, err error) {
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(text)+len(part) > size; long {
			text = nil
		} else {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil && long:
			return nil, errLong
		case err == nil, errors.Is(err, io.EOF) && len(text) > 0: // the last one may have no end
			return bytes.TrimSpace(text), nil
		default:
			return nil, err
		}
	}
}

// Read implements [mcp.Connection].
func (c *lineConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		var l line
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case l = <-c.lines:
		}
		switch {
		case errors.Is(l.err, errLong):
		case l.err != nil:
			return nil, l.err
		case len(l.text) == 0:
			continue
		default:
			if _, l.err = readQuestion(l.text); l.err != nil {
				break
			}
			m, err := jsonrpc.DecodeMessage(l.text)
			if err == nil {
				return m, nil
			}
			l.err = errors.New("the message is none of JSON-RPC 2.0")
		}
		if err := c.write(refused(l.err)); err != nil {
			return nil, err
		}
	}
}

// Write implements [mcp.Connection].
func (c *lineConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return c.write(text)
}

func (c *lineConnection) write(text []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(append(text, '\n'))
	return err
}

// Close implements [mcp.Connection].
func (c *lineConnection) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// SessionID implements [mcp.Connection].
func (c *lineConnection) SessionID() string { return "" }
