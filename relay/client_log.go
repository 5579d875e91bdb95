package relay

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/concordia-node/concordia/wire"
)

// Bounds of what a client holds.
const (
	maxHeld   = 4 << 20 // bytes that were pushed and not handed over; what does not fit is read later
	maxHeldN  = 1024    // entries of one session, of them
	maxLogs   = 100_000 // sessions
	maxSent   = 256     // own entries of one session that have not come back
	maxRecent = 64      // entries of one session whose hash is remembered
)

// idSeed makes it impossible to find two ids with one hash.
var idSeed = maphash.MakeSeed()

// A logReader reads the log of one session. What the relay pushes waits in a queue; a
// goroutine that lives as long as there is something to do hands it over, entry by
// entry, and reads what was not pushed.
type logReader struct {
	c       *Client
	session wire.SessionID

	mu       sync.Mutex // guards what follows
	busy     bool       // there is a goroutine
	loaded   bool       // at is what the application says
	at       Position   // the last entry that was handled
	first    uint64     // number that the relay began to push with, on this connection; 0: none
	tail     uint64     // the last that it pushed
	due      uint64     // number up to which to read, without waiting for the relay to push
	cursor   uint64     // the relay's, when it told due
	queue    []shownEntry
	asked    uint64 // number that an ack was sent for
	acked    uint64 // and answered
	recent   []wire.Hash
	ids      map[uint64]struct{} // hashes of the ids of entries that were handled
	sent     map[wire.MessageID]*sentEntry
	promised map[uint64]*sentEntry // own entries by their number
	claim    *Error                // a refusal that says where the chain will end
	broken   *Misconduct
}

// A shownEntry is an entry as the relay sent it.
type shownEntry struct {
	number uint64
	value  wire.Value
	size   int  // bytes held
	lower  bool // it is lower than what the relay began with
	gap    bool // it does not follow on what the relay pushed before
}

// A sentEntry is an own entry that has not come back yet.
type sentEntry struct {
	hash      wire.Hash
	number    uint64 // that the relay said it has, or that it came with; 0: neither yet
	message   *wire.Message
	enclosure *Enclosure
}

func (s *sentEntry) id() wire.MessageID {
	if s.message != nil {
		return s.message.ID
	}
	return s.enclosure.ID
}

func (s *sentEntry) value() wire.Value {
	if s.message != nil {
		return s.message.Value()
	}
	return s.enclosure.Value()
}

var errTooMany = errors.New("the relay tells of more sessions than a client can follow")

// log returns the reader of a session.
func (c *Client) log(session wire.SessionID) (*logReader, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.logs[session]
	if r == nil {
		if len(c.logs) >= maxLogs {
			return nil, errTooMany
		}
		r = &logReader{c: c, session: session}
		c.logs[session] = r
	}
	return r, nil
}

// begin starts a goroutine that Run waits for, if it runs.
func (c *Client) begin(f func(context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx := c.running
	if ctx == nil {
		return false
	}
	c.work.Go(func() { f(ctx) })
	return true
}

// hold accounts for bytes that wait, and reports whether there is room.
func (c *Client) hold(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 && c.held+n > maxHeld {
		return false
	}
	c.held += n
	return true
}

// What makes an acknowledgement urgent: a quarter of what a relay has under way.
const (
	urgentEntries = 64
	urgentSize    = 256 << 10
)

// ackLater asks for the relay's cursor to be moved, after an entry of some bytes.
func (c *Client) ackLater(r *logReader, size int) {
	c.mu.Lock()
	c.unacked[r] = struct{}{}
	c.unackedN++
	c.unackedSize += size
	urgent := c.unackedN >= urgentEntries || c.unackedSize >= urgentSize
	c.mu.Unlock()
	signal(c.toAck)
	if urgent {
		signal(c.ackNow)
	}
}

// signal sets a flag that somebody waits for.
func signal(flag chan struct{}) {
	select {
	case flag <- struct{}{}:
	default:
	}
}

func (c *Client) dueAcks() (list []*logReader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := range c.unacked {
		list = append(list, r)
	}
	clear(c.unacked)
	c.unackedN, c.unackedSize = 0, 0
	return list
}

// reconnected forgets what the relay pushed on another connection.
func (r *logReader) reconnected() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first, r.tail, r.asked = 0, 0, r.acked
	r.start() // what is due, and was given up
}

// pushed takes an entry. It does not block.
func (r *logReader) pushed(n uint64, v wire.Value, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return
	}
	e := shownEntry{number: n, value: v, size: size}
	switch {
	case r.tail == 0:
		r.first = n
	case n < r.first:
		e.lower = true
	case n > r.tail+1:
		e.gap = n-1 > r.asked // what the agent says that it has is skipped rightly
	}
	if len(r.queue) >= maxHeldN || !r.c.hold(size) {
		r.tail, r.due, r.cursor = 0, max(r.due, n), wire.MaxSafeInteger
	} else {
		r.tail = max(r.tail, n)
		r.queue = append(r.queue, e)
	}
	r.start()
}

