package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A snapshot is the form in which a conversation is kept.
type snapshot struct {
	Protocol wire.Hash       `json:"protocol"`
	Mode     Mode            `json:"mode"`
	Ledger   keptLedger      `json:"ledger"`
	Common   kept            `json:"common"`
	Each     map[string]kept `json:"instances,omitempty"`
}

type keptLedger struct {
	Used    map[string]string `json:"used,omitempty"`
	Held    map[string]string `json:"held,omitempty"`
	Strikes int64             `json:"strikes,omitempty"`
	Halted  bool              `json:"halted,omitempty"`
	Began   time.Time         `json:"began,omitzero"`
}

type kept struct {
	State    State                       `json:"state"`
	Seq      int                         `json:"seq"`
	Captured map[string]string           `json:"captured,omitempty"` // canonical texts, however deep
	Spent    map[State]map[string]string `json:"spent,omitempty"`
	Entered  time.Time                   `json:"entered,omitzero"`
	Fired    map[string]time.Time        `json:"fired,omitempty"`
	Tail     []Past                      `json:"tail,omitempty"`
}

func (m amounts) keep() map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := map[string]string{}
	for name, x := range m {
		out[name] = x.RatString()
	}
	return out
}

func readAmounts(in map[string]string) (amounts, error) {
	var m amounts
	for name, text := range in {
		x, ok := new(big.Rat).SetString(text)
		if !ok || len(text) > 200 || strings.ContainsAny(text, "eE") {
			return nil, errSnapshot
		}
		m = m.add(name, x)
	}
	return m, nil
}

func (l *ledger) keep() keptLedger {
	return keptLedger{l.used.keep(), l.held.keep(), l.strikes, l.halted, l.began}
}

func (k *keptLedger) ledger() (*ledger, error) {
	used, err := readAmounts(k.Used)
	if err != nil {
		return nil, err
	}
	held, err := readAmounts(k.Held)
	return &ledger{used, held, k.Strikes, k.Halted, k.Began}, err
}

func (m *Monitor) keep() kept {
	k := kept{State: m.State(), Seq: m.seq, Entered: m.entered, Fired: m.fired}
	for name, v := range m.captured {
		if v.Kind() == wire.Absent {
			continue
		}
		if k.Captured == nil {
			k.Captured = map[string]string{}
		}
		k.Captured[name] = v.Canonical()
	}
	for s, spent := range m.spent {
		if k.Spent == nil {
			k.Spent = map[State]map[string]string{}
		}
		k.Spent[m.c.states[s]] = spent.keep()
	}
	for i := max(0, m.seq-tailLen); i < m.seq; i++ {
		k.Tail = append(k.Tail, m.tail[i%tailLen])
	}
	return k
}

func (k *kept) monitor(c *Compiled, opts MonitorOptions, l *ledger) (*Monitor, error) {
	m, err := NewMonitor(c, opts)
	if err != nil {
		return nil, err
	}
	m.ledger, m.state, m.seq, m.entered, m.fired = l, c.Index(k.State), k.Seq, k.Entered, k.Fired
	if m.state < 0 || m.seq < 0 || m.seq > wire.MaxSafeInteger || len(k.Tail) != min(tailLen, m.seq) {
		return nil, errSnapshot
	}
	for name := range k.Fired {
		if t := c.automaton.Terms; t == nil || t.Timers[name].After <= 0 {
			return nil, errSnapshot
		}
	}
	for name, text := range k.Captured {
		v, err := wire.Parse([]byte(text), wire.DocumentLimits)
		if err != nil {
			return nil, errSnapshot
		}
		if m.captured == nil {
			m.captured = map[string]wire.Value{}
		}
		m.captured[name] = v
	}
	for s, spent := range k.Spent {
		i := c.Index(s)
		x, err := readAmounts(spent)
		if i < 0 || err != nil {
			return nil, errSnapshot
		}
		if m.spent == nil {
			m.spent = map[int]amounts{}
		}
		m.spent[i] = x
	}
	for i, p := range k.Tail {
		m.tail[(max(0, m.seq-tailLen)+i)%tailLen] = p
	}
	return m, nil
}

// Snapshot returns the state of the conversation, for [Restore].
func (m *Monitor) Snapshot() (wire.Value, error) {
	h, err := m.c.Digest()
	if err != nil {
		return wire.Value{}, err
	}
	return toValue(snapshot{Protocol: h, Mode: m.opts.Mode, Ledger: m.ledger.keep(), Common: m.keep()})
}

var errSnapshot = errors.New("it is no snapshot of this protocol in this mode")

// readSnapshot reads a snapshot and what all its monitors have in common.
func readSnapshot(c *Compiled, opts MonitorOptions, v wire.Value) (*snapshot, *ledger, *Monitor, error) {
	fail := func(err error) (*snapshot, *ledger, *Monitor, error) {
		return nil, nil, nil, fmt.Errorf("restoring a monitor: %w", err)
	}
	h, err := c.Digest()
	if err != nil {
		return fail(err)
	}
	var s snapshot
	d := json.NewDecoder(strings.NewReader(v.Canonical()))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil && !errors.Is(err, io.EOF) {
		return fail(errors.Join(errSnapshot, err))
	}
	l, err := s.Ledger.ledger()
	if err != nil {
		return fail(err)
	}
	m, err := s.Common.monitor(c, opts, l)
	if err != nil {
		return fail(err)
	}
	if s.Protocol != h || s.Mode != m.opts.Mode {
		return fail(errSnapshot)
	}
	return &s, l, m, nil
}

// Restore returns a monitor that goes on where a snapshot was made. The protocol has to
// be the same, by its digest, the states have to have the same names, and the mode has
// to be the same.
func Restore(c *Compiled, opts MonitorOptions, snapshot wire.Value) (*Monitor, error) {
	s, _, m, err := readSnapshot(c, opts, snapshot)
	if err != nil {
		return nil, err
	}
	if len(s.Each) > 0 {
		return nil, fmt.Errorf("restoring a monitor: it has instances: %w", errSnapshot)
	}
	return m, nil
}
