package protocol

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A ledger is what a conversation has used of its budgets, and what it has handed to
// others. Used, held and free are together what there was.
type ledger struct {
	used   map[string]*big.Rat // calls, bytes, tokens, "money EUR"
	held   map[string]*big.Rat // by conversations that were handed a part
	states map[int]int64       // calls in each state
}

func (l *ledger) get(m map[string]*big.Rat, name string) *big.Rat {
	if x := m[name]; x != nil {
		return x
	}
	return new(big.Rat)
}

// limits returns a budget by name.
func (b *Budget) limits() map[string]*big.Rat {
	m := map[string]*big.Rat{}
	for name, n := range map[string]int64{"calls": b.Calls, "bytes": b.Bytes, "tokens": b.Tokens} {
		if n > 0 {
			m[name] = new(big.Rat).SetInt64(n)
		}
	}
	for currency, text := range b.Money {
		if x, ok := amount(text); ok {
			m["money "+currency] = x
		}
	}
	return m
}

// amount reads a decimal number that is not negative.
func amount(text string) (*big.Rat, bool) {
	if text == "" || len(text) > 40 || strings.Trim(text, "0123456789.") != "" {
		return nil, false
	}
	x, ok := new(big.Rat).SetString(text)
	return x, ok
}

// needs returns what an event uses, by name.
func needs(e *Event) map[string]*big.Rat {
	var m map[string]*big.Rat
	put := func(name string, x *big.Rat) {
		if m == nil {
			m = map[string]*big.Rat{}
		}
		m[name] = x
	}
	if isCall(e) {
		put("calls", big.NewRat(1, 1))
	}
	if e.Used.Bytes > 0 {
		put("bytes", new(big.Rat).SetInt64(e.Used.Bytes))
	}
	if e.Used.Tokens > 0 {
		put("tokens", new(big.Rat).SetInt64(e.Used.Tokens))
	}
	if x, ok := amount(e.Used.Money); ok {
		put("money "+e.Used.Currency, x)
	}
	return m
}

func isCall(e *Event) bool { return e.By == Agent && strings.HasPrefix(string(e.On), "call:") }

// lacks returns the name of a budget that does not suffice for an event, or "". What a
// result uses has been used: only what the agent does is held to budgets.
func (l *ledger) lacks(c *Compiled, state int, e *Event) string {
	t := c.automaton.Terms
	if e.By != Agent || t == nil && c.automaton.Budgets == nil {
		return ""
	}
	if b, ok := c.automaton.Budgets[c.states[state]]; ok && isCall(e) && b.Calls > 0 && l.states[state] >= b.Calls {
		return "calls in " + string(c.states[state])
	}
	if t == nil || t.Budget.isZero() {
		return ""
	}
	tool, _ := strings.CutPrefix(string(e.On), "call:")
	reserve := t.Reserve.limits()
	for _, name := range t.ReserveFor {
		if name == tool {
			reserve = nil
		}
	}
	limits := t.Budget.limits()
	for name, x := range needs(e) {
		limit, ok := limits[name]
		if !ok {
			continue
		}
		rest := new(big.Rat).Sub(limit, l.get(l.used, name))
		rest.Sub(rest, l.get(l.held, name))
		if r := reserve[name]; r != nil {
			rest.Sub(rest, r)
		}
		if rest.Cmp(x) < 0 {
			return name
		}
	}
	return ""
}

func (b *Budget) isZero() bool {
	return b.Calls == 0 && b.Bytes == 0 && b.Tokens == 0 && b.Wall == 0 && len(b.Money) == 0
}

// spend counts what an event uses.
func (l *ledger) spend(c *Compiled, state int, e *Event) {
	if c.automaton.Terms == nil && c.automaton.Budgets == nil {
		return
	}
	if isCall(e) {
		if l.states == nil {
			l.states = map[int]int64{}
		}
		l.states[state]++
	}
	for name, x := range needs(e) {
		if l.used == nil {
			l.used = map[string]*big.Rat{}
		}
		l.used[name] = new(big.Rat).Add(l.get(l.used, name), x)
	}
}

