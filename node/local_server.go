package node

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/concordia-node/concordia/wire"
)

// The names of what a process that serves a directory leaves there for others: the
// socket or, where there are none, the address on this machine with the token that opens it.
const (
	socketName  = "node.sock"
	addressName = "node.address"
)

// A Local serves the local API of a node in its directory.
type Local struct {
	address string
	remove  string // the file that says where it is reached
	server  *http.Server
	stop    context.CancelFunc
	work    sync.WaitGroup
	fault   error // of serving; read after work
}

// Serve serves api to other processes of the same owner, in the directory of the node,
// which the caller holds: what another process left there is replaced.
func Serve(dir string, api API) (*Local, error) {
	l, err := listenLocal(dir)
	if err != nil {
		return nil, fmt.Errorf("serving %s: %w", dir, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	local := &Local{address: l.address, remove: l.file, stop: stop, server: &http.Server{
		Handler:           &localHandler{api: api, token: l.token, poll: longPoll},
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       log.New(io.Discard, "", 0), // of connections that broke
	}}
	local.work.Go(func() {
		if err := local.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			local.fault = fmt.Errorf("serving %s: %w", dir, err)
		}
	})
	return local, nil
}

// Address is where the API is reached: the path of a socket, or a URL.
func (l *Local) Address() string { return l.address }

// Close takes no more calls, ends those that wait, and lets the others come to their end.
func (l *Local) Close() error {
	fault := os.Remove(l.remove)
	if errors.Is(fault, os.ErrNotExist) {
		fault = nil
	}
	l.stop()
	patient, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := l.server.Shutdown(patient); err != nil {
		fault = errors.Join(fault, l.server.Close())
	}
	l.work.Wait()
	return errors.Join(fault, l.fault)
}

// A localListener listens where only the owner of a directory gets in.
type localListener struct {
	net.Listener
	address string
	file    string
	token   string // "": none is needed
}

func listenLocal(dir string) (*localListener, error) {
	path := filepath.Join(dir, socketName)
	for _, name := range []string{socketName, addressName} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	if runtime.GOOS != "windows" {
		if l, err := listenUnix(dir, path); err == nil {
			return &localListener{Listener: l, address: path, file: path}, nil
		}
	}
	// There are no sockets here, or the path is too long for one.
	return listenLoopback(filepath.Join(dir, addressName))
}

// listenUnix makes the socket in a directory that nobody else looks into, and moves it to
// its place when its mode is right.
func listenUnix(dir, path string) (net.Listener, error) {
	hidden, err := os.MkdirTemp(dir, ".n")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(hidden)
	made := filepath.Join(hidden, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(made, 0o600), os.Rename(made, path)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// A localAddress is the content of addressName.
type localAddress struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

func listenLoopback(path string) (*localListener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails
	at := localAddress{URL: "http://" + l.Addr().String(), Token: base64.RawURLEncoding.EncodeToString(secret)}
	text, err := json.Marshal(at)
	if err == nil {
		err = writeOwn(path, text)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &localListener{Listener: l, address: at.URL, file: path, token: at.Token}, nil
}

// writeOwn writes a file that only its owner reads, all of it at once.
func writeOwn(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".n") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// A localHandler answers the operations.
type localHandler struct {
	api   API
	token string
	poll  time.Duration
}

func (h *localHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	result, status, err := h.answer(w, r)
	if err != nil {
		e, ok := errors.AsType[*Error](err)
		if !ok {
			e = &Error{Code: CodeInternal, Message: "the node could not: its log says why"}
		}
		result, status = errorAnswer{e}, statusOf(e.Code)
	}
	text, err := json.Marshal(result)
	if err != nil {
		text, status = []byte(`{"error":{"code":"internal","message":"the result cannot be written"}}`), http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if status != http.StatusNoContent {
		_, _ = w.Write(text) // who has gone does not read it
	}
}

// errorAnswer is what a refusal looks like.
type errorAnswer struct {
	Error *Error `json:"error"`
}

func (h *localHandler) answer(w http.ResponseWriter, r *http.Request) (any, int, error) {
	// A page in a browser has no business here, whatever it knows.
	if r.Header.Get("Origin") != "" || h.token != "" && !h.knows(r) {
		return nil, 0, &Error{Code: CodeDenied, Message: "only who can read the node's directory is answered"}
	}
	name, ok := strings.CutPrefix(r.URL.Path, localPrefix)
	o := operationNamed(name)
	if !ok || o == nil || r.Method != http.MethodPost {
		return nil, 0, refusal(CodeBadRequest, "there is no such operation: POST %sNAME", localPrefix)
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wire.MaxDocumentSize+1))
	if err != nil {
		return nil, 0, refusal(CodeBadRequest, "the arguments of %s cannot be read, or are larger than %d bytes", name, wire.MaxDocumentSize)
	}
	in, err := wire.Parse(text, wire.DocumentLimits)
	if err != nil || in.Kind() != wire.Object {
		return nil, 0, refusal(CodeBadRequest, "the arguments of %s are no JSON object", name)
	}
	ctx := r.Context()
	if o.waits {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.poll)
		defer cancel()
	}
	result, err := o.do(ctx, h.api, []byte(in.Canonical()))
	switch {
	case err == nil:
		return result, http.StatusOK, nil
	case !errors.Is(err, ctx.Err()) || ctx.Err() == nil:
		return nil, 0, err
	case o.waits && errors.Is(err, context.DeadlineExceeded):
		return nil, http.StatusNoContent, nil
	}
	return nil, 0, &Error{Code: CodeClosed, Message: "the node is stopping"} // or who asked has gone
}

func (h *localHandler) knows(r *http.Request) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && subtle.ConstantTimeCompare([]byte(given), []byte(h.token)) == 1
}

func operationNamed(name string) *operation {
	for _, o := range operations {
		if o.name == name {
			return o
		}
	}
	return nil
}

func refusal(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// statusOf is the HTTP status of a refusal. The code says what matters.
func statusOf(c Code) int {
	switch c {
	case CodeBadRequest:
		return http.StatusBadRequest
	case CodeDenied:
		return http.StatusForbidden
	case CodeNotFound:
		return http.StatusNotFound
	case CodeUnreachable, CodeClosed:
		return http.StatusServiceUnavailable
	case CodeInternal:
		return http.StatusInternalServerError
	}
	return http.StatusConflict
}
