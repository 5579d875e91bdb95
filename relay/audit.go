package relay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// Audited is what an audit, or a count, has found in a relay's mail.
type Audited struct {
	Agents    int    `json:"agents"`
	Sessions  int    `json:"sessions"`
	Live      int    `json:"live_sessions"` // that nobody has ended
	Entries   uint64 `json:"entries"`
	Bytes     uint64 `json:"bytes"`       // of entries
	Unread    uint64 `json:"undelivered"` // entries that a recipient has not acknowledged, once for each
	Waiting   int    `json:"invitations"` // unanswered
	Decisions int    `json:"consents"`
}

// A Problem is something in a relay's mail that a relay does not write.
type Problem struct {
	Where string // the session, entry, agent or counter
	Err   error
}

// Count counts what is in a relay's mail, as its records say.
func Count(ctx context.Context, d Driver) (Audited, error) {
	var n Audited
	err := d.View(ctx, func(r Reader) error {
		a := newAudit(r, func(Problem) {})
		a.records()
		n = a.n
		return ctx.Err()
	})
	if err != nil {
		return n, fmt.Errorf("counting mail: %w", err)
	}
	return n, nil
}

// Audit looks at all of a relay's mail, which nobody changes meanwhile: each record can be
// read and fits the others; the entries of each log are without a gap, signed by who sent
// them, each with an id of its own, its messages a chain; and each counter is what
// counting anew comes to. It tells each problem, and what it did after each session; it
// fails if the driver does. The driver may be open for reading only.
func Audit(ctx context.Context, d Driver, tell func(Problem), done func(Audited)) (Audited, error) {
	var n Audited
	err := d.View(ctx, func(r Reader) error {
		a := newAudit(r, tell)
		a.records()
		n = a.n
		a.n.Entries, a.n.Bytes = 0, 0
		for _, session := range slices.Sorted(maps.Keys(a.sessions)) {
			if err := ctx.Err(); err != nil {
				return err
			}
			a.session(a.sessions[session])
			done(a.n)
		}
		a.counters()
		return nil
	})
	if err != nil {
		return n, fmt.Errorf("auditing mail: %w", err)
	}
	return n, nil
}

// BUG(relay): An audit does not find a log that belongs to no session: a [Reader] cannot
// list logs. Nobody can read such a log; compaction keeps it.

// An audit is one look at all records.
type audit struct {
	r        Reader
	tell     func(Problem)
	n        Audited
	keys     map[wire.AgentID]wire.PublicKey
	tokens   map[string]wire.AgentID // by hash, as the agents have them
	sessions map[wire.SessionID]*auditedSession
	counted  map[string]uint64 // the counters, as they have to be
	kept     map[string]uint64 // and as they are
}

type auditedSession struct {
	s       *sessionRecord
	h       head
	members map[wire.AgentID]member
	ids     int
	shown   map[wire.AgentID]bool // invitations
	due     bool
}

func newAudit(r Reader, tell func(Problem)) *audit {
	return &audit{
		r: r, tell: tell, keys: map[wire.AgentID]wire.PublicKey{}, tokens: map[string]wire.AgentID{},
		sessions: map[wire.SessionID]*auditedSession{}, counted: map[string]uint64{}, kept: map[string]uint64{},
	}
}

// wrong tells a problem.
func (a *audit) wrong(where, format string, args ...any) {
	a.tell(Problem{where, fmt.Errorf(format, args...)})
}

// records reads every record. Sessions come first: others are of them.
func (a *audit) records() {
	for k, b := range a.r.Scan(keySession, "") {
		id := wire.SessionID(k[1:])
		s, err := decodeSession(b)
		if err == nil && s.Session != id {
			err = errDamaged
		}
		if err != nil {
			a.wrong(about("session", string(id)), "its record: %w", err)
			continue
		}
		a.sessions[id] = &auditedSession{s: s, members: map[wire.AgentID]member{}, shown: map[wire.AgentID]bool{}}
		a.n.Sessions++
	}
	for k, b := range a.r.Scan("", "") {
		if !isServiceKey(k) {
			a.record(k, b)
		}
	}
	for id, s := range a.sessions {
		a.standing(id, s)
	}
}

