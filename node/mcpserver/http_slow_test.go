package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/mcpserver"
)

// A client that sends or takes nothing any more is given up, and what it held is free.
func TestHTTPSlow(t *testing.T) {
	w := newWorld(t)
	h, err := mcpserver.NewHandler(w.agent("seller", mcpserver.Options{}, nil).node, mcpserver.HTTPOptions{Tokens: []string{token}, Calls: 1})
	if err != nil {
		t.Fatal(err)
	}
	h.Hurry(200 * time.Millisecond)
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(4 << 10)
		return ctx
	}
	s.Start()
	t.Cleanup(func() { _ = h.Shutdown(w.ctx); s.CloseClientConnections(); s.Close() })
	url := s.URL + mcpserver.Path
	id := connection(t, url)
	long := `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 3<<20) + `","method":"ping"}`
	head := func(with string, length int) string {
		return fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
			"Mcp-Session-Id: %s\r\nMCP-Protocol-Version: 2025-11-25\r\n%sContent-Length: %d\r\n\r\n", id, with, length)
	}
	bears := "Authorization: Bearer " + token + "\r\n"
	for _, test := range []struct {
		name, send string
		reads      bool
	}{
		{"no token, and no body", head("", 1000), true},
		{"no body", head(bears, 1000), true},
		{"half a body", head(bears, 1000) + ping, true},
		{"an answer that is not taken", head(bears, len(long)) + long, false},
	} {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		if _, err := io.WriteString(c, test.send); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if test.reads {
			_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
			if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: the client is waited for", test.name)
			}
		} else if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		for begun := time.Now(); ; runtime.Gosched() {
			if status, _, _ := ask(t, http.MethodPost, url, ping, within(id)); status == http.StatusOK {
				break
			}
			if time.Since(begun) > 10*time.Second {
				t.Errorf("%s: there is no room any more", test.name)
				break
			}
		}
		_ = c.Close()
	}
}

// What lasts is not given up for having nothing to say, over HTTP/2 neither, where a stream
// ends by itself when its time is over.
func TestHTTPQuiet(t *testing.T) {
	w := newWorld(t)
	h, err := mcpserver.NewHandler(w.agent("seller", mcpserver.Options{}, nil).node, mcpserver.HTTPOptions{
		Server: mcpserver.Options{Tell: 300 * time.Millisecond}, Tokens: []string{token},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Hurry(100 * time.Millisecond)
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() { _ = h.Shutdown(w.ctx); s.Close() })
	body, change := apart("tools/call", `,"name":"concordia_wait","arguments":{"timeout_seconds":1}`)
	r, err := http.NewRequestWithContext(w.ctx, http.MethodPost, s.URL+mcpserver.Path, strings.NewReader(strings.Replace(body, `"_meta":{`, `"_meta":{"progressToken":1,`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	change(r)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Name", "concordia_wait")
	response, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if response.ProtoMajor != 2 || err != nil || !strings.Contains(string(text), "notifications/progress") || !strings.Contains(string(text), `"timed_out":true`) {
		t.Errorf("a call that waits: %s %v %s", response.Proto, err, text)
	}
}

// A busy node takes its time for moves, and notes who waits for letters.
type busy struct {
	node.API
	moves, goes chan struct{}
	letters     chan struct{}
}

func (b *busy) Move(context.Context, node.Move) (node.View, error) {
	b.moves <- struct{}{}
	<-b.goes
	return node.View{}, errors.New("too busy")
}

func (b *busy) ReceiveMail(ctx context.Context, q node.MailQuery) (node.MailBatch, error) {
	b.letters <- struct{}{}
	<-ctx.Done()
	b.letters <- struct{}{}
	return node.MailBatch{}, ctx.Err()
}

// A client of the older era that hangs up does not leave calls behind without end: what
// waits ends, and what goes on counts as under way.
func TestHTTPLeftBehind(t *testing.T) {
	w := newWorld(t)
	seller := w.agent("seller", mcpserver.Options{}, nil)
	buyer := w.agent("buyer", mcpserver.Options{}, nil)
	session := w.begin(seller, buyer, "")
	b := &busy{buyer.node, make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, 2)}
	h, err := mcpserver.NewHandler(b, mcpserver.HTTPOptions{Tokens: []string{token}, Calls: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	release := sync.OnceFunc(func() { close(b.goes) })
	t.Cleanup(func() { release(); _ = h.Shutdown(w.ctx); s.Close() })
	url := s.URL + mcpserver.Path
	id := connection(t, url)
	hangUp := func(tool, args string, begun <-chan struct{}) {
		t.Helper()
		ctx, stop := context.WithCancel(w.ctx)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":"`+tool+`","method":"tools/call","params":{"name":"`+tool+`","arguments":`+args+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		within(id)(r)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if response, err := bearer(token).RoundTrip(r); err == nil {
				response.Body.Close()
			}
		}()
		<-begun
		stop()
		<-done
	}
	hangUp("concordia_relay_receive", `{"wait_seconds":600}`, b.letters)
	select {
	case <-b.letters:
	case <-time.After(10 * time.Second):
		t.Fatal("nobody waits for the letters, and the call goes on")
	}
	free := func() bool {
		status, _, _ := ask(t, http.MethodPost, url, ping, within(id))
		return status == http.StatusOK
	}
	for begun := time.Now(); !free(); runtime.Gosched() {
		if time.Since(begun) > 10*time.Second {
			t.Fatal("there is no room any more")
		}
	}
	hangUp("concordia_reject", `{"session_id":"`+session+`"}`, b.moves)
	for begun := time.Now(); time.Since(begun) < 100*time.Millisecond; runtime.Gosched() {
		if free() {
			t.Fatal("a move that goes on is not under way")
		}
	}
	release()
	for begun := time.Now(); !free(); runtime.Gosched() {
		if time.Since(begun) > 10*time.Second {
			t.Fatal("there is no room any more")
		}
	}
}
