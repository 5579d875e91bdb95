package protocol

import (
	"fmt"
	"strings"
)

// Table returns the transitions as a Markdown table, one row for each set of
// events that share everything else (SPEC §5.2).
func (a *Automaton) Table() string {
	var b strings.Builder
	b.WriteString("| From | On | By | If | To |\n|------|----|----|----|----|\n")
	for _, row := range a.rows() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", row.From, strings.Join(row.labels, ", "), row.By, strings.ReplaceAll(row.Condition().String(), "|", "\\|"), row.To)
	}
	return b.String()
}

// DOT returns the automaton as a Graphviz graph.
func (a *Automaton) DOT() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %q {\n\trankdir=LR;\n\tnode [shape=box, style=rounded];\n", a.Name)
	for _, s := range a.States {
		shape := ""
		if s == a.Initial {
			shape = " [shape=point]"
		}
		fmt.Fprintf(&b, "\t%q%s;\n", s, shape)
	}
	for _, row := range a.rows() {
		if row.To == Nowhere {
			continue
		}
		label := fmt.Sprintf("%s\n%s", row.By, strings.ReplaceAll(strings.Join(row.labels, "\n"), "`", ""))
		if when := row.Condition().String(); when != "" {
			label += fmt.Sprintf("\n[%s]", when)
		}
		fmt.Fprintf(&b, "\t%q -> %q [label=%q];\n", row.From, row.To, label)
	}
	b.WriteString("}\n")
	return b.String()
}

// A row is a transition with all the labels that share it.
type row struct {
	Transition
	labels []string
}

// rows merges neighbouring transitions that differ only in their label.
func (a *Automaton) rows() []row {
	var rows []row
	for _, t := range a.Transitions {
		label := "`" + strings.TrimPrefix(string(t.On), "negotiate.") + "`"
		if n := len(rows) - 1; n >= 0 {
			if last := rows[n].Transition; last.From == t.From && last.By == t.By && last.If == t.If && last.To == t.To &&
				last.When.String() == t.When.String() {
				rows[n].labels = append(rows[n].labels, label)
				continue
			}
		}
		rows = append(rows, row{t, []string{label}})
	}
	return rows
}

// Mermaid returns the automaton as a Mermaid state diagram.
func (a *Automaton) Mermaid() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n\tdirection LR\n")
	id := make(map[State]string, len(a.States))
	for i, s := range a.States {
		id[s] = fmt.Sprint("s", i)
		fmt.Fprintf(&b, "\tstate %s as %s\n", mermaid.Replace(fmt.Sprintf("%q", s)), id[s])
	}
	fmt.Fprintf(&b, "\t[*] --> %s\n", id[a.Initial])
	for _, row := range a.rows() {
		if row.To == Nowhere {
			continue
		}
		label := fmt.Sprintf("%s: %s", row.By, strings.ReplaceAll(strings.Join(row.labels, ", "), "`", ""))
		if when := row.Condition().String(); when != "" {
			label += fmt.Sprintf(" [%s]", when)
		}
		fmt.Fprintf(&b, "\t%s --> %s: %s\n", id[row.From], id[row.To], mermaid.Replace(label))
	}
	for _, s := range a.States {
		if a.Ends[s] != "" {
			fmt.Fprintf(&b, "\t%s --> [*]\n", id[s])
		}
	}
	return b.String()
}

// mermaid writes what would end a label, or be markup, as entities.
var mermaid = strings.NewReplacer(";", "#59;", "#", "#35;", "<", "#lt;", ">", "#gt;", "\n", " ", `\"`, "#quot;")
