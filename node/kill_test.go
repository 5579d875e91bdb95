package node_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// The environment of the process that TestKill kills.
const (
	envDir   = "CONCORDIA_TEST_NODE_DIR"
	envRelay = "CONCORDIA_TEST_NODE_RELAY"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(envDir); dir != "" {
		if err := play(dir, os.Getenv(envRelay)); err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// play is a buyer that answers whenever it is its turn, until there is a receipt. It knows
// nothing but what is in its directory.
func play(dir, url string) error {
	n, err := node.New(node.Options{
		Dir: dir, Key: key("buyer"), Relay: url, Loopback: true, Policy: node.Policy{Unknown: node.Accept},
		Timing: relay.Timing{Retry: 5 * time.Millisecond, MaxRetry: 50 * time.Millisecond},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for after := uint64(0); ; {
		list, err := n.Sessions(ctx, node.Filter{})
		if err != nil {
			return err
		}
		for _, s := range list {
			if done, err := answer(ctx, n, s.Session); done || err != nil {
				return errors.Join(err, n.Close())
			}
		}
		notices, err := n.Notices(ctx, after, 0)
		if err != nil || len(notices) == 0 {
			return errors.Join(errors.New("nothing happens"), err)
		}
		after = notices[len(notices)-1].Number
	}
}

// answer says what is to be said, and reports whether all is done.
func answer(ctx context.Context, n *node.Node, id wire.SessionID) (done bool, err error) {
	v, err := n.Session(ctx, id)
	if err != nil || !v.Turn {
		return v.Receipt == node.ReceiptDone, err
	}
	m := node.Move{Session: id, Type: wire.TypeCounter, Body: price(1000 - v.Len), Tip: v.Tip}
	switch {
	case v.State == session.Proposed:
		m.Type, m.Body = wire.TypeAcceptSession, wire.Value{}
	case v.Offer == nil:
		return false, nil
	}
	_, err = n.Move(ctx, m)
	if e, ok := errors.AsType[*node.Error](err); ok && (e.Code == node.CodeConflict || e.Code == node.CodeRule) {
		err = nil // it was said before the process was killed, and came back meanwhile
	}
	return false, err
}

// A node that is killed again and again, whatever it is at, says everything once and ends
// with the same transcript and receipt as the other side.
func TestKill(t *testing.T) {
	w := newWorld(t)
	seller := w.party("seller", nil)
	dir := filepath.Join(t.TempDir(), "buyer")
	start := func() (*exec.Cmd, chan error) {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), envDir+"="+dir, envRelay+"="+w.url)
		c.Stderr = os.Stderr
		w.must(c.Start())
		done := make(chan error, 1)
		go func() { done <- c.Wait() }()
		return c, done
	}
	id := must[node.View](w)(seller.Open(w.ctx, node.Opening{To: []wire.AgentID{agent("buyer")}, Body: camera(wire.M{"timing": wire.M{"max_rounds": 100}})})).Session
	rounds, kills := killRounds, 0
	c, done := start()
	v := must[node.View](w)(seller.Session(w.ctx, id))
	for v.State != session.Agreed {
		select {
		case err := <-done:
			w.must(err)
			t.Fatal("the buyer has ended before the session")
		default:
		}
		if v.State != session.Active || !v.Turn {
			v = must[node.View](w)(seller.Wait(w.ctx, id, v.Version))
			continue
		}
		m := node.Move{Session: id, Type: wire.TypeOffer, Body: price(v.Len)}
		if v.Len > 2+2*rounds {
			m.Type, m.Body = wire.TypeAccept, wire.Value{}
		}
		// What it returns may have the answer in it already.
		v = must[node.View](w)(seller.Move(w.ctx, m))
		if m.Type == wire.TypeAccept {
			continue
		}
		// At some point between hearing of it and having answered.
		timer := time.AfterFunc(time.Duration(v.Len*3%40)*time.Millisecond, func() { _ = c.Process.Kill() })
		<-done
		timer.Stop()
		kills++
		c, done = start()
	}
	seller.settled(id)
	w.must(<-done)
	t.Logf("killed %d times in %d messages", kills, must[node.View](w)(seller.Session(w.ctx, id)).Len)
	buyer := &party{w: w, opts: node.Options{Dir: dir, Key: key("buyer"), Relay: w.url, Loopback: true}}
	buyer.start()
	defer buyer.end()
	buyer.settled(id)
	w.same(id, seller, buyer)
	from := map[string]int{}
	for _, m := range must[[]wire.Value](w)(buyer.Messages(w.ctx, id, 0, node.MaxMost)) {
		who, _ := m.At("from", "agent_id")
		kind, _ := m.Get("type")
		from[who.Text()+" "+kind.Text()]++
	}
	if got, want := from[string(agent("buyer"))+" negotiate.counter"], from[string(agent("seller"))+" negotiate.offer"]; got != want {
		t.Errorf("the buyer answered %d times to %d offers: %v", got, want, from)
	}
}
