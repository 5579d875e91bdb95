package mcpserver

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// requestHeader tells a tool which request its call came with: a connection does not say
// when the one who asked hangs up. What a client has in it is lost.
const requestHeader = "Concordia-Request"

// An asking is an HTTP request with the calls that came with it. A call may last longer
// than its request. A nil one is of a transport without requests.
type asking struct {
	ctx context.Context // done when whoever asked has hung up

	mu    sync.Mutex // guards what follows
	calls int        // under way
	then  func()     // to be done when there are none
}

// hungUp is a request that has been answered or given up.
var hungUp = func() *asking {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	return &asking{ctx: ctx}
}()

// asks notes that a request may call a tool, until it is answered.
func (s *Server) asks(r *http.Request) *asking {
	a, id := &asking{ctx: r.Context()}, rand.Text()
	r.Header.Set(requestHeader, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.askers[id] = a
	return a
}

// answers notes that a request that asked is answered, or given up.
func (s *Server) answers(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.askers, r.Header.Get(requestHeader))
}

// asker returns the HTTP request that a call came with.
func (s *Server) asker(request *mcp.CallToolRequest) *asking {
	if request == nil || request.Extra == nil || request.Extra.Header.Get(requestHeader) == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.askers[request.Extra.Header.Get(requestHeader)]; a != nil {
		return a
	}
	return hungUp
}

// gone is done when whoever asked has hung up.
func (a *asking) gone() context.Context {
	if a == nil {
		return context.Background()
	}
	return a.ctx
}

// call notes that a call is under way until the function that it returns is called.
func (a *asking) call() (done func()) {
	if a == nil {
		return func() {}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	return func() {
		a.mu.Lock()
		a.calls--
		then := a.then
		if a.calls > 0 {
			then = nil
		}
		a.mu.Unlock()
		if then != nil {
			then()
		}
	}
}

// after does something when no call is under way.
func (a *asking) after(do func()) {
	if a == nil {
		do()
		return
	}
	a.mu.Lock()
	if a.calls > 0 {
		a.then = do
		do = func() {}
	}
	a.mu.Unlock()
	do()
}
