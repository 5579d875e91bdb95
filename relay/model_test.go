package relay_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// A model is what RFC 0001 says a relay keeps, as plainly as it can be said. It counts
// everything anew whenever it needs a number.
type model struct {
	limits   relay.Limits
	now      time.Time
	sessions map[wire.SessionID]*modelSession
	consents map[[2]wire.AgentID]relay.Consent
}

type modelSession struct {
	id       wire.SessionID
	want     relay.Reservation
	parties  []relay.Party
	created  time.Time
	last     time.Time
	ended    time.Time
	why      relay.End
	log      []modelEntry
	tip      wire.Hash
	cursors  map[wire.AgentID]uint64
	since    map[wire.AgentID]uint64
	hidden   map[wire.AgentID]bool // invitations that no longer count for the mailbox
	messages int
}

type modelEntry struct {
	id   string
	from wire.AgentID
	hash wire.Hash
	size int
}

func (s *modelSession) standing(a wire.AgentID) relay.Standing {
	for _, p := range s.parties {
		if p.Agent == a {
			return p.Standing
		}
	}
	return ""
}

func (s *modelSession) free() int {
	return s.want.Places - (len(s.parties) - 1 - len(s.want.To))
}

func (m *model) over(s *modelSession) (relay.End, time.Time) {
	expires, idle := s.created.Add(s.want.Life), s.last.Add(time.Duration(m.limits.Idle))
	switch {
	case !s.ended.IsZero():
		return s.why, s.ended
	case !expires.After(idle) && !m.now.Before(expires):
		return relay.EndExpired, expires
	case idle.Before(expires) && !m.now.Before(idle):
		return relay.EndIdle, idle
	}
	return "", time.Time{}
}

func (m *model) end(s *modelSession, why relay.End, at time.Time) {
	s.why, s.ended = why, at
}

func (m *model) sweep() (n int) {
	for id, s := range m.sessions {
		why, at := m.over(s)
		switch {
		case why == "":
		case s.ended.IsZero():
			m.end(s, why, at)
			n++
		case !m.now.Before(at.Add(time.Duration(m.limits.Retention))):
			delete(m.sessions, id)
			n++
		}
	}
	return n
}

