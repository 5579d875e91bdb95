package protocol

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// Amounts are exact numbers by what they are of: "calls", "bytes", "tokens", or
// "money" and a currency.
type amounts map[string]*big.Rat

func (m amounts) get(name string) *big.Rat {
	if x := m[name]; x != nil {
		return x
	}
	return new(big.Rat)
}

// add returns m with an amount more, which may be negative.
func (m amounts) add(name string, x *big.Rat) amounts {
	if m == nil {
		m = amounts{}
	}
	m[name] = new(big.Rat).Add(m.get(name), x)
	return m
}

// A ledger is what a conversation has used of its budgets, and what it has handed to
// others. Used, held and free are together what there was. The instances of a
// conversation have one ledger.
type ledger struct {
	used    amounts
	held    amounts // by conversations that were handed a part
	strikes int64
	halted  bool
	began   time.Time
}

var errAmount = errors.New("an amount of money is a decimal number of at most 40 digits")

// limits returns a budget as amounts.
func (b *Budget) limits() (amounts, error) {
	var m amounts
	for name, n := range map[string]int64{"calls": b.Calls, "bytes": b.Bytes, "tokens": b.Tokens} {
		if n > 0 {
			m = m.add(name, new(big.Rat).SetInt64(n))
		}
	}
	for currency, text := range b.Money {
		x, ok := amount(text)
		if !ok {
			return nil, fmt.Errorf("the budget of %s: %w", currency, errAmount)
		}
		m = m.add("money "+currency, x)
	}
	return m, nil
}

