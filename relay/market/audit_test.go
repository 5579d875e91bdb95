package market_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
)

// busy is a market with something of everything.
func busy(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, market.Limits{})
	w.post(w.want("1", "buyer", buys(10)))
	w.post(w.have("1", "seller", sells(5)))
	w.post(w.have("2", "seller", sells(5)))
	if err := w.as("seller").Withdraw(w.ctx, "have_2"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.as("seller").List(w.ctx, wire.M{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"seller", "buyer"} {
		if err := w.as(name).Publish(w.ctx, w.profile(name, wire.M{})); err != nil {
			t.Fatal(err)
		}
	}
	w.pass(1)
	if err := w.as("buyer").Unpublish(w.ctx); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) audit() (problems []string) {
	w.Helper()
	n, err := market.Audit(w.ctx, w.mail, func(p relay.Problem) { problems = append(problems, p.Where+": "+p.Err.Error()) })
	if err != nil {
		w.Fatal(err)
	}
	if len(problems) == 0 && n != (market.Audited{Wants: 1, Haves: 1, Listings: 1, Profiles: 2}) {
		w.Errorf("Audit = %+v", n)
	}
	return problems
}

// What a market writes is whole; each record that is missing, changed or too many is a
// problem.
func TestAudit(t *testing.T) {
	w := busy(t)
	if problems := w.audit(); len(problems) > 0 {
		t.Fatalf("a market that is whole: %q", problems)
	}
	whole := w.dump()
	number := func(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }
	changed := func(what, k, v string) {
		t.Helper()
		if err := w.mail.Update(w.ctx, func(tx relay.Tx) error { tx.Put(k, []byte(v)); return nil }); err != nil {
			t.Fatal(err)
		}
		if len(w.audit()) == 0 {
			t.Errorf("%s: %q is %q, and no problem", what, k, v)
		}
		if err := w.mail.Update(w.ctx, func(tx relay.Tx) error {
			if tx.Delete(k); whole[k] != "" || strings.HasPrefix(k, "Mx") && hasKey(whole, k) {
				tx.Put(k, []byte(whole[k]))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for k := range whole {
		if err := w.mail.Update(w.ctx, func(tx relay.Tx) error { tx.Delete(k); return nil }); err != nil {
			t.Fatal(err)
		}
		if len(w.audit()) == 0 {
			t.Errorf("without %q, and no problem", k)
		}
		if !strings.HasPrefix(k, "Mx") {
			changed("changed", k, whole[k]+"x")
		}
		if err := w.mail.Update(w.ctx, func(tx relay.Tx) error { tx.Put(k, []byte(whole[k])); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	changed("the last number", "Mn", number(1))
	changed("another kind", "Mq", "x")
	changed("too many", "Mcwnobody", number(1))
	changed("an id of nothing", "Mihave_9", number(9))
	changed("a time of nothing", "Mx"+number(9)+"Mlnobody", "")
	if problems := w.audit(); len(problems) > 0 {
		t.Fatalf("whole again: %q", problems)
	}
}

func hasKey(m map[string]string, k string) bool { _, ok := m[k]; return ok }

// A record that cannot be read is in nobody's way: others are found and matched, and it
// goes when its time has come.
func TestDamaged(t *testing.T) {
	w := busy(t)
	err := w.mail.Update(w.ctx, func(tx relay.Tx) error {
		tx.Put("Me"+string(binary.BigEndian.AppendUint64(nil, 2)), []byte("garbage"))
		tx.Put("Mlgarbage", []byte("garbage"))
		tx.Put("Mpgarbage", []byte(strings.Repeat("\x7f", 16)+"garbage"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.close()
	w.open()
	if list, _, _, err := w.as("dora").Search(w.ctx, market.Search{Kind: match.Have}); len(list) != 0 || err != nil {
		t.Errorf("Search: %v, %v", list, err)
	}
	if list, _, err := w.as("dora").Agents(w.ctx, wire.M{}); len(list) != 1 || err != nil {
		t.Errorf("Agents: %v, %v", list, err)
	}
	if list, _, _, err := w.as("dora").Profiles(w.ctx, wire.M{}); len(list) != 1 || err != nil {
		t.Errorf("Profiles: %v, %v", list, err)
	}
	if p := w.post(w.have("3", "seller", sells(5))); len(p.Matches) != 1 {
		t.Errorf("a post: %+v", p)
	}
	_, err = w.as("seller").Post(w.ctx, w.have("1", "seller", sells(5)))
	w.refuses("the id of one that cannot be read", relay.CodeIDConflict, "", err)
	if _, err := w.market.Sweep(w.ctx); err != nil {
		t.Error(err)
	}
}