// count is the sum over all sessions.
func (m *model) count(of func(*modelSession) int) uint64 {
	n := 0
	for _, s := range m.sessions {
		n += of(s)
	}
	return uint64(n)
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

func (m *model) live(initiator wire.AgentID) uint64 {
	return m.count(func(s *modelSession) int {
		return one(s.ended.IsZero() && (initiator == "" || s.parties[0].Agent == initiator))
	})
}

func (m *model) bytes(initiator wire.AgentID) uint64 {
	return m.count(func(s *modelSession) int {
		if s.parties[0].Agent != initiator {
			return 0
		}
		n := 1024 * (1 + len(s.want.To) + s.want.Places)
		for _, e := range s.log {
			n += e.size
		}
		return n
	})
}

func (m *model) undelivered(agent, sender wire.AgentID) uint64 {
	return m.count(func(s *modelSession) int {
		n := 0
		if s.standing(agent) == relay.Joined {
			for _, e := range s.log[max(s.cursors[agent], s.since[agent]):] {
				n += one(e.from != agent && (sender == "" || e.from == sender))
			}
		}
		return n
	})
}

func (m *model) invited(agent, sender wire.AgentID) uint64 {
	return m.count(func(s *modelSession) int {
		waits := s.ended.IsZero() && s.standing(agent) == relay.Invited
		if sender == "" {
			return one(waits && !s.hidden[agent])
		}
		return one(waits && s.parties[0].Agent == sender)
	})
}

// counters are the records that the relay should have.
func (m *model) counters(agents []wire.AgentID) map[string]uint64 {
	all := map[string]uint64{}
	set := func(key string, n uint64) {
		if n > 0 {
			all[key] = n
		}
	}
	set("l", m.live(""))
	for _, a := range agents {
		set("l"+string(a), m.live(a))
		set("b"+string(a), m.bytes(a))
		set("u"+string(a), m.undelivered(a, ""))
		set("w"+string(a), m.invited(a, ""))
		for _, b := range agents {
			if a != b {
				set("u"+string(a)+"\x00"+string(b), m.undelivered(a, b))
				set("w"+string(a)+"\x00"+string(b), m.invited(a, b))
			}
		}
	}
	return all
}

func (m *model) create(a wire.AgentID, want relay.Reservation) string {
	if slices.Contains(want.To, a) {
		return "bad_request"
	}
	if s := m.sessions[want.Session]; s != nil {
		if s.parties[0].Agent == a && fmt.Sprint(s.want) == fmt.Sprint(want) {
			return ""
		}
		return "session_taken"
	}
	refusal := m.tryCreate(a, want)
	if refusal != "" && m.sweep() > 0 {
		refusal = m.tryCreate(a, want)
	}
	return refusal
}

func (m *model) tryCreate(a wire.AgentID, want relay.Reservation) string {
	l := &m.limits
	switch {
	case m.live("") >= uint64(l.Live):
		return "quota live_sessions"
	case m.live(a) >= uint64(l.LivePerInitiator):
		return "quota live_sessions_per_initiator"
	case m.bytes(a)+1024*uint64(1+len(want.To)+want.Places) > uint64(l.InitiatorSize):
		return "quota bytes_per_initiator"
	}
	for _, to := range want.To {
		allowed, all := m.consents[[2]wire.AgentID{to, a}] == relay.Allowed, uint64(l.Invitations)
		if allowed {
			all *= 2
		}
		switch {
		case !allowed && m.invited(to, a) >= uint64(l.InvitationsSender):
			return "quota invitations_per_sender"
		case m.invited(to, "") >= all:
			return "quota invitations_per_agent"
		}
	}
	s := &modelSession{id: want.Session, want: want, created: m.now, last: m.now, parties: []relay.Party{{Agent: a, Standing: relay.Joined}},
		cursors: map[wire.AgentID]uint64{}, since: map[wire.AgentID]uint64{}, hidden: map[wire.AgentID]bool{}}
	for _, to := range want.To {
		s.parties = append(s.parties, relay.Party{Agent: to, Standing: relay.Invited})
	}
	m.sessions[want.Session] = s
	return ""
}

func (m *model) join(a wire.AgentID, session wire.SessionID) string {
	s := m.sessions[session]
	if s == nil {
		return "not_found"
	}
	why, _ := m.over(s)
	switch standing := s.standing(a); {
	case standing == relay.Joined:
		return ""
	case standing == relay.Declined:
		return "declined"
	case standing == "" && (why != "" || s.free() == 0):
		return "not_found"
	case why != "":
		return "session_ended"
	case standing == "":
		s.parties = append(s.parties, relay.Party{Agent: a, Standing: relay.Joined})
	default:
		s.parties[slices.IndexFunc(s.parties, func(p relay.Party) bool { return p.Agent == a })].Standing = relay.Joined
	}
	s.since[a] = uint64(len(s.log))
	if pair := [2]wire.AgentID{a, s.parties[0].Agent}; m.consents[pair] == relay.Unknown {
		m.consents[pair] = relay.Allowed
	}
	return ""
}

func (m *model) decline(a wire.AgentID, session wire.SessionID) string {
	s := m.sessions[session]
	if s == nil {
		return "not_found"
	}
	why, _ := m.over(s)
	switch standing := s.standing(a); {
	case standing == "":
		return "not_found"
	case standing == relay.Declined:
		return ""
	case standing == relay.Joined:
		return "bad_request"
	case why != "":
		return "session_ended"
	}
	some := s.free() > 0
	for i := range s.parties {
		if s.parties[i].Agent == a {
			s.parties[i].Standing = relay.Declined
		}
		some = some || i > 0 && s.parties[i].Standing != relay.Declined
	}
	if !some {
		m.end(s, relay.EndDeclined, m.now)
	}
	return ""
}

func (m *model) close(a wire.AgentID, session wire.SessionID) string {
	s := m.sessions[session]
	if s == nil || s.standing(a) != relay.Joined {
		return "not_found"
	}
	if why, _ := m.over(s); why == "" {
		m.end(s, relay.EndClosed, m.now)
	}
	return ""
}

func (m *model) consent(a, about wire.AgentID, c relay.Consent) {
	was := m.consents[[2]wire.AgentID{a, about}]
	m.consents[[2]wire.AgentID{a, about}] = c
	if c == relay.Allowed || c == relay.Unknown && was == relay.Unknown {
		return
	}
	n := int64(0)
	for _, id := range slices.Sorted(maps.Keys(m.sessions)) {
		s := m.sessions[id]
		if s.parties[0].Agent == about && s.ended.IsZero() && s.standing(a) == relay.Invited && !s.hidden[a] {
			if n++; n > m.limits.InvitationsSender {
				s.hidden[a] = true
			}
		}
	}
}

// append adds an entry; prev is that of a message and nil for an enclosure.
func (m *model) append(e modelEntry, session wire.SessionID, prev *wire.Hash) (string, uint64) {
	s := m.sessions[session]
	if s == nil || s.standing(e.from) != relay.Joined {
		return "not_found", 0
	}
	for i, old := range s.log {
		switch {
		case old.id != e.id:
		case old.hash == e.hash:
			return "", uint64(i + 1)
		default:
			return "id_conflict", 0
		}
	}
	if why, _ := m.over(s); why != "" {
		return "session_ended", 0
	}
	l, others, size := &m.limits, 0, 0
	for _, old := range s.log {
		size += old.size
	}
	for _, p := range s.parties {
		others += one(p.Standing == relay.Joined && p.Agent != e.from)
	}
	switch {
	case others == 0:
		return "not_active", 0
	case prev != nil && *prev != s.tip:
		return "chain_conflict", 0
	}
	for _, p := range s.parties {
		switch {
		case p.Standing != relay.Joined || p.Agent == e.from:
		case m.undelivered(p.Agent, e.from) >= uint64(l.UndeliveredSender):
			return "quota undelivered_per_sender", 0
		case m.undelivered(p.Agent, "") >= uint64(l.Undelivered):
			return "quota undelivered_per_mailbox", 0
		}
	}
	switch {
	case len(s.log) >= int(l.Entries):
		return "quota entries_per_session", 0
	case size+e.size > int(l.SessionSize):
		return "quota bytes_per_session", 0
	case m.bytes(s.parties[0].Agent)+uint64(e.size) > uint64(l.InitiatorSize):
		return "quota bytes_per_initiator", 0
	}
	s.log = append(s.log, e)
	s.last = m.now
	if prev != nil {
		s.tip = e.hash
		s.messages++
	}
	return "", uint64(len(s.log))
}

func (m *model) ack(a wire.AgentID, session wire.SessionID, n uint64) string {
	s := m.sessions[session]
	switch {
	case s == nil || s.standing(a) != relay.Joined:
		return "not_found"
	case n > uint64(len(s.log)):
		return "bad_request"
	}
	s.cursors[a] = max(s.cursors[a], n)
	return ""
}

// refusal is an error as the model says it.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*relay.Error](err); ok && e.Limit != "" {
		return string(e.Code) + " " + e.Limit
	}
	return string(relay.CodeOf(err))
}

