package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// A recorder is an API that writes down how it was called and answers what it was told
// to. It is what the wire form of the local API is tested with.
type recorder struct {
	mu     sync.Mutex
	calls  []string
	answer func(name string, args []any) (any, error)
}

func recorded[Out any](r *recorder, name string, args ...any) (out Out, err error) {
	text, err := json.Marshal(args)
	if err != nil {
		return out, err
	}
	r.mu.Lock()
	r.calls = append(r.calls, fmt.Sprintf("%s %s", name, text))
	r.mu.Unlock()
	result, err := r.answer(name, args)
	if result != nil {
		out = result.(Out)
	}
	return out, err
}

func (r *recorder) Self(context.Context) (Self, error) { return recorded[Self](r, "Self") }
func (r *recorder) Open(_ context.Context, o Opening) (View, error) {
	return recorded[View](r, "Open", o)
}
func (r *recorder) Invitation(_ context.Context, id wire.SessionID, to wire.AgentID) (wire.Value, error) {
	return recorded[wire.Value](r, "Invitation", id, to)
}
func (r *recorder) Invited(_ context.Context, v wire.Value) (Invitation, error) {
	return recorded[Invitation](r, "Invited", v)
}
func (r *recorder) Invitations(context.Context) ([]Invitation, error) {
	return recorded[[]Invitation](r, "Invitations")
}
func (r *recorder) Join(_ context.Context, id wire.SessionID) (View, error) {
	return recorded[View](r, "Join", id)
}
func (r *recorder) Decline(_ context.Context, id wire.SessionID) error {
	_, err := recorded[any](r, "Decline", id)
	return err
}
func (r *recorder) Move(_ context.Context, m Move) (View, error) { return recorded[View](r, "Move", m) }
func (r *recorder) Present(_ context.Context, id wire.SessionID, v wire.Value) error {
	_, err := recorded[any](r, "Present", id, v)
	return err
}
func (r *recorder) Sessions(_ context.Context, f Filter) ([]Summary, error) {
	return recorded[[]Summary](r, "Sessions", f)
}
func (r *recorder) Session(_ context.Context, id wire.SessionID) (View, error) {
	return recorded[View](r, "Session", id)
}
func (r *recorder) Wait(ctx context.Context, id wire.SessionID, version uint64) (View, error) {
	return recorded[View](r, "Wait", id, version, ctx)
}
func (r *recorder) Messages(_ context.Context, id wire.SessionID, from, most int) ([]wire.Value, error) {
	return recorded[[]wire.Value](r, "Messages", id, from, most)
}
func (r *recorder) Document(_ context.Context, id wire.SessionID) (wire.Value, error) {
	return recorded[wire.Value](r, "Document", id)
}
func (r *recorder) Export(_ context.Context, id wire.SessionID, as session.Format) (wire.Value, error) {
	return recorded[wire.Value](r, "Export", id, as)
}
func (r *recorder) Receipts(_ context.Context, id wire.SessionID) ([]wire.Value, error) {
	return recorded[[]wire.Value](r, "Receipts", id)
}
func (r *recorder) Notices(_ context.Context, after uint64, most int) ([]Notice, error) {
	return recorded[[]Notice](r, "Notices", after, most)
}
func (r *recorder) Contacts(context.Context) ([]Contact, error) {
	return recorded[[]Contact](r, "Contacts")
}
func (r *recorder) SetContact(_ context.Context, c Contact) error {
	_, err := recorded[any](r, "SetContact", c)
	return err
}
func (r *recorder) RemoveContact(_ context.Context, id wire.AgentID) error {
	_, err := recorded[any](r, "RemoveContact", id)
	return err
}
func (r *recorder) Needs(_ context.Context, m Move) ([]Need, error) {
	return recorded[[]Need](r, "Needs", m)
}
func (r *recorder) Approve(_ context.Context, v wire.Value) error {
	_, err := recorded[any](r, "Approve", v)
	return err
}

func (r *recorder) called() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.calls...)
}

// filled returns a value of a type in which every field has something.
func filled(t *testing.T, typ reflect.Type) reflect.Value {
	t.Helper()
	v := reflect.New(typ).Elem()
	switch typ {
	case reflect.TypeFor[wire.Value]():
		value, err := wire.Encode(wire.M{"price": 2050.5, "Ünicode": []any{"a", nil, true}})
		if err != nil {
			t.Fatal(err)
		}
		return reflect.ValueOf(value)
	case reflect.TypeFor[time.Time]():
		return reflect.ValueOf(time.Date(2026, 12, 1, 9, 30, 0, 0, time.UTC))
	case reflect.TypeFor[wire.Hash]():
		return reflect.ValueOf(wire.HashOf("x"))
	}
	switch typ.Kind() {
	case reflect.String:
		v.SetString("text_" + typ.Name())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(1<<53 - 1)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(t, typ.Elem())))
	case reflect.Pointer:
		v.Set(reflect.New(typ.Elem()))
		v.Elem().Set(filled(t, typ.Elem()))
	case reflect.Struct:
		for i := range typ.NumField() {
			if f := typ.Field(i); f.IsExported() {
				v.Field(i).Set(filled(t, f.Type))
			}
		}
	default:
		t.Fatalf("no value of %v", typ)
	}
	return v
}

