package relay_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/concordia-node/concordia/wire"
)

const (
	idleConnections = 10_000
	idleAgents      = 100
	mostPerIdle     = 24 << 10 // bytes of the process, for one connection
)

// TestIdleConnections measures what an idle connection costs, in resident memory of the
// process, while another process holds 10,000 of them.
func TestIdleConnections(t *testing.T) {
	switch {
	case testing.Short():
		t.Skip("10,000 connections")
	case raceEnabled:
		t.Skip("the race detector takes memory of its own")
	case runtime.GOOS != "linux":
		t.Skip("reads /proc/self/statm")
	case !filesFor(idleConnections + 500):
		t.Skip("the limit of open files is too low")
	}
	limits := roomy()
	limits.Connections, limits.ConnectionsAgent, limits.ConnectionsPlace = 2*idleConnections, idleConnections, 2*idleConnections
	s := listen(t, setting{limits: limits})
	var tokens bytes.Buffer
	var last *person
	for i := range idleAgents {
		last = s.person(fmt.Sprintf("agent%d", i))
		fmt.Fprintln(&tokens, last.token)
	}
	last.do("create", wire.M{"session_id": "ses_1", "to": []string{"agent0"}})
	before := resident(t)

	clients := exec.Command(os.Args[0], "-test.run=^TestIdleClients$", "-test.v")
	clients.Env = append(os.Environ(), idleAddress+"="+strings.TrimPrefix(s.url, "http://"))
	clients.Stderr = os.Stderr
	in, err := clients.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := clients.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := clients.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		if err := clients.Wait(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := fmt.Fprintf(in, "%s\n", &tokens); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "connected" {
	}
	go io.Copy(io.Discard, out)
	if n := s.server.Connections(); n != idleConnections {
		t.Fatalf("%d connections", n)
	}
	each := (resident(t) - before) / idleConnections
	t.Logf("%d bytes for an idle connection", each)
	if each > mostPerIdle {
		t.Errorf("an idle connection costs %d bytes, want at most %d", each, mostPerIdle)
	}
}

const idleAddress = "CONCORDIA_IDLE_CLIENTS_OF"

// TestIdleClients is the other process: it reads tokens, connects, and holds on until
// its input ends.
func TestIdleClients(t *testing.T) {
	address := os.Getenv(idleAddress)
	if address == "" {
		t.Skip("is run by TestIdleConnections")
	}
	var tokens []string
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() && in.Text() != "" {
		tokens = append(tokens, in.Text())
	}
	var mu sync.Mutex
	var open []net.Conn
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for n := i; n < idleConnections; n += 16 {
				c, err := net.Dial("tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				fmt.Fprintf(c, "GET /v1/socket HTTP/1.1\r\nHost: relay\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
					"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nAuthorization: Bearer %s\r\n\r\n", tokens[n%len(tokens)])
				answer, err := http.ReadResponse(bufio.NewReaderSize(c, 512), nil)
				if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
					t.Errorf("connection %d: %v %v", n, answer, err)
					return
				}
				mu.Lock()
				open = append(open, c)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	fmt.Println("connected")
	_, _ = io.Copy(io.Discard, os.Stdin)
	for _, c := range open {
		c.Close()
	}
}

// resident returns the bytes of memory that the process has.
func resident(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
