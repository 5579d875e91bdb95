package relay_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
)

// audit returns what an audit finds.
func (w *world) audit() (n relay.Audited, found []string) {
	w.Helper()
	n, err := relay.Audit(w.ctx, w.driver, func(p relay.Problem) { found = append(found, fmt.Sprintf("%s: %v", p.Where, p.Err)) }, func(relay.Audited) {})
	if err != nil {
		w.Fatal(err)
	}
	return n, found
}

// newAudited is a relay with something of everything.
func newAudited(t *testing.T) *world {
	w := newWorld(t, relay.Limits{})
	w.active("s", "alice", "bob", "carol")
	w.active("ended", "bob", "alice")
	w.reserve("waits", "alice", "bob", "nobody")
	for range 3 {
		w.say("s", "alice")
		w.say("s", "bob")
		w.say("ended", "alice")
	}
	if _, err := w.enclose(w.enclosure("s", "carol", "e", content(t, "x"))); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		w.Ack(w.ctx, "bob", "s", 4), w.Ack(w.ctx, "carol", "s", 7), w.Close(w.ctx, "alice", "ended"),
		w.SetConsent(w.ctx, "carol", "mallory", relay.Denied),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.say("s", "bob")
	return w
}

func TestAuditOfWhatIsWell(t *testing.T) {
	w := newAudited(t)
	n, found := w.audit()
	if len(found) > 0 {
		t.Errorf("an audit finds in what a relay wrote:\n%s", strings.Join(found, "\n"))
	}
	n.Bytes = 0
	// alice has not acknowledged 5 of s; bob 2 of s and 3 of ended; carol 1.
	want := relay.Audited{Agents: 3, Sessions: 3, Live: 2, Entries: 11, Unread: 5 + 2 + 3 + 1, Waiting: 2, Decisions: 4}
	if n != want {
		t.Errorf("it counts %+v, want %+v", n, want)
	}
	counted, err := relay.Count(w.ctx, w.driver)
	if counted.Bytes = 0; err != nil || counted != want {
		t.Errorf("Count = %+v, %v", counted, err)
	}
	w.pass(40 * 24 * time.Hour)
	w.sweep()
	w.sweep()
	if _, found := w.audit(); len(found) > 0 {
		t.Errorf("after the retention:\n%s", strings.Join(found, "\n"))
	}
}