func serveTest(t *testing.T, api API) *Remote {
	t.Helper()
	dir := t.TempDir()
	local, err := Serve(dir, api)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	return newRemote(dir)
}

// Every method of API goes over the socket: with all that it is given, with all that it
// returns, and with all that an error says.
func TestLocalMethods(t *testing.T) {
	api := reflect.TypeFor[API]()
	if api.NumMethod() != len(operations) {
		t.Errorf("%d methods, %d operations", api.NumMethod(), len(operations))
	}
	for m := range api.Methods() {
		t.Run(m.Name, func(t *testing.T) {
			typ := m.Type
			args := []reflect.Value{reflect.ValueOf(t.Context())}
			for i := 1; i < typ.NumIn(); i++ {
				args = append(args, filled(t, typ.In(i)))
			}
			var want reflect.Value
			if typ.NumOut() == 2 {
				want = filled(t, typ.Out(0))
			}
			r := &recorder{}
			remote := serveTest(t, r)
			call := func(api API) []reflect.Value { return reflect.ValueOf(api).MethodByName(m.Name).Call(args) }

			r.answer = func(string, []any) (any, error) {
				if want.IsValid() {
					return want.Interface(), nil
				}
				return nil, nil
			}
			got := call(remote)
			if err := got[len(got)-1]; !err.IsNil() {
				t.Fatal(err)
			}
			if want.IsValid() && !reflect.DeepEqual(got[0].Interface(), want.Interface()) {
				t.Errorf("returns\n%+v\nwant\n%+v", got[0], want)
			}
			over := r.called()
			r.calls = nil
			call(r)
			if local := r.called(); len(over) != 1 || m.Name != "Wait" && over[0] != local[0] {
				t.Errorf("the node was called\n%s\nwant\n%s", over, local)
			}

			refusal := filled(t, reflect.TypeFor[*Error]()).Interface().(*Error)
			r.answer = func(string, []any) (any, error) { return nil, refusal }
			got = call(remote)
			err, _ := got[len(got)-1].Interface().(error)
			if e, ok := errors.AsType[*Error](err); !ok || !reflect.DeepEqual(e, refusal) {
				t.Errorf("error\n%#v\nwant\n%#v", err, refusal)
			}
		})
	}
}