// Random operations do what the model does, and the relay's counters are what counting
// anew gives.
func TestModel(t *testing.T) {
	t.Run("as always", func(t *testing.T) {
		seen := runModel(t, 1)
		t.Logf("what happened: %v", seen)
		for _, c := range []string{"not_found", "session_ended", "declined", "not_active", "chain_conflict", "id_conflict", "bad_request", "session_taken",
			"quota undelivered_per_sender", "quota undelivered_per_mailbox", "quota invitations_per_sender", "quota invitations_per_agent",
			"quota live_sessions_per_initiator", "quota bytes_per_initiator"} {
			if seen[c] == 0 {
				t.Errorf("%s never happened", c)
			}
		}
	})
	t.Run("as never before", func(t *testing.T) {
		if testing.Short() {
			t.Skip("one thing happens after the other")
		}
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		runModel(t, seed)
	})
}

func runModel(t *testing.T, seed uint64) map[string]int {
	limits := relay.DefaultLimits()
	limits.LivePerInitiator, limits.Live, limits.Invitations, limits.InvitationsSender = 3, 14, 4, 2
	limits.Undelivered, limits.UndeliveredSender, limits.Entries, limits.SessionSize = 8, 5, 25, 3500
	limits.InitiatorSize, limits.Parties, limits.Consents = 16_000, 5, 100
	limits.Idle, limits.SessionLife, limits.MaxSessionLife, limits.Retention =
		relay.Span(30*time.Minute), relay.Span(time.Hour), relay.Span(time.Hour), relay.Span(20*time.Minute)
	w := newWorld(t, limits)
	m := &model{limits: limits, now: epoch, sessions: map[wire.SessionID]*modelSession{}, consents: map[[2]wire.AgentID]relay.Consent{}}
	random := rand.New(rand.NewPCG(seed, 0))
	agents := []wire.AgentID{"alice", "bob", "carol", "dave", "eve", "frank"}
	for _, a := range agents {
		w.agent(string(a))
	}
	sent := map[wire.SessionID][]wire.Value{}
	seen := map[string]int{}
	for step := range modelSteps {
		a := agents[random.IntN(len(agents))]
		session := wire.SessionID(fmt.Sprint("s", random.IntN(30)))
		if s := slices.Sorted(maps.Keys(m.sessions)); len(s) > 0 && random.IntN(8) > 0 {
			session = s[random.IntN(len(s))]
			if p := m.sessions[session].parties; random.IntN(8) > 0 {
				a = p[random.IntN(len(p))].Agent
			}
		}
		s := m.sessions[session]
		var what, want, got string
		op, crowd := random.IntN(100), step/200%2 == 0 // at times many sessions, at times much talk
		if crowd && random.IntN(3) == 0 {
			op, session = 0, wire.SessionID(fmt.Sprint("s", random.IntN(30)))
			s = m.sessions[session]
		}
		switch {
		case op < 16:
			r := relay.Reservation{Session: session, Life: time.Hour}
			for _, to := range agents {
				if to != a && random.IntN(2) == 0 && len(r.To) < 3 {
					r.To = append(r.To, to)
				}
			}
			if r.Places = random.IntN(2); len(r.To)+r.Places == 0 {
				r.Places = 1
			}
			if s != nil && random.IntN(2) == 0 {
				r = s.want
			}
			what, want = fmt.Sprintf("create %+v", r), m.create(a, r)
			_, err := w.create(string(a), r)
			got = refusal(err)
		case op < 27:
			what, want = "join", m.join(a, session)
			_, err := w.Join(w.ctx, a, session)
			got = refusal(err)
		case op < 29:
			what, want, got = "decline", m.decline(a, session), refusal(w.Decline(w.ctx, a, session))
		case op < 30:
			what, want, got = "close", m.close(a, session), refusal(w.Close(w.ctx, a, session))
		case op < 34:
			about, c := agents[random.IntN(len(agents))], []relay.Consent{relay.Unknown, relay.Allowed, relay.Denied}[random.IntN(3)]
			if about != a {
				m.consent(a, about, c)
				what, got = "consent", refusal(w.SetConsent(w.ctx, a, about, c))
			}
		case op < 49:
			n := uint64(random.IntN(3))
			if s != nil && random.IntN(4) > 0 {
				n += s.cursors[a]
			}
			what, want, got = fmt.Sprint("ack ", n), m.ack(a, session, n), refusal(w.Ack(w.ctx, a, session, n))
		case op < 90:
			var v wire.Value
			var prev *wire.Hash
			e := modelEntry{from: a}
			switch {
			case len(sent[session]) > 0 && random.IntN(8) == 0: // again
				v = sent[session][random.IntN(len(sent[session]))]
			case random.IntN(4) == 0:
				v = w.enclosure(session, string(a), fmt.Sprint("e", random.IntN(30)), content(t, "x")).Value()
			default:
				env := w.envelope(session, string(a))
				if env.PrevHash = (wire.Hash{}); s != nil {
					env.PrevHash = s.tip
				}
				if random.IntN(10) == 0 {
					env.PrevHash = wire.HashOf("other")
				}
				v = w.sign(env).Value()
			}
			if u, err := wire.ReadMessage(v); err == nil {
				e.from, e.id, prev = u.From, string(u.ID), &u.PrevHash
			} else {
				id, _ := v.Get("id")
				from, _ := v.At("from", "agent_id")
				e.from, e.id = wire.AgentID(from.Text()), id.Text()
			}
			e.hash, e.size = v.Hash(), len(v.Canonical())
			var n uint64
			what = "append " + e.id
			want, n = m.append(e, session, prev)
			done, err := w.Append(w.ctx, w.agent(string(e.from)), v)
			if got = refusal(err); done.Number != n {
				t.Errorf("step %d: entry %d, want %d", step, done.Number, n)
			}
			if err == nil {
				sent[session] = append(sent[session], v)
			}
		case op < 96:
			d := time.Duration(random.IntN(20)) * time.Second
			if !crowd && random.IntN(20) == 0 {
				d = time.Duration(random.IntN(60)) * time.Minute
				clear(sent) // would be too old for a session that takes an id again
			}
			w.pass(d)
			m.now = m.now.Add(d)
			continue
		case op < 99:
			done := w.sweep()
			what, want, got = "sweep", fmt.Sprint(m.sweep()), fmt.Sprint(done.Ended+done.Removed)
		default:
			w.open()
			what = "reopen"
		}
		seen[want]++
		if got != want {
			t.Errorf("step %d: %s, %s in %s: %q, want %q", step, a, what, session, got, want)
		}
		dump, due := w.dump(), 0
		for k := range dump {
			due += one(k[0] == 'd')
		}
		if due != len(m.sessions) {
			t.Errorf("step %d: after %s the sweeper has %d records of %d sessions", step, what, due, len(m.sessions))
		}
		if got, want := counters(dump), m.counters(agents); !maps.Equal(got, want) {
			t.Errorf("step %d: after %s of %s in %s the counters are\n%v\nwant\n%v", step, what, a, session, got, want)
		}
		if step%5 == 0 {
			m.compare(w, agents)
		}
		if t.Failed() {
			return nil
		}
	}
	return seen
}

