package session

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"sync/atomic"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A Transcript is a session with its log: what a replay has made of messages, and
// what an append extends. Unlike a Session it is changed in place.
type Transcript struct {
	session Session
	chain   *wire.Chain
	digest  hash.Hash // of the canonical texts, concatenated
}

// NewTranscript returns the empty transcript of a session.
func NewTranscript(id wire.SessionID, opts *Options) *Transcript {
	return &Transcript{session: New(id, opts), chain: wire.NewChain(id, 0), digest: sha256.New()}
}

// Session returns the state after the messages so far.
func (t *Transcript) Session() Session { return t.session }

// Tip returns the hash of the last message, for the prev_hash of the next.
func (t *Transcript) Tip() wire.Hash { return t.chain.Tip() }

// Hash returns the SHA-256 of the canonical texts of all messages, concatenated
// without separators: the transcript_hash of a receipt (SPEC §9.6.3).
func (t *Transcript) Hash() wire.Hash { return wire.Hash(t.digest.Sum(nil)) }

// Replay adds a message of a log that already exists: everything but its arrival
// time is judged (SPEC §9.3).
func (t *Transcript) Replay(m *wire.Message, now time.Time) error {
	if err := t.chain.Check(m, now); err != nil {
		return err
	}
	return t.add(m)
}

// Admit adds a message that arrives now at whoever sequences the session. To append
// it to a log first, see Try.
func (t *Transcript) Admit(m *wire.Message, now time.Time) error {
	if err := t.Try(m, now); err != nil {
		return err
	}
	return t.add(m)
}

// Try reports whether Admit would accept the message, and changes nothing.
func (t *Transcript) Try(m *wire.Message, now time.Time) error {
	if err := t.chain.Admit(m, now); err != nil {
		return err
	}
	_, err := t.session.Apply(m)
	return err
}

// TryReplay reports whether Replay would accept the message, and changes nothing.
func (t *Transcript) TryReplay(m *wire.Message, now time.Time) error {
	if err := t.chain.Check(m, now); err != nil {
		return err
	}
	_, err := t.session.Apply(m)
	return err
}

func (t *Transcript) add(m *wire.Message) error {
	next, err := t.session.Apply(m)
	if err != nil {
		return err
	}
	t.session = next
	t.chain.Append(m)
	t.digest.Write([]byte(m.Value().Canonical()))
	return nil
}

// A MessageError says which message of a transcript was refused.
type MessageError struct {
	Index int // from 0
	Err   error
}

func (e *MessageError) Error() string { return fmt.Sprintf("message %d: %v", e.Index, e.Err) }

// Unwrap returns the reason.
func (e *MessageError) Unwrap() error { return e.Err }

// A Parallel runs do(0) to do(n-1), in any order and on as many goroutines as it
// likes, and returns when all are done.
type Parallel func(n int, do func(i int))

// Serial is the Parallel that starts no goroutine.
func Serial(n int, do func(i int)) {
	for i := range n {
		do(i)
	}
}

// Verify replays a whole transcript: every signature under keys, the chain, and
// every move. Signatures are verified through parallel, nil meaning Serial. The
// error is a *MessageError for the first message that is refused; the transcript
// returned covers those before it. (SPEC §5.2, §9.2, §9.3)
func Verify(id wire.SessionID, messages []wire.Value, keys wire.Keys, now time.Time, opts *Options, parallel Parallel) (*Transcript, error) {
	if parallel == nil {
		parallel = Serial
	}
	verified := make([]*wire.Message, len(messages))
	faults := make([]error, len(messages))
	var end atomic.Int64 // nothing counts from the first fault on
	end.Store(int64(len(messages)))
	parallel(len(messages), func(i int) {
		if int64(i) > end.Load() {
			return
		}
		defer func() {
			for old := end.Load(); faults[i] != nil && int64(i) < old && !end.CompareAndSwap(old, int64(i)); old = end.Load() {
			}
		}()
		var u *wire.UnverifiedMessage
		if u, faults[i] = wire.ReadMessage(messages[i]); faults[i] == nil {
			verified[i], faults[i] = u.Verify(keys)
		}
	})
	t := NewTranscript(id, opts)
	for i, m := range verified[:min(len(verified), int(end.Load())+1)] {
		err := faults[i]
		if err == nil {
			err = t.Replay(m, now)
		}
		if err != nil {
			return t, &MessageError{i, err}
		}
	}
	return t, nil
}