// A call that waits is asked again when it was held for long, until there is something
// to tell or nobody wants to know any more.
func TestLocalLongPoll(t *testing.T) {
	r := &recorder{}
	var polls int
	r.answer = func(name string, args []any) (any, error) {
		if polls++; polls < 3 {
			if name == "Notices" {
				return []Notice(nil), nil
			}
			ctx := args[2].(context.Context)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		if name == "Notices" {
			return []Notice{{Number: 8}}, nil
		}
		return View{Summary: Summary{Version: 8}}, nil
	}
	remote := pollTest(t, r, time.Millisecond)
	if v, err := remote.Wait(t.Context(), "ses_1", 7); err != nil || v.Version != 8 || polls != 3 {
		t.Errorf("after %d polls %+v, %v", polls, v, err)
	}
	polls = 0
	if list, err := remote.Notices(t.Context(), 7, 1); err != nil || len(list) != 1 || polls != 3 {
		t.Errorf("after %d polls %+v, %v", polls, list, err)
	}

	begun := make(chan struct{}, 2)
	r.answer = func(_ string, args []any) (any, error) {
		begun <- struct{}{}
		ctx := args[2].(context.Context)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	remote = pollTest(t, r, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	if _, err := remote.Wait(ctx, "ses_1", 7); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if list, err := remote.Notices(ctx, 7, 1); err != nil || list != nil {
		t.Errorf("canceled: %v, %v", list, err)
	}
}

// pollTest serves api with another time for calls that wait.
func pollTest(t *testing.T, api API, poll time.Duration) *Remote {
	t.Helper()
	dir := t.TempDir()
	l, err := listenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: &localHandler{api: api, token: l.token, poll: poll}}
	var work sync.WaitGroup
	work.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() { _ = s.Close(); work.Wait() })
	return newRemote(dir)
}

// When a node ends, calls that wait there end with it.
func TestLocalClose(t *testing.T) {
	begun := make(chan struct{})
	r := &recorder{answer: func(_ string, args []any) (any, error) {
		close(begun)
		ctx := args[2].(context.Context)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	dir := t.TempDir()
	local, err := Serve(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := newRemote(dir).Wait(t.Context(), "ses_1", 0)
		ended <- err
	}()
	<-begun
	if err := local.Close(); err != nil {
		t.Error(err)
	}
	if e, ok := errors.AsType[*Error](<-ended); !ok || e.Code != CodeClosed {
		t.Errorf("the call that waited: %v", e)
	}
	if _, err := Dial(t.Context(), dir); !errors.Is(err, ErrNotServed) {
		t.Errorf("afterwards: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// What no client of ours would send is refused, and not repeated.
func TestLocalRefusals(t *testing.T) {
	const secret = "hunter2"
	r := &recorder{answer: func(string, []any) (any, error) { return nil, errors.New(secret) }}
	remote := serveTest(t, r)
	tests := map[string]struct {
		method, path, body, origin string
		status                     int
		code                       Code
	}{
		"get":               {method: "GET", path: "/v1/self", status: 400, code: CodeBadRequest},
		"no operation":      {path: "/v1/" + secret, body: "{}", status: 400, code: CodeBadRequest},
		"elsewhere":         {path: "/v2/self", body: "{}", status: 400, code: CodeBadRequest},
		"nothing":           {path: "/v1/self", status: 400, code: CodeBadRequest},
		"no object":         {path: "/v1/self", body: "[]", status: 400, code: CodeBadRequest},
		"unknown member":    {path: "/v1/join", body: `{"session_id":"ses_1","hunter2":1}`, status: 400, code: CodeBadRequest},
		"other case":        {path: "/v1/join", body: `{"Session_ID":"hunter2"}`, status: 400, code: CodeBadRequest},
		"twice":             {path: "/v1/join", body: `{"session_id":"hunter2","session_id":"b"}`, status: 400, code: CodeBadRequest},
		"other type":        {path: "/v1/messages", body: `{"session_id":"a","from":"hunter2"}`, status: 400, code: CodeBadRequest},
		"a browser":         {path: "/v1/self", body: "{}", origin: "https://evil.example", status: 403, code: CodeDenied},
		"an untyped error":  {path: "/v1/self", body: "{}", status: 500, code: CodeInternal},
		"a header of 1 MiB": {path: "/v1/self", body: "{}", origin: strings.Repeat("x", 1<<20), status: 431},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			method := test.method
			if method == "" {
				method = "POST"
			}
			req, err := http.NewRequestWithContext(t.Context(), method, "http://node"+test.path, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if test.origin != "" {
				req.Header.Set("Origin", test.origin)
			}
			resp, err := remote.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var got errorAnswer
			if test.code != "" {
				if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
					t.Fatal(err)
				}
			}
			if resp.StatusCode != test.status || got.Error != nil && got.Error.Code != test.code {
				t.Errorf("status %d, %+v, want %d %s", resp.StatusCode, got.Error, test.status, test.code)
			}
			if got.Error != nil && strings.Contains(got.Error.Message, secret) {
				t.Errorf("tells %q", got.Error.Message)
			}
		})
	}
}

// Only the owner of the directory gets in.
func TestLocalModes(t *testing.T) {
	dir := t.TempDir()
	l, err := listenUnix(dir, filepath.Join(dir, socketName))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	info, err := os.Stat(filepath.Join(dir, socketName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	tcp, err := listenLoopback(filepath.Join(dir, addressName))
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	if info, err = os.Stat(filepath.Join(dir, addressName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the address is %v, %v", info.Mode(), err)
	}
}

// Where a socket cannot be, it is an address of this machine that a token opens.
func TestLocalToken(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r := &recorder{answer: func(string, []any) (any, error) { return Self{Agent: "a"}, nil }}
	local, err := Serve(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	if !strings.HasPrefix(local.Address(), "http://127.0.0.1:") {
		t.Fatalf("served at %s", local.Address())
	}
	if self, err := newRemote(dir).Self(t.Context()); err != nil || self.Agent != "a" {
		t.Errorf("%+v, %v", self, err)
	}
	for _, token := range []string{"", "Bearer ", "Bearer x"} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", local.Address()+"/v1/self", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("with %q: %s", token, resp.Status)
		}
	}
}

// Something else than a node is told from one, and so is one that breaks off.
func TestRemoteStrangers(t *testing.T) {
	for name, answer := range map[string]string{
		"another server": "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nhey",
		"broken off":     "HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n{}",
		"no HTTP":        "hello\r\n",
		"no JSON":        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l, err := net.Listen("unix", filepath.Join(dir, socketName))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Read(make([]byte, 4096))
				_, _ = c.Write([]byte(answer))
				_ = c.Close()
			}()
			_, err = newRemote(dir).Self(t.Context())
			if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeInternal && e.Code != CodeUnreachable {
				t.Errorf("%v", err)
			}
		})
	}
}
