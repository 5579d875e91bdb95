package main

import (
	"container/list"
	"context"
	"fmt"
	"sync"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// maxReplays bounds how many sessions a relay that checks them remembers, each as of one
// message. Of others it reads the log again.
const maxReplays = 4096

// replays judge messages by the rules of their session (SPEC §5).
type replays struct {
	mu    sync.Mutex // guards what follows
	known map[replayed]*list.Element
	used  list.List // of *replay, the one that was used last first
}

// A replayed is a session as of its last message.
type replayed struct {
	session wire.SessionID
	tip     wire.Hash
}

type replay struct {
	at    replayed
	state session.Session
}

func newReplays() *replays { return &replays{known: map[replayed]*list.Element{}} }

// admit is for [relay.Options]: it refuses what breaks a rule of the session. A session
// that broke one before it was checked takes nothing more.
func (r *replays) admit(_ context.Context, before *relay.Before, m *wire.Message) error {
	at := replayed{before.Session, before.Tip.Hash}
	state, ok := r.get(at)
	if !ok {
		var err error
		if state, err = replayLog(before); err != nil {
			return err
		}
		r.put(at, state)
	}
	next, err := state.Apply(m)
	if err != nil {
		return err
	}
	r.put(replayed{before.Session, m.Hash()}, next) // it may still lose the race for its place
	return nil
}

func (r *replays) get(at replayed) (session.Session, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.known[at]
	if e == nil {
		return session.Session{}, false
	}
	r.used.MoveToFront(e)
	return e.Value.(*replay).state, true
}

func (r *replays) put(at replayed, state session.Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.known[at]; e != nil {
		r.used.MoveToFront(e)
		return
	}
	r.known[at] = r.used.PushFront(&replay{at, state})
	for r.used.Len() > maxReplays {
		oldest := r.used.Back()
		delete(r.known, oldest.Value.(*replay).at)
		r.used.Remove(oldest)
	}
}

// replayLog makes the state of a session of the messages in its log.
func replayLog(before *relay.Before) (session.Session, error) {
	s := session.New(before.Session, nil)
	for v, err := range before.Messages() {
		if err != nil || s.Tip() == before.Tip.Hash {
			return s, err // what came since is not before
		}
		u, err := wire.ReadMessage(v)
		if err != nil {
			return s, fmt.Errorf("replaying a session: %w", err)
		}
		m, err := u.Verify(before)
		if err != nil {
			return s, fmt.Errorf("replaying a session: %w", err)
		}
		if s, err = s.Apply(m); err != nil {
			return s, err
		}
	}
	return s, nil
}