// record reads a record by its kind.
func (a *audit) record(k string, b []byte) {
	parts := strings.Split(k[1:], "\x00")
	two := len(parts) == 2
	switch kind := k[:1]; {
	case kind == keyRelay:
		var relay relayRecord
		if _, err := getJSON(a.r, k, &relay); err != nil || relay.ID == "" || len(relay.Secret) != 32 {
			a.wrong("the relay's own record", "%w", errDamaged)
		}
	case kind == keyAgent:
		a.agent(wire.AgentID(parts[0]), k)
	case kind == keyToken:
		if agent := wire.AgentID(b); a.tokens[k[1:]] != agent { // agents come before tokens
			a.wrong(about("a token of agent", string(agent)), "the agent does not have it")
		}
	case kind == keyConsent && two:
		if c := Consent(b); c != Allowed && c != Denied {
			a.wrong(about("a consent of agent", parts[0]), "%w", errDamaged)
		}
		a.n.Decisions++
		a.counted[key(keyConsent, parts[0])]++
	case kind == keySession: // read already
	case kind == keyHead:
		a.of(parts[0], "what is appended to", func(s *auditedSession) (err error) {
			s.h, err = decodeHead(b)
			s.h.tip.Session = s.s.Session
			a.n.Entries, a.n.Bytes = a.n.Entries+s.h.entries, a.n.Bytes+s.h.bytes
			return err
		})
	case kind == keyMember && two:
		a.of(parts[1], "the cursor of "+quoted(parts[0])+" in", func(s *auditedSession) error {
			me, err := decodeMember(b)
			s.members[wire.AgentID(parts[0])] = me
			return err
		})
	case kind == keyInvitation && two:
		a.n.Waiting++
		a.counted[key(keyInvited, parts[0])]++
		a.of(parts[1], "the invitation of "+quoted(parts[0])+" to", func(s *auditedSession) error {
			i := s.s.party(wire.AgentID(parts[0]))
			if string(b) != string(s.s.initiator()) || i < 0 || s.s.Parties[i].Standing != Invited || !s.s.Ended.IsZero() {
				return errors.New("nobody waits for an answer")
			}
			return nil
		})
	case kind == keyID && two:
		a.of(parts[0], "an id in", func(s *auditedSession) error { s.ids++; return nil })
	case kind == keyDue && len(k) > 1+8+1:
		session := dueSession(k)
		a.of(string(session), "when to look at", func(s *auditedSession) error {
			if k != key(keyDue, moment(s.s.Due), string(session)) {
				return errors.New("it stands there with another time")
			}
			s.due = true
			return nil
		})
	case kind == keyNonce && len(k) > 1+8+1 && len(b) == 0:
	case strings.Contains(keyConsent+keyMailbox+keyInvited+keyLive+keyBytes+keyAgentCount, kind):
		if len(b) != 8 || number(b) == 0 {
			a.wrong(counterName(k), "%w", errDamaged)
		}
		a.kept[k] = number(b)
	default:
		a.wrong("record "+quoted(k), "it is of no kind that a relay keeps")
	}
}

// agent reads the record of an agent.
func (a *audit) agent(id wire.AgentID, k string) {
	var agent agentRecord
	_, err := getJSON(a.r, k, &agent)
	var public wire.PublicKey
	if err == nil {
		public, err = wire.DecodePublicKey(agent.Key)
	}
	if err != nil {
		a.wrong(about("agent", string(id)), "its record: %w", errDamaged)
		return
	}
	a.n.Agents++
	a.counted[keyAgentCount]++
	a.keys[id] = public
	for _, t := range agent.Tokens {
		a.tokens[string(t.Hash)] = id
		if string(a.r.Get(key(keyToken, string(t.Hash)))) != string(id) {
			a.wrong(about("agent", string(id)), "a token of its record is not there")
		}
	}
}

// of reads a record of a session.
func (a *audit) of(session, what string, read func(*auditedSession) error) {
	s := a.sessions[wire.SessionID(session)]
	err := errors.New("there is no such session")
	if s != nil {
		err = read(s)
	}
	if err != nil {
		a.wrong(what+" "+about("session", session), "%w", err)
	}
}

// standing counts what one session adds to the counters.
func (a *audit) standing(id wire.SessionID, s *auditedSession) {
	from := s.s.initiator()
	if s.s.Ended.IsZero() {
		a.n.Live++
		a.counted[keyLive]++
		a.counted[key(keyLive, string(from))]++
	}
	a.counted[key(keyBytes, string(from))] += s.h.bytes + uint64(s.s.Named+s.s.Places)*partyCost
	if !s.due {
		a.wrong(about("session", string(id)), "the sweeper will not look at it")
	}
	for _, p := range s.s.Parties {
		me, joined := s.members[p.Agent]
		switch {
		case joined != (p.Standing == Joined):
			a.wrong(about("session", string(id)), "party %s is %s, and has a cursor: %v", quoted(string(p.Agent)), p.Standing, joined)
		case p.Standing == Invited && s.s.Ended.IsZero():
			a.counted[key(keyInvited, string(p.Agent), string(from))]++
		case joined:
			for i, sender := range s.s.Parties {
				if n := s.h.sent.of(i) - me.seen.of(i); sender.Agent != p.Agent && n > 0 && n <= s.h.entries {
					a.n.Unread += n
					a.counted[key(keyMailbox, string(p.Agent))] += n
					a.counted[key(keyMailbox, string(p.Agent), string(sender.Agent))] += n
				}
			}
		}
	}
	for agent := range s.members {
		if s.s.party(agent) < 0 {
			a.wrong(about("session", string(id)), "agent %s has a cursor and is no party", quoted(string(agent)))
		}
	}
}