// compare compares what agents see with the model.
func (m *model) compare(w *world, agents []wire.AgentID) {
	for _, a := range agents {
		var sessions, invitations []string
		for _, id := range slices.Sorted(maps.Keys(m.sessions)) {
			s := m.sessions[id]
			why, ended := m.over(s)
			switch {
			case s.standing(a) == relay.Joined:
				sessions = append(sessions, fmt.Sprint(id, s.parties, s.free(), why, ended, len(s.log), s.cursors[a]))
			case s.standing(a) == relay.Invited && why == "" && !s.hidden[a] && m.consents[[2]wire.AgentID{a, s.parties[0].Agent}] != relay.Denied:
				invitations = append(invitations, string(id))
			}
		}
		list, err := w.Sessions(w.ctx, a, "", 1000)
		if err != nil {
			w.Fatal(err)
		}
		var got []string
		for _, i := range list {
			got = append(got, fmt.Sprint(i.Session, i.Parties, i.Places, i.Why, i.Ended, i.Length, i.Cursor))
		}
		if !slices.Equal(got, sessions) {
			w.Errorf("%s has the sessions\n%q\nwant\n%q", a, got, sessions)
		}
		if got := w.invitations(string(a)); !slices.Equal(got, invitations) {
			w.Errorf("%s has the invitations %q, want %q", a, got, invitations)
		}
	}
}
