package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

// Why an automaton has no text.
var (
	ErrMixed     = errors.New("in a state both sides may act, which the text form cannot say")
	ErrRoles     = errors.New("somebody acts who is neither the agent nor its environment, which the text form cannot say")
	ErrCondition = errors.New("a transition has a condition, which the text form cannot say")
	ErrEnds      = errors.New("it does not end well exactly where nothing can happen any more, which the text form cannot say")
	ErrTerms     = errors.New("it has terms beside the order of events, which the text form cannot say")
	ErrSize      = errors.New("its text is too long, for the text form has no way to share what follows")
)

// BUG(source): Print unfolds what two ways share, since the text form has no name for it
// unless the ways lead back. Where that is too long, it fails with ErrSize.

// Print writes an automaton in the text form. What is read back has the same digest.
func Print(a *protocol.Automaton) (string, error) {
	c, err := protocol.Compile(a)
	if err != nil {
		return "", err
	}
	if a.Terms != nil || len(a.Budgets) > 0 || len(a.Public) > 0 {
		return "", fmt.Errorf("printing %s: %w", a.Name, ErrTerms)
	}
	p := printer{c: c, names: map[int]string{}, used: map[int]bool{}}
	if err := p.state(c.Initial()); err != nil {
		return "", fmt.Errorf("printing %s: %w", a.Name, err)
	}
	text := strings.Join(p.parts, "")
	if _, err := ParseDSL(text, nil); err != nil {
		return "", fmt.Errorf("printing %s: %w", a.Name, ErrSize)
	}
	return text, nil
}

// A printer walks an automaton. A state that is being written has a name, and where it
// is met again, the name is written.
type printer struct {
	c     *protocol.Compiled
	names map[int]string
	used  map[int]bool
	parts []string
	size  int
}

func (p *printer) write(s string) {
	p.parts = append(p.parts, s)
	p.size += len(s)
}

func (p *printer) state(s int) error {
	if name := p.names[s]; name != "" {
		p.used[s] = true
		p.write(name)
		return nil
	}
	moves := p.c.Moves(s)
	if (len(moves) == 0) != (p.c.End(s) == protocol.Success) || len(moves) > 0 && p.c.End(s) != "" {
		return fmt.Errorf("state %s: %w", p.c.State(s), ErrEnds)
	}
	if len(moves) == 0 {
		p.write("end")
		return nil
	}
	if p.size > MaxSize {
		return ErrSize
	}
	name := "X"
	if n := len(p.names); n > 0 {
		name = fmt.Sprint("X", n+1)
	}
	p.names[s] = name
	before := len(p.parts)
	p.write("")
	if err := p.choice(s, moves); err != nil {
		return err
	}
	if delete(p.names, s); p.used[s] {
		delete(p.used, s)
		p.parts[before] = "rec " + name + "."
	}
	return nil
}

func (p *printer) choice(s int, moves []protocol.Move) error {
	targets := make([]int, len(moves))
	for i, m := range moves {
		switch {
		case m.By != protocol.Agent && m.By != protocol.Environment:
			return fmt.Errorf("state %s: %w", p.c.State(s), ErrRoles)
		case m.By != moves[0].By:
			return fmt.Errorf("state %s: %w", p.c.State(s), ErrMixed)
		}
		cases := 0
		p.c.Decision(s, m).Cases(func(to int, _ protocol.Condition) bool {
			cases++
			targets[i] = to
			return true
		})
		if cases != 1 {
			return fmt.Errorf("state %s: %w", p.c.State(s), ErrCondition)
		}
	}
	p.write(map[protocol.Role]string{protocol.Agent: "!", protocol.Environment: "?"}[moves[0].By])
	together := !slices.ContainsFunc(targets, func(t int) bool { return t != targets[0] })
	if len(moves) > 1 {
		p.write("{")
	}
	for i, m := range moves {
		if i > 0 {
			p.write(", ")
		}
		p.write(labelText(m.On))
		if !together {
			p.write(".")
			if err := p.state(targets[i]); err != nil {
				return err
			}
		}
	}
	if len(moves) > 1 {
		p.write("}")
	}
	if together {
		p.write(".")
		return p.state(targets[0])
	}
	return nil
}

func labelText(l protocol.Label) string {
	if isID(string(l)) {
		return string(l)
	}
	return wire.Text(string(l)).Canonical()
}