// Whatever is changed in the mail, an audit says what.
func TestAuditFinds(t *testing.T) {
	if testing.Short() {
		t.Skip("one thing happens after the other")
	}
	eight := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
	// change has a record of the key replaced; nil deletes.
	change := func(key string, to func(was []byte) []byte) func(relay.Tx) {
		return func(tx relay.Tx) {
			was := tx.Get(key)
			if is := to(slices.Clone(was)); is != nil {
				tx.Put(key, is)
			} else {
				tx.Delete(key)
			}
		}
	}
	gone := func([]byte) []byte { return nil }
	entry := func(n int, to func(e []byte) []byte) func(relay.Tx) { // of the log s
		return func(tx relay.Tx) {
			var all [][]byte
			for _, e := range tx.Entries("s", 1) {
				all = append(all, slices.Clone(e))
			}
			all[n-1] = to(all[n-1])
			tx.Drop("s", uint64(len(all)))
			for i, e := range all {
				tx.Append("s", uint64(i)+1, e)
			}
		}
	}
	find := func(prefix string, to func([]byte) []byte) func(relay.Tx) { // the first record below a prefix
		return func(tx relay.Tx) {
			for k := range tx.Scan(prefix, "") {
				change(k, to)(tx)
				return
			}
		}
	}
	for _, test := range []struct {
		name   string
		change func(relay.Tx)
		want   string
	}{
		{"a counter of unread entries", change("ualice\x00bob", func([]byte) []byte { return eight(1) }), `unread entries of agent "alice" by "bob": it is 1, and counting comes to 4`},
		{"a counter that is missing", change("l", gone), "live sessions: it is 0, and counting comes to 2"},
		{"a counter too many", change("bmallory", func([]byte) []byte { return eight(7) }), `bytes of agent "mallory": it is 7, and counting comes to 0`},
		{"a counter that is none", change("k", func([]byte) []byte { return []byte("x") }), "the counter of agents: damaged"},
		{"a count of agents", change("k", func([]byte) []byte { return eight(4) }), "the counter of agents: it is 4"},
		{"an agent", change("aalice", func([]byte) []byte { return []byte("{") }), `agent "alice": its record: damaged`},
		{"a sender who is not registered", change("aalice", gone), `entry 1: agent "alice", who sent it, is not registered`},
		{"a token of nobody", func(tx relay.Tx) { tx.Put("t"+strings.Repeat("x", 32), []byte("bob")) }, "the agent does not have it"},
		{"a token that is missing", find("t", gone), "a token of its record is not there"},
		{"a session", change("ss", func(b []byte) []byte { return b[:len(b)-1] }), `session "s": its record`},
		{"a session that is gone", change("ss", gone), "there is no such session"},
		{"a session under another name", func(tx relay.Tx) { tx.Put("sother", slices.Clone(tx.Get("ss"))) }, `session "other": its record`},
		{"a head", change("hs", func(b []byte) []byte { b[0]++; return b }), `session "s": its log has 8 entries`},
		{"a tip", change("hs", func(b []byte) []byte { b[len(b)-6] ^= 1; return b }), "its record says"},
		{"a head that is no record", change("hs", func([]byte) []byte { return []byte("x") }), `what is appended to session "s"`},
		{"a cursor", change("mbob\x00s", func(b []byte) []byte { b[0] = 5; return b }), `of the entries up to 5 agent "bob" has`},
		{"a cursor behind the end", change("mbob\x00s", func(b []byte) []byte { b[0] = 99; return b }), `agent "bob" has acknowledged 99 entries of 8`},
		{"a cursor that is missing", change("mbob\x00s", gone), `party "bob" is joined, and has a cursor: false`},
		{"a cursor of a stranger", func(tx relay.Tx) { tx.Put("mmallory\x00s", slices.Clone(tx.Get("mbob\x00s"))) }, `agent "mallory" has a cursor and is no party`},
		{"an invitation of who has joined", func(tx relay.Tx) { tx.Put("vcarol\x00s", []byte("alice")) }, `the invitation of "carol" to session "s": nobody waits`},
		{"an id that is gone", change("is\x00e", gone), "entry 7: its id is not that of this entry"},
		{"an id too many", func(tx relay.Tx) { tx.Put("is\x00other", eight(1)) }, "it has 9 ids for 8 entries"},
		{"no time to sweep", find("d", gone), "the sweeper will not look at it"},
		{"another time to sweep", func(tx relay.Tx) { tx.Put("d"+string(eight(1))+"\x00s", nil) }, `when to look at session "s": it stands there with another time`},
		{"a consent", change("ccarol\x00mallory", func([]byte) []byte { return []byte("x") }), `a consent of agent "carol": damaged`},
		{"the relay's record", change("r", func([]byte) []byte { return []byte("{}") }), "the relay's own record"},
		{"a record of no kind", func(tx relay.Tx) { tx.Put("zebra", nil) }, `record "zebra"`},
		{"a byte of a message", entry(2, func(e []byte) []byte { return []byte(strings.Replace(string(e), "price", "prize", 1)) }), "entry 2: "},
		{"a sender", entry(2, func(e []byte) []byte { e[1] = 2; return e }), "entry 2: "},
		{"a sender that is no party", entry(2, func(e []byte) []byte { e[1] = 9; return e }), "entry 2: reading an entry: damaged"},
		{"an enclosure as a message", entry(7, func(e []byte) []byte { e[0] = 'm'; return e }), "entry 7: "},
		{"an entry of no kind", entry(7, func(e []byte) []byte { e[0] = 'x'; return e }), "entry 7: damaged"},
		{"where an id stands", entry(3, func(e []byte) []byte { e[13]++; return e }), "entry 3: damaged"},
		{"an entry that is missing at the end", func(tx relay.Tx) {
			var all [][]byte
			for _, e := range tx.Entries("s", 1) {
				all = append(all, slices.Clone(e))
			}
			tx.Drop("s", uint64(len(all)))
			for i, e := range all[:len(all)-1] {
				tx.Append("s", uint64(i)+1, e)
			}
		}, "its log has 7 entries"},
		{"two messages that have changed places", func(tx relay.Tx) {
			var all [][]byte
			for _, e := range tx.Entries("s", 1) {
				all = append(all, slices.Clone(e))
			}
			all[2], all[3] = all[3], all[2]
			tx.Drop("s", uint64(len(all)))
			for i, e := range all {
				tx.Append("s", uint64(i)+1, e)
			}
		}, "entry 3: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newAudited(t)
			if err := w.driver.Update(w.ctx, func(tx relay.Tx) error { test.change(tx); return nil }); err != nil {
				t.Fatal(err)
			}
			_, found := w.audit()
			if !strings.Contains(strings.Join(found, "\n"), test.want) {
				t.Errorf("it finds\n%s\nwant %s", strings.Join(found, "\n"), test.want)
			}
		})
	}
}