func (l *ledger) encode() wire.M {
	states := wire.M{}
	for s, n := range l.states {
		states[fmt.Sprint(s)] = n
	}
	write := func(m map[string]*big.Rat) wire.M {
		out := wire.M{}
		for name, x := range m {
			out[name] = x.RatString()
		}
		return out
	}
	return wire.M{"used": write(l.used), "held": write(l.held), "states": states}
}

func (l *ledger) decode(r wire.Reader) error {
	read := func(of wire.Value) (map[string]*big.Rat, error) {
		m := map[string]*big.Rat{}
		for name, v := range of.Members() {
			x, ok := new(big.Rat).SetString(v.Text())
			if !ok || len(v.Text()) > 100 {
				return nil, errSnapshot
			}
			m[name] = x
		}
		return m, nil
	}
	var err error
	if l.used, err = read(r.Object("used").Whole()); err != nil {
		return err
	}
	if l.held, err = read(r.Object("held").Whole()); err != nil {
		return err
	}
	l.states = map[int]int64{}
	for name, v := range r.Object("states").Whole().Members() {
		var s int
		var n int64
		if _, err := fmt.Sscan(name, &s); err != nil {
			return errSnapshot
		}
		if _, err := fmt.Sscan(v.Canonical(), &n); err != nil {
			return errSnapshot
		}
		l.states[s] = n
	}
	return nil
}

// A Balance is what became of one budget of a conversation: Used, Held by conversations
// that were handed a part of it, and Free, which are together the Total.
type Balance struct{ Total, Used, Held, Free *big.Rat }

// Balances returns the balance of each budget that has a limit.
func (m *Monitor) Balances() map[string]Balance {
	all := map[string]Balance{}
	t := m.c.automaton.Terms
	if t == nil {
		return all
	}
	for name, total := range t.Budget.limits() {
		used, held := m.ledger.get(m.ledger.used, name), m.ledger.get(m.ledger.held, name)
		free := new(big.Rat).Sub(total, used)
		all[name] = Balance{total, used, held, free.Sub(free, held)}
	}
	return all
}

// HandOff takes a part of the budget out of a conversation, for another one that this
// one begins. What is not free, or kept in reserve, is refused.
func (m *Monitor) HandOff(part Budget) error {
	balances := m.Balances()
	reserve := m.c.automaton.Terms.reserve()
	for name, x := range part.limits() {
		b, ok := balances[name]
		if !ok {
			continue // without a limit there is enough for everybody
		}
		free := new(big.Rat).Set(b.Free)
		if r := reserve[name]; r != nil {
			free.Sub(free, r)
		}
		if free.Cmp(x) < 0 {
			return fmt.Errorf("handing off: of %s only %s is free", name, free.RatString())
		}
	}
	for name, x := range part.limits() {
		if m.ledger.held == nil {
			m.ledger.held = map[string]*big.Rat{}
		}
		m.ledger.held[name] = new(big.Rat).Add(m.ledger.get(m.ledger.held, name), x)
	}
	return nil
}

// Settle takes back a part that was handed off: what the other conversation used is
// used, the rest is free again.
func (m *Monitor) Settle(part, used Budget) error {
	spent := used.limits()
	for name, x := range spent {
		if y := part.limits()[name]; y == nil || y.Cmp(x) < 0 {
			return fmt.Errorf("settling: more of %s was used than handed off", name)
		}
	}
	for name, x := range part.limits() {
		held := m.ledger.get(m.ledger.held, name)
		if held.Cmp(x) < 0 {
			return fmt.Errorf("settling: less of %s was handed off", name)
		}
		m.ledger.held[name] = new(big.Rat).Sub(held, x)
		if y := spent[name]; y != nil {
			if m.ledger.used == nil {
				m.ledger.used = map[string]*big.Rat{}
			}
			m.ledger.used[name] = new(big.Rat).Add(m.ledger.get(m.ledger.used, name), y)
		}
	}
	return nil
}

func (t *Terms) reserve() map[string]*big.Rat {
	if t == nil {
		return nil
	}
	return t.Reserve.limits()
}

// overdue reports whether the wall budget is over.
func (m *Monitor) overdue(now time.Time) bool {
	t := m.c.automaton.Terms
	return t != nil && t.Budget.Wall > 0 && !m.began.IsZero() && !now.IsZero() && !now.Before(m.began.Add(t.Budget.Wall))
}