// owes notes that there are entries that the relay will not push, since its cursor is
// beyond them.
func (r *logReader) owes(info *SessionInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loaded && info.Cursor <= r.at.Number {
		return
	}
	r.due, r.cursor = max(r.due, info.Length), max(r.cursor, info.Cursor)
	r.start()
}

// start makes sure that there is a goroutine, if there is something to do. r is locked.
func (r *logReader) start() {
	if !r.busy && r.broken == nil && (len(r.queue) > 0 || r.due > r.at.Number) {
		r.busy = r.c.begin(r.work)
	}
}

// work hands over until there is nothing to do.
func (r *logReader) work(ctx context.Context) {
	r.load(ctx)
	for {
		e, due, ok := r.next(ctx)
		if !ok {
			return
		}
		err := r.handOver(ctx, e, due)
		if m, ok := errors.AsType[*Misconduct](err); ok {
			r.accuse(m)
		} else if err != nil && ctx.Err() == nil {
			r.c.opts.Logger.Warn("reading a session at the relay", "session", r.session, "why", err)
		}
	}
}

// load asks the application how far it has come, until it says so.
func (r *logReader) load(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := 0; !r.loaded && ctx.Err() == nil; n++ {
		r.mu.Unlock()
		at, err := r.c.opts.Cursors.Position(ctx, r.session)
		if err != nil {
			r.c.opts.Logger.Warn("reading the position in a session", "session", r.session, "why", err)
			_ = r.c.pause(ctx, n, 0, false)
		}
		r.mu.Lock()
		if err == nil {
			at.Tip.Session = r.session
			r.at, r.loaded = at, true
		}
	}
	if r.loaded && r.cursor <= r.at.Number {
		r.due = 0 // the relay will push it
	}
}

// next takes an entry from the queue or, if there is none, returns up to which number
// to read. If there is nothing to do the goroutine has ended.
func (r *logReader) next(ctx context.Context) (e *shownEntry, due uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.broken != nil || ctx.Err() != nil:
		for _, e := range r.queue {
			r.c.hold(-e.size)
		}
		r.queue = nil
	case len(r.queue) > 0:
		e := r.queue[0]
		r.queue = r.queue[1:]
		r.c.hold(-e.size)
		return &e, 0, true
	case r.due > r.at.Number:
		due, r.due = r.due, 0
		return nil, due, true
	}
	r.queue, r.busy = nil, false
	return nil, 0, false
}

// position returns where the application is.
func (r *logReader) position() Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

// handOver hands over an entry, after those that are before it, or all up to a number.
func (r *logReader) handOver(ctx context.Context, e *shownEntry, due uint64) error {
	if e == nil {
		return r.catchUp(ctx, due)
	}
	if e.lower {
		return r.found(Reordered, e, fmt.Errorf("it comes after later ones"))
	}
	if e.number > r.position().Number+1 {
		err := r.catchUp(ctx, e.number-1)
		switch refused, ok := errors.AsType[*Error](err); {
		case ok:
			return r.found(Missing, e, fmt.Errorf("what is before it cannot be had: %w", refused))
		case err != nil:
			r.mu.Lock()
			r.due, r.cursor = max(r.due, e.number), wire.MaxSafeInteger // not lost
			r.mu.Unlock()
			return err
		case e.gap:
			return r.found(Reordered, e, errors.New("it comes before earlier ones"))
		}
	}
	if e.number <= r.position().Number {
		return r.again(e)
	}
	return r.accept(ctx, e)
}

// catchUp reads and hands over the entries up to a number, and those that come with
// them.
func (r *logReader) catchUp(ctx context.Context, upTo uint64) error {
	for {
		at := r.position()
		if at.Number >= upTo {
			return nil
		}
		p, err := r.page(ctx, at.Number+1, 0)
		if err != nil {
			return err
		}
		if len(p.entries) == 0 {
			return r.found(Missing, &shownEntry{number: at.Number + 1, value: p.answer}, fmt.Errorf("there has to be an entry %d", upTo))
		}
		for i := range p.entries {
			if err := r.accept(ctx, &p.entries[i]); err != nil {
				return err
			}
		}
	}
}

// again judges an entry that was handled before: it has to be the same.
func (r *logReader) again(e *shownEntry) error {
	r.mu.Lock()
	had, known := r.hash(e.number)
	r.asked, r.acked = min(r.asked, e.number-1), min(r.acked, e.number-1) // the relay does not know
	r.mu.Unlock()
	r.c.ackLater(r, e.size)
	if hash, ok := e.hash(); known && ok && hash != had {
		return r.found(Forked, e, fmt.Errorf("the entry was another before, with hash %s", had))
	}
	return nil
}

