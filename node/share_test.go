package node_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// served is a party as another process of its owner sees it.
func (p *party) served() *node.Remote {
	p.w.Helper()
	local, err := node.Serve(p.opts.Dir, p.Node)
	p.w.must(err)
	r, err := node.Dial(p.w.ctx, p.opts.Dir)
	p.w.must(err)
	p.w.Cleanup(func() {
		r.Close()
		if err := local.Close(); err != nil {
			p.w.Error(err)
		}
	})
	return r
}

// A deal is made by two who reach their nodes over sockets.
func TestRemoteDeal(t *testing.T) {
	w := newWorld(t)
	a, b := w.party("seller", nil), w.party("buyer", nil)
	seller, buyer := a.served(), b.served()
	v, err := seller.Open(w.ctx, node.Opening{To: []wire.AgentID{agent("buyer")}, Body: camera(nil)})
	w.must(err)
	id := v.Session
	for after := uint64(0); ; {
		list, err := buyer.Invitations(w.ctx)
		w.must(err)
		if len(list) == 1 {
			break
		}
		notices, err := buyer.Notices(w.ctx, after, 1)
		w.must(err)
		after = notices[0].Number
	}
	await := func(r *node.Remote, v node.View, as func(node.View) bool) node.View {
		t.Helper()
		for !as(v) {
			if v, err = r.Wait(w.ctx, id, v.Version); err != nil {
				t.Fatalf("%v\n%s", err, w.logs)
			}
		}
		return v
	}
	v, err = buyer.Join(w.ctx, id)
	w.must(err)
	await(buyer, v, func(v node.View) bool { return v.Len == 1 })
	if _, err := buyer.Move(w.ctx, node.Move{Session: id, Type: "accept_session"}); err != nil {
		t.Fatal(err)
	}
	v, err = seller.Session(w.ctx, id)
	w.must(err)
	v = await(seller, v, func(v node.View) bool { return v.State == session.Active })
	if _, err := seller.Move(w.ctx, node.Move{Session: id, Type: "offer", Body: price(2050), Tip: v.Tip}); err != nil {
		t.Fatal(err)
	}
	_, err = seller.Move(w.ctx, node.Move{Session: id, Type: "offer", Body: price(2000), Tip: v.Tip})
	if e, ok := errors.AsType[*node.Error](err); !ok || e.Code != node.CodeConflict || len(e.Missed) != 1 {
		t.Errorf("after an old tip: %#v", err)
	}
	v, err = buyer.Session(w.ctx, id)
	w.must(err)
	await(buyer, v, func(v node.View) bool { return v.Offer != nil })
	v, err = buyer.Move(w.ctx, node.Move{Session: id, Type: "accept"})
	w.must(err)
	await(buyer, v, func(v node.View) bool { return v.Receipt == node.ReceiptDone })
	mine, err := buyer.Document(w.ctx, id)
	w.must(err)
	v, err = seller.Session(w.ctx, id)
	w.must(err)
	await(seller, v, func(v node.View) bool { return v.Receipt == node.ReceiptDone })
	theirs, err := seller.Document(w.ctx, id)
	w.must(err)
	if !mine.Equal(theirs) {
		t.Errorf("two documents:\n%s\n%s", mine, theirs)
	}
}

// open opens the node that TestShare is about.
func shareOpen(dir string) func() (node.Held, error) {
	return func() (node.Held, error) {
		n, err := node.New(node.Options{Dir: dir, Key: key("shared")})
		if err != nil {
			return nil, err
		}
		return n, nil
	}
}

// TestShareProcess is no test but the other process of TestShare: it uses the node of a
// directory until its input ends.
func TestShareProcess(t *testing.T) {
	dir := os.Getenv("CONCORDIA_TEST_SHARE")
	if dir == "" {
		t.Skip("it is a part of TestShare")
	}
	s, err := node.Connect(t.Context(), dir, shareOpen(dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	word := "uses\n"
	if _, holds := s.Holds(); holds {
		word = "holds\n"
	}
	_, _ = os.Stdout.WriteString(word)
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// One of those who use a directory runs the node. When it is killed another one takes
// over, and nothing is lost.
func TestShare(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	start := func(want string) (*exec.Cmd, io.Closer) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestShareProcess$")
		cmd.Env = append(os.Environ(), "CONCORDIA_TEST_SHARE="+dir)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("the process says %q, want %q", lines.Text(), want)
		}
		return cmd, in
	}
	first, _ := start("holds")
	second, input := start("uses")
	s, err := node.Connect(t.Context(), dir, shareOpen(dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, holds := s.Holds(); holds {
		t.Error("two processes run the node")
	}
	if err := s.SetContact(t.Context(), node.Contact{Agent: agent("seller"), Name: "Lena"}); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() { // who waits for news goes on waiting
		_, err := s.Notices(t.Context(), 0, 1)
		waiting <- err
	}()
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	// Whoever runs it now: what was kept is there, and what is asked is done.
	if list, err := s.Contacts(t.Context()); err != nil || len(list) != 1 || list[0].Name != "Lena" {
		t.Errorf("after one was killed: %+v, %v", list, err)
	}
	if err := s.SetContact(t.Context(), node.Contact{Agent: agent("buyer"), Name: "Ada"}); err != nil {
		t.Error(err)
	}
	// The other one ends, properly. Now it is this one in any case.
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	if err := second.Wait(); err != nil {
		t.Error(err)
	}
	if list, err := s.Contacts(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("after the other ended: %+v, %v", list, err)
	}
	select {
	case err := <-waiting:
		t.Errorf("waiting for news ended: %v", err)
	default:
	}
	if _, holds := s.Holds(); !holds {
		t.Error("the last one does not run the node")
	}
	if _, err := node.New(node.Options{Dir: dir, Key: key("shared")}); !errors.Is(err, groupcommit.ErrLocked) {
		t.Errorf("opened a second time: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waiting; err == nil {
		t.Error("waiting for news of a node that has ended came to nothing")
	}
	if _, err := node.Dial(t.Context(), dir); !errors.Is(err, node.ErrNotServed) {
		t.Errorf("after all have ended: %v", err)
	}
}

// Many who come at the same time: one runs the node, and all are answered.
func TestShareAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	const n = 8
	all := make([]*node.Shared, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			s, err := node.Connect(t.Context(), dir, shareOpen(dir), nil)
			if err != nil {
				t.Error(err)
				return
			}
			if self, err := s.Self(t.Context()); err != nil || self.Agent != agent("shared") {
				t.Errorf("%+v, %v", self, err)
			}
			all[i] = s
		})
	}
	group.Wait()
	holders := 0
	for _, s := range all {
		if s == nil {
			continue
		}
		if _, holds := s.Holds(); holds {
			holders++
		}
	}
	if holders != 1 {
		t.Errorf("%d run the node", holders)
	}
	for _, s := range all { // in turn: each may have taken over
		if s == nil {
			continue
		}
		if _, err := s.Self(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A node that cannot be opened is no reason to wait.
func TestConnectFails(t *testing.T) {
	dir := t.TempDir()
	fault := errors.New("no key")
	if _, err := node.Connect(t.Context(), dir, func() (node.Held, error) { return nil, fault }, nil); !errors.Is(err, fault) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	locked := func() (node.Held, error) { return nil, groupcommit.ErrLocked }
	if _, err := node.Connect(ctx, dir, locked, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("locked for ever: %v", err)
	}
}