// amount reads a decimal number that is not negative.
func amount(text string) (*big.Rat, bool) {
	if text == "" || len(text) > 40 || strings.Trim(text, "0123456789.") != "" {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

var oneCall = big.NewRat(1, 1)

// needs returns what an event uses, and false if nobody can tell.
func needs(e *Event) (amounts, bool) {
	var m amounts
	if isCall(e) {
		m = m.add("calls", oneCall)
	}
	if e.Used.Bytes > 0 {
		m = m.add("bytes", new(big.Rat).SetInt64(e.Used.Bytes))
	}
	if e.Used.Tokens > 0 {
		m = m.add("tokens", new(big.Rat).SetInt64(e.Used.Tokens))
	}
	if e.Used.Money == "" {
		return m, true
	}
	x, ok := amount(e.Used.Money)
	if !ok {
		return m, false
	}
	return m.add("money "+e.Used.Currency, x), true
}

func isCall(e *Event) bool { return e.By == Agent && strings.HasPrefix(string(e.On), "call:") }

// budgeted reports whether anything is counted.
func (c *Compiled) budgeted(state int) bool {
	return c.budget != nil || c.budgets[c.whole[state]] != nil
}

// lacks returns the name of a budget that does not suffice for an event, or "". What a
// result uses has been used: only what the agent does is held to budgets. Where it is
// not known beforehand what a call will use of bytes and tokens, it is refused when
// they are used up.
func (m *Monitor) lacks(e *Event) string {
	c := m.c
	if e.By != Agent {
		return ""
	}
	whole := c.whole[m.state]
	if b, ok := c.automaton.Budgets[c.states[whole]]; ok && past(m.entered, b.Wall, e.Time) {
		return "wall in " + string(c.states[whole])
	}
	if t := c.automaton.Terms; t != nil && past(m.ledger.began, t.Budget.Wall, e.Time) {
		return "wall"
	}
	if !c.budgeted(m.state) {
		return ""
	}
	need, ok := needs(e)
	if !ok {
		return "money " + e.Used.Currency
	}
	if name := lack(c.budgets[whole], m.spent[whole], nil, nil, need, isCall(e)); name != "" {
		return name + " in " + string(c.states[whole])
	}
	reserve := c.reserve
	if t := c.automaton.Terms; t != nil {
		tool, _ := strings.CutPrefix(string(e.On), "call:")
		for _, name := range t.ReserveFor {
			if name == tool {
				reserve = nil
			}
		}
	}
	return lack(c.budget, m.ledger.used, m.ledger.held, reserve, need, isCall(e))
}

func past(from time.Time, wall time.Duration, now time.Time) bool {
	return wall > 0 && !from.IsZero() && !now.IsZero() && !now.Before(from.Add(wall))
}

func lack(limits, used, held, reserve, need amounts, call bool) string {
	lacking := ""
	note := func(name string) {
		if lacking == "" || name < lacking {
			lacking = name
		}
	}
	money := false
	for name, limit := range limits {
		money = money || strings.HasPrefix(name, "money ")
		rest := new(big.Rat).Sub(limit, used.get(name))
		rest.Sub(rest, held.get(name))
		rest.Sub(rest, reserve.get(name))
		x := need.get(name)
		if rest.Cmp(x) < 0 && x.Sign() > 0 || call && x.Sign() == 0 && rest.Sign() <= 0 && (name == "bytes" || name == "tokens") {
			note(name)
		}
	}
	for name, x := range need {
		if money && strings.HasPrefix(name, "money ") && limits[name] == nil && x.Sign() > 0 {
			note(name) // who may spend one currency may not spend another
		}
	}
	return lacking
}

// spend counts what an event uses.
func (m *Monitor) spend(e *Event) {
	if !m.c.budgeted(m.state) {
		return
	}
	need, _ := needs(e)
	whole := m.c.whole[m.state]
	for name, x := range need {
		m.ledger.used = m.ledger.used.add(name, x)
		if m.c.budgets[whole] != nil {
			if m.spent == nil {
				m.spent = map[int]amounts{}
			}
			m.spent[whole] = m.spent[whole].add(name, x)
		}
	}
}

// A Balance is what became of one budget of a conversation: Used, Held by conversations
// that were handed a part of it, and Free, which are together the Total.
type Balance struct{ Total, Used, Held, Free *big.Rat }

// Balances returns the balance of each budget that has a limit. Free is negative if a
// result used more than there was.
func (m *Monitor) Balances() map[string]Balance {
	all := map[string]Balance{}
	for name, total := range m.c.budget {
		used, held := m.ledger.used.get(name), m.ledger.held.get(name)
		free := new(big.Rat).Sub(total, used)
		all[name] = Balance{new(big.Rat).Set(total), new(big.Rat).Set(used), new(big.Rat).Set(held), free.Sub(free, held)}
	}
	return all
}

// HandOff takes a part of the budget out of a conversation, for another one that this
// one begins. What is not free, or kept in reserve, is refused, and so is money in a
// currency of which there is none.
func (m *Monitor) HandOff(part Budget) error {
	parts, err := part.limits()
	if err != nil {
		return fmt.Errorf("handing off: %w", err)
	}
	if name := lack(m.c.budget, m.ledger.used, m.ledger.held, m.c.reserve, parts, false); name != "" {
		return fmt.Errorf("handing off: not so much of %s is free", name)
	}
	for name, x := range parts {
		m.ledger.held = m.ledger.held.add(name, x)
	}
	return nil
}

// Settle takes back a part that was handed off: what the other conversation used is
// used, the rest is free again.
func (m *Monitor) Settle(part, used Budget) error {
	parts, err := part.limits()
	if err != nil {
		return fmt.Errorf("settling: %w", err)
	}
	spent, err := used.limits()
	if err != nil {
		return fmt.Errorf("settling: %w", err)
	}
	for name, x := range spent {
		if parts.get(name).Cmp(x) < 0 {
			return fmt.Errorf("settling: more of %s was used than handed off", name)
		}
	}
	for name, x := range parts {
		if m.ledger.held.get(name).Cmp(x) < 0 {
			return fmt.Errorf("settling: less of %s was handed off", name)
		}
	}
	for name, x := range parts {
		m.ledger.held = m.ledger.held.add(name, new(big.Rat).Neg(x))
	}
	for name, x := range spent {
		m.ledger.used = m.ledger.used.add(name, x)
	}
	return nil
}
