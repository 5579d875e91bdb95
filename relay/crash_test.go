package relay_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concordia-node/concordia/internal/crashtest"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/boltmail"
	"github.com/concordia-node/concordia/wire"
)

// crashEnv makes this test binary the process that is killed.
const crashEnv = "CONCORDIA_TEST_RELAY_AT"

func TestMain(m *testing.M) {
	if path := os.Getenv(crashEnv); path != "" {
		if err := relayForEver(path); err != nil {
			fmt.Println("error", err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const crashSessions = 8

func crashOptions() relay.Options {
	return relay.Options{
		Limits: relay.Limits{Undelivered: 1 << 40, UndeliveredSender: 1 << 40, Entries: 1 << 40, FreeSpace: 1},
		Now:    func() time.Time { return epoch }, Random: rand.Reader,
	}
}

// relayForEver has two agents in each of crashSessions sessions talk and acknowledge,
// from where the relay has them, and says on standard output what was acknowledged to
// them.
func relayForEver(path string) error {
	mail, err := boltmail.Open(path)
	if err != nil {
		return err
	}
	m, err := relay.NewMailboxes(context.Background(), mail, crashOptions())
	if err != nil {
		return err
	}
	agents := map[wire.AgentID]relay.Agent{}
	for _, name := range []string{"alice", "bob"} {
		c, err := m.Challenge()
		if err != nil {
			return err
		}
		v, err := c.Registration(wire.AgentID(name), key(name), epoch)
		if err != nil {
			return err
		}
		_, token, err := m.Register(context.Background(), v)
		if err != nil {
			return err
		}
		if agents[wire.AgentID(name)], err = m.Authenticate(context.Background(), token); err != nil {
			return err
		}
	}
	var mu sync.Mutex // guards standard output: lines are whole
	say := func(what ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(what...)
	}
	var all sync.WaitGroup
	for i := range crashSessions {
		session := wire.SessionID(fmt.Sprint("ses_", i))
		all.Go(func() { say("error", talk(m, agents, session, say)) })
	}
	all.Wait()
	return nil
}

func talk(m *relay.Mailboxes, agents map[wire.AgentID]relay.Agent, session wire.SessionID, say func(...any)) error {
	ctx := context.Background()
	if _, err := m.Create(ctx, "alice", relay.Reservation{Session: session, To: []wire.AgentID{"bob"}}); err != nil {
		return err
	}
	if _, err := m.Join(ctx, "bob", session); err != nil {
		return err
	}
	body, _ := wire.Encode(wire.M{"term_ids": []string{strings.Repeat("price", 100)}})
	var tip wire.Hash
	n := uint64(0)
	for from := uint64(1); ; from = n + 1 {
		list, err := m.Read(ctx, "alice", session, from, 1000, 1<<20)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			break
		}
		n = list[len(list)-1].Number
		v, err := wire.Parse(list[len(list)-1].Text, wire.DocumentLimits)
		if err != nil {
			return err
		}
		tip = v.Hash()
	}
	for ; ; n++ {
		from := []wire.AgentID{"alice", "bob"}[n%3%2]
		msg, err := wire.Sign(wire.Envelope{Type: wire.TypeInquire, ID: wire.MessageID(fmt.Sprint("m", n)),
			Session: session, Time: epoch, From: from, PrevHash: tip, Body: body}, key(string(from)))
		if err != nil {
			return err
		}
		done, err := m.Append(ctx, agents[from], msg.Value())
		if err != nil {
			return err
		}
		say("appended", session, done.Number, done.Hash)
		tip = msg.Hash()
		if n%2 == 0 {
			if err := m.Ack(ctx, "bob", session, n/2); err != nil {
				return err
			}
			say("acked", session, n/2, wire.Hash{})
		}
	}
}

// acknowledged is what the process said of one session.
type acknowledged struct {
	length, cursor uint64
	tip            wire.Hash
}

// A relay that is killed at any moment loses nothing that it acknowledged, and what it
// counts is what is there.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.db")
	said := map[wire.SessionID]acknowledged{}
	chains := map[wire.SessionID]*wire.Chain{}
	from := map[wire.SessionID][]wire.AgentID{}
	sizes := map[wire.SessionID]int{}
	keys := wire.KeyMap{"alice": key("alice").Public(), "bob": key("bob").Public()}
	for round := range kills {
		killed(t, path, said)
		mail, err := boltmail.Open(path)
		if err != nil {
			t.Fatalf("after kill %d: %v", round, err)
		}
		m, err := relay.NewMailboxes(t.Context(), mail, crashOptions())
		if err != nil {
			t.Fatalf("after kill %d: %v", round, err)
		}
		for i := range crashSessions {
			session := wire.SessionID(fmt.Sprint("ses_", i))
			want := said[session]
			info, err := m.Session(t.Context(), "bob", session)
			if relay.CodeOf(err) == relay.CodeNotFound && want.length == 0 {
				continue // not made yet
			}
			if err != nil {
				t.Fatalf("after kill %d: %v", round, err)
			}
			if chains[session] == nil {
				chains[session] = wire.NewChain(session, 0)
			}
			c := chains[session]
			for {
				list, err := m.Read(t.Context(), "alice", session, uint64(c.Len())+1, 1000, 1<<20)
				if err != nil {
					t.Fatalf("after kill %d: %v", round, err)
				}
				if len(list) == 0 {
					break
				}
				for _, e := range list {
					u, err := wire.ParseMessage(e.Text)
					if err != nil {
						t.Fatal(err)
					}
					msg, err := u.Verify(keys)
					if err != nil {
						t.Fatal(err)
					}
					if err := c.Check(msg, epoch); err != nil {
						t.Fatalf("after kill %d: entry %d of %s: %v", round, e.Number, session, err)
					}
					c.Append(msg)
					from[session] = append(from[session], e.Sender)
					sizes[session] += len(e.Text)
					if e.Number == want.length && c.Tip() != want.tip {
						t.Fatalf("after kill %d: entry %d of %s is not the one acknowledged", round, want.length, session)
					}
				}
			}
			if joined := info.Parties[1].Standing == relay.Joined; uint64(c.Len()) < want.length || joined && info.Length != uint64(c.Len()) || info.Cursor < want.cursor {
				t.Fatalf("after kill %d: %s has %d entries of %d, cursor %d of %d", round, session, c.Len(), want.length, info.Cursor, want.cursor)
			}
		}
		if got, want := recount(t, m, mail, from, sizes); !maps.Equal(got, want) {
			t.Fatalf("after kill %d the counters are %v, want %v", round, got, want)
		}
		if err := mail.Close(); err != nil {
			t.Fatal(err)
		}
	}
	total := uint64(0)
	for _, s := range said {
		total += s.length
	}
	t.Logf("%d kills, %d entries acknowledged, none lost", kills, total)
}

// recount returns the counters of a relay, and what they should be for the entries that
// are there.
func recount(t *testing.T, m *relay.Mailboxes, mail *boltmail.Mail, from map[wire.SessionID][]wire.AgentID, sizes map[wire.SessionID]int) (got, want map[string]uint64) {
	t.Helper()
	all := map[string]string{}
	err := mail.View(t.Context(), func(r relay.Reader) error {
		for k, v := range r.Scan("", "") {
			all[k] = string(v)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got, want = counters(all), map[string]uint64{}
	for _, agent := range []wire.AgentID{"alice", "bob"} {
		list, err := m.Sessions(t.Context(), agent, "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range list {
			for _, sender := range from[info.Session][info.Cursor:] {
				if sender != agent {
					want["u"+string(agent)]++
					want["u"+string(agent)+"\x00"+string(sender)]++
				}
			}
			if agent == "alice" {
				want["balice"] += uint64(sizes[info.Session] + 2*1024)
				want["l"]++
				want["lalice"]++
			} else if info.Parties[1].Standing != relay.Joined {
				t.Errorf("%v", info)
			}
		}
		for range mailInvitations(t, m, agent) {
			want["w"+string(agent)]++
			want["w"+string(agent)+"\x00alice"]++
		}
	}
	return got, want
}

func mailInvitations(t *testing.T, m *relay.Mailboxes, agent wire.AgentID) []relay.Invitation {
	list, err := m.Invitations(t.Context(), agent)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// killed runs the process on the mail, kills it after a random number of
// acknowledgements, and notes what it acknowledged.
func killed(t *testing.T, path string, said map[wire.SessionID]acknowledged) {
	t.Helper()
	crashtest.Kill(t, crashEnv, path, 200, func(line string) error {
		var what, hash string
		var session wire.SessionID
		var number uint64
		if _, err := fmt.Sscanf(line, "%s %s %d %s", &what, &session, &number, &hash); err != nil {
			return err
		}
		s := said[session]
		switch what {
		case "acked":
			s.cursor = max(s.cursor, number)
		case "error":
			return errors.New("it has failed")
		default:
			tip, err := wire.ParseHash(hash)
			if err != nil {
				return err
			}
			s.length, s.tip = number, tip
		}
		said[session] = s
		return nil
	})
}
