package node

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/internal/outbound"
	"github.com/concordia-node/concordia/session/transcript"
	"github.com/concordia-node/concordia/wire"
)

// A Node is one party. It is an [API]. Its methods may be called from many goroutines.
type Node struct {
	opts  Options
	agent wire.AgentID
	log   *slog.Logger

	disk        *disk
	transcripts *transcript.Store
	artifacts   *store.Store
	own         *served // nil: the node carries no sessions
	contacts    contactBook
	outbound    *outbound.Client
	table       table
	carriers    carriers
	deadlines   deadlines
	notices     bell
	matches     matchBoard
	letters     bell // rung when mail sessions change
	inbox       inbox
	ledger      ledger
	revoked     revocationBook

	beforeSending func() // of tests; may be nil

	ctx      context.Context // done when the node closes
	stop     context.CancelCauseFunc
	stopping <-chan struct{}

	mu     sync.Mutex // guards closed, and work against Go during Wait
	closed bool
	work   sync.WaitGroup

	relying sync.Mutex // held while a move is allowed on the strength of a mandate, after a session's mu
}

var errStopping = errors.New("the node is stopping")

// New opens the node in a directory and sets it to work: it takes up what it was at when
// it was closed, or killed. Nobody else has it open: the error is groupcommit's ErrLocked
// otherwise.
func New(opts Options) (*Node, error) {
	switch {
	case opts.Dir == "":
		return nil, errors.New("opening a node: a directory is required")
	case opts.Key == nil:
		return nil, errors.New("opening a node: a key is required")
	}
	if opts.Agent == "" {
		opts.Agent = wire.DIDKey(opts.Key.Public())
	}
	if err := wire.CheckID(opts.Agent); err != nil {
		return nil, fmt.Errorf("opening a node: its agent id: %w", err)
	}
	if opts.Keys == nil {
		opts.Keys = wire.DIDKeys{}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Random == nil {
		opts.Random = rand.Reader
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if err := opts.Policy.check(); err != nil {
		return nil, fmt.Errorf("opening a node: its policy: %w", err)
	}
	n := &Node{
		opts: opts, agent: wire.PlainDIDKey(opts.Agent), log: opts.Log,
		table: newTable(), carriers: newCarriers(), deadlines: newDeadlines(),
		notices: bell{rung: make(chan struct{})}, letters: bell{rung: make(chan struct{})}, ledger: ledger{most: MaxEvidence},
	}
	n.ctx, n.stop = context.WithCancelCause(context.Background())
	n.stopping = n.ctx.Done()
	n.outbound = &outbound.Client{HighPorts: true, Roots: opts.Roots}
	if opts.Loopback {
		n.outbound.Plain = true
		n.outbound.Allow = netip.Addr.IsLoopback
	}
	if err := n.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening a node: %w", err), n.Close())
	}
	if err := n.resume(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening a node: %w", err), n.Close())
	}
	return n, nil
}

var _ API = (*Node)(nil)

// open opens the stores. node.db is the lock of the directory.
func (n *Node) open() (err error) {
	if err := os.MkdirAll(n.opts.Dir, 0o700); err != nil {
		return err
	}
	path := func(name string) string { return filepath.Join(n.opts.Dir, name) }
	if n.disk, err = openDisk(path("node.db")); err != nil {
		return err
	}
	var self selfRecord
	switch known, err := n.disk.get(bucketSelf, "self", &self); {
	case err != nil:
		return err
	case known && self.Agent != n.agent:
		return fmt.Errorf("the directory belongs to agent %q", self.Agent)
	case !known:
		if err := n.disk.put(n.ctx, bucketSelf, "self", selfRecord{n.agent}); err != nil {
			return err
		}
	}
	if n.transcripts, err = transcript.Open(path("transcripts.db"), nil); err != nil {
		return err
	}
	if n.artifacts, err = store.Open(path("artifacts.db"), nil); err != nil {
		return err
	}
	last, err := n.disk.lastNotice()
	if err != nil {
		return err
	}
	n.notices.came(last)
	if err := n.readContacts(); err != nil {
		return err
	}
	if n.opts.Public != "" {
		n.own, err = n.serve(path("mail.db"))
	}
	return err
}

// resume takes up what is not finished.
func (n *Node) resume() error {
	if n.own != nil {
		if _, err := n.carrier(ownRelay); err != nil {
			return err
		}
	}
	if n.opts.Relay != "" {
		if _, err := n.carrier(n.opts.Relay); err != nil {
			return err
		}
	}
	var ids []wire.SessionID
	var lost []wire.SessionID
	err := each(n.disk, bucketSessions, "", func(_ string, r *record) bool {
		if !r.live() {
			return true
		}
		ids = append(ids, r.Session)
		n.deadlines.set(r.Session, r.Deadline, !r.Deadline.IsZero() && !r.Expired)
		if _, err := n.carrier(r.Relay); err != nil {
			lost = append(lost, r.Session)
		}
		return true
	})
	if err == nil {
		err = n.liveMail(func(r *mailRecord) {
			if _, err := n.carrier(r.Relay); err != nil {
				lost = append(lost, r.Session)
			}
		})
	}
	if err != nil {
		return err
	}
	for _, id := range lost {
		n.log.Warn("a session cannot be carried on: its relay is not to be reached with these options", "session", id)
	}
	n.begin(n.watch)
	n.begin(func(ctx context.Context) {
		for _, id := range ids {
			if slices.Contains(lost, id) || ctx.Err() != nil {
				continue
			}
			if l, err := n.acquire(id); err != nil {
				n.log.Error("a session cannot be read", "session", id, "why", kindOf(err))
			} else {
				n.attend(l)
				n.release(l)
			}
		}
	})
	return nil
}

// begin starts a goroutine that Close waits for, unless the node is closed.
func (n *Node) begin(f func(context.Context)) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return false
	}
	n.work.Go(func() { f(n.ctx) })
	return true
}

// Close stops the node and waits until everything that it had begun has ended. What was
// under way is taken up when the directory is opened again.
func (n *Node) Close() error {
	n.mu.Lock()
	again := n.closed
	n.closed = true
	n.mu.Unlock()
	if again {
		return nil
	}
	n.stop(errStopping)
	var faults []error
	n.work.Wait()
	if n.own != nil {
		faults = append(faults, n.own.close())
	}
	if n.artifacts != nil {
		faults = append(faults, n.artifacts.Close())
	}
	if n.transcripts != nil {
		faults = append(faults, n.transcripts.Close())
	}
	if n.disk != nil {
		faults = append(faults, n.disk.db.Close())
	}
	return errors.Join(faults...)
}

func (n *Node) now() time.Time { return n.opts.Now() }

// Self implements [API].
func (n *Node) Self(context.Context) (Self, error) {
	last, _ := n.notices.hear()
	return Self{
		Agent: n.agent, Key: n.opts.Key.Public().String(), Relay: n.opts.Relay, Public: n.opts.Public,
		Serving: n.own != nil, Links: n.links(), Notices: last, Version: wire.ProtocolVersion,
	}, nil
}