// session walks the log of a session.
func (a *audit) session(s *auditedSession) {
	where := about("session", string(s.s.Session))
	var h head
	h.tip.Session = s.s.Session
	tallies := map[uint64][]wire.AgentID{} // whose tally is that of so many entries
	for agent, me := range s.members {
		at := max(me.cursor, me.since)
		if at > s.h.entries {
			a.wrong(where, "agent %s has acknowledged %d entries of %d", quoted(string(agent)), at, s.h.entries)
		}
		tallies[at] = append(tallies[at], agent)
	}
	compare := func() {
		for _, agent := range tallies[h.entries] {
			if seen := s.members[agent].seen; !sameTally(seen, h.sent) {
				a.wrong(where, "of the entries up to %d agent %s has %v of each party, and there are %v", h.entries, quoted(string(agent)), seen, h.sent)
			}
		}
	}
	compare()
	for n, e := range a.r.Entries(string(s.s.Session), 1) {
		if n != h.entries+1 {
			a.wrong(where, "entry %d comes behind entry %d", n, h.entries)
		}
		h.entries = n
		if err := a.entry(s, &h, n, e); err != nil {
			a.wrong(where, "entry %d: %w", n, err)
		}
		compare()
		a.n.Entries++
	}
	switch {
	case h.entries != s.h.entries || h.bytes != s.h.bytes || !sameTally(h.sent, s.h.sent):
		a.wrong(where, "its log has %d entries of %d bytes, %v of each party; its record says %d of %d, %v", h.entries, h.bytes, h.sent, s.h.entries, s.h.bytes, s.h.sent)
	case h.tip.Hash != s.h.tip.Hash || h.tip.Len != s.h.tip.Len || !h.tip.Clock.Equal(s.h.tip.Clock):
		a.wrong(where, "its chain of %d messages ends in %s; its record says %d, and %s", h.tip.Len, h.tip.Hash, s.h.tip.Len, s.h.tip.Hash)
	case uint64(s.ids) != h.entries:
		a.wrong(where, "it has %d ids for %d entries", s.ids, h.entries)
	}
	a.n.Bytes += h.bytes
}

// entry reads entry n of a log, and counts it.
func (a *audit) entry(s *auditedSession, h *head, n uint64, e []byte) error {
	sender, err := s.s.sender(e)
	if err != nil {
		return err
	}
	text := e[entryHeader:]
	h.bytes += uint64(len(text))
	h.sent.add(sender, 1)
	v, err := wire.Parse(text, wire.DocumentLimits)
	if err != nil {
		return err
	}
	from := s.s.Parties[sender].Agent
	public, known := a.keys[from]
	if !known {
		return fmt.Errorf("agent %s, who sent it, is not registered", quoted(string(from)))
	}
	who := Agent{from, public}
	at := time.Unix(0, int64(binary.BigEndian.Uint64(e[2:])))
	id, session := wire.MessageID(""), wire.SessionID("")
	switch EntryKind(e[0]) {
	case KindMessage:
		u, err := wire.ReadMessage(v)
		if err != nil {
			return err
		}
		m, err := u.Verify(who)
		if err != nil {
			return err
		}
		if err := h.tip.Check(m, at); err != nil {
			return err
		}
		h.tip.Append(m)
		id, session = m.ID, m.Session
	case KindEnclosure:
		enclosed, err := VerifyEnclosure(v, who)
		if err != nil {
			return err
		}
		id, session = enclosed.ID, enclosed.Session
	default:
		return errDamaged
	}
	switch {
	case session != s.s.Session:
		return fmt.Errorf("it is of session %s", quoted(string(session)))
	case string(entryID(e, text)) != wire.Text(string(id)).Canonical():
		return errDamaged
	case number(a.r.Get(key(keyID, string(session), string(id)))) != n:
		return errors.New("its id is not that of this entry")
	}
	return nil
}

// sameTally reports whether two tallies say the same: zeros at the end say nothing.
func sameTally(a, b tally) bool {
	for i := range max(len(a), len(b)) {
		if a.of(i) != b.of(i) {
			return false
		}
	}
	return true
}

// counters compares the counters with what was counted.
func (a *audit) counters() {
	all := maps.Clone(a.counted)
	maps.Copy(all, a.kept)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if is, want := a.kept[k], a.counted[k]; is != want {
			a.wrong(counterName(k), "it is %d, and counting comes to %d", is, want)
		}
	}
}

var counterNames = map[string]string{
	keyConsent: "decisions", keyMailbox: "unread entries", keyInvited: "unanswered invitations", keyLive: "live sessions", keyBytes: "bytes", keyAgentCount: "agents",
}

// counterName says what a counter counts.
func counterName(k string) string {
	name := "the counter of " + counterNames[k[:1]]
	if len(k) == 1 {
		return name
	}
	agent, sender, two := strings.Cut(k[1:], "\x00")
	if name += " of agent " + quoted(agent); two {
		name += " by " + quoted(sender)
	}
	return name
}

func about(what, id string) string { return what + " " + quoted(id) }

func quoted(s string) string { return fmt.Sprintf("%q", clip(s)) }