// hash returns the hash of the entry that the relay claims to show.
func (e *shownEntry) hash() (wire.Hash, bool) {
	if v, ok := e.value.Get("entry"); ok {
		return v.Hash(), true
	}
	v, _ := e.value.At("own", "hash")
	h, err := wire.ParseHash(v.Text())
	return h, err == nil
}

// hash returns the hash of an entry that was handled not long ago. r is locked.
func (r *logReader) hash(n uint64) (wire.Hash, bool) {
	if n > r.at.Number || r.at.Number-n >= uint64(len(r.recent)) {
		return wire.Hash{}, false
	}
	h := r.recent[n%maxRecent]
	return h, h != wire.Hash{} // not of what was handled in another life
}

// accept verifies the next entry and hands it over until the application has handled
// it.
func (r *logReader) accept(ctx context.Context, e *shownEntry) error {
	d, hash, err := r.verify(ctx, e)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		err := r.c.opts.Handle(ctx, *d)
		if err == nil {
			break
		}
		r.c.opts.Logger.Warn("handling an entry", "session", r.session, "number", d.Number, "why", err)
		if err := r.c.pause(ctx, n, 0, false); err != nil {
			return err
		}
	}
	for n := 0; ; n++ {
		err := r.c.opts.Cursors.SetPosition(context.WithoutCancel(ctx), r.session, d.Position)
		if err == nil {
			break
		}
		r.c.opts.Logger.Warn("keeping the position in a session", "session", r.session, "why", err)
		if err := r.c.pause(ctx, n, 0, false); err != nil {
			return err
		}
	}
	r.advance(d, hash, len(e.value.Canonical()))
	return nil
}

// advance notes that an entry was handled.
func (r *logReader) advance(d *Delivery, hash wire.Hash, size int) {
	r.mu.Lock()
	r.remember(d, hash)
	if own := r.sent[d.ID()]; own != nil {
		own.number = d.Number // the answer may be still to come
	}
	delete(r.sent, d.ID())
	delete(r.promised, d.Number)
	var m *Misconduct
	if claim := r.claim; claim != nil && r.at.Number >= claim.Length {
		r.claim = nil
		m = r.checkClaim(claim)
	}
	r.mu.Unlock()
	r.c.ackLater(r, size)
	if m != nil {
		r.accuse(m)
	}
}

// remember moves the position. r is locked.
func (r *logReader) remember(d *Delivery, hash wire.Hash) {
	r.at = d.Position
	if r.recent == nil {
		r.recent, r.ids = make([]wire.Hash, maxRecent), map[uint64]struct{}{}
	}
	r.recent[d.Number%maxRecent] = hash
	r.ids[maphash.String(idSeed, string(d.ID()))] = struct{}{}
}

// acknowledge moves the relay's cursor.
func (r *logReader) acknowledge(ctx context.Context, l *link) error {
	r.mu.Lock()
	n := r.at.Number
	if n <= r.acked || r.broken != nil {
		r.mu.Unlock()
		return nil
	}
	r.asked = max(r.asked, n)
	r.mu.Unlock()
	_, err := l.call(ctx, "ack", wire.M{"session_id": r.session, "number": n})
	refused, ok := errors.AsType[*Error](err)
	switch {
	case err != nil && (!ok || isPassing(err)):
		return err
	case ok && refused.Code == CodeBadRequest:
		return r.blame(r.found(CursorLie, &shownEntry{number: n}, fmt.Errorf("the relay does not take that the entry was handled: %w", err)))
	case ok:
		r.c.opts.Logger.Info("acknowledging at the relay", "session", r.session, "why", err)
	}
	r.mu.Lock()
	r.acked = max(r.acked, n)
	r.mu.Unlock()
	return nil
}

// found makes a Misconduct of an entry.
func (r *logReader) found(kind MisconductKind, e *shownEntry, err error) error {
	return &Misconduct{Kind: kind, Session: r.session, Number: e.number, Shown: e.value, After: r.position(), Err: err}
}

// accuse stops handing over the session and says why, once.
func (r *logReader) accuse(m *Misconduct) {
	r.mu.Lock()
	first := r.broken == nil
	if first {
		r.broken = m
	}
	r.mu.Unlock()
	if first {
		r.c.accuse(m)
	}
}

// accuse tells the application what the relay did wrong.
func (c *Client) accuse(m *Misconduct) {
	c.opts.Logger.Error("the relay misbehaves", "session", m.Session, "number", m.Number, "kind", m.Kind)
	if c.opts.Accused == nil {
		return
	}
	if !c.begin(func(ctx context.Context) { c.opts.Accused(ctx, m) }) {
		c.opts.Accused(context.Background(), m)
	}
}
