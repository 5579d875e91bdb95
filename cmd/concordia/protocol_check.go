package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/prove"
	written "github.com/concordia-node/concordia/protocol/source"
)

func (a *app) protocolLintCommand() *cobra.Command {
	var sarif bool
	var tools string
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Find what is wrong with protocols",
		Long: `lint finds states that cannot be reached, left or ended from, conditions that never
decide, results that no transition is for, calls without a fresh approval, broken
invariants and budgets that suffice for no run; and that a protocol does not refine
the one it extends. Errors come with a shortest run that shows them. Warnings do not
decide the exit code.

With --tools the answer of an MCP server to tools/list is compared, too: a tool that
the protocol says reads, and that says itself that it writes. What tools say of
themselves is never trusted further.

Exit codes: 0 there is no error, 1 there is one, 2 wrong usage, 3 it could not be tried.`,
		Example: `  concordia protocol lint refund.yaml
  concordia protocol lint --tools tools.json refund.yaml
  concordia protocol lint --sarif protocols/*.yaml > findings.sarif`,
		Args: cli.Takes,
		RunE: func(_ *cobra.Command, args []string) error {
			if sarif && a.out.json {
				return cli.Usagef("--json and --sarif are two formats: choose one")
			}
			var opts prove.Options
			if tools != "" {
				var err error
				if opts.Annotations, err = readAnnotations(tools); err != nil {
					return err
				}
			}
			type linted struct {
				File     string          `json:"file"`
				Findings []prove.Finding `json:"findings"`
			}
			var all []linted
			failed := false
			for _, path := range args {
				found, err := lint(path, &opts)
				if err != nil {
					return err
				}
				failed = failed || prove.HasErrors(found)
				all = append(all, linted{path, append([]prove.Finding{}, found...)})
			}
			switch {
			case sarif:
				log := newSARIF()
				for _, l := range all {
					log.add(l.File, l.Findings)
				}
				p := a.out
				p.json = true
				if err := p.value(log); err != nil {
					return err
				}
			case a.out.json:
				if err := a.out.value(all); err != nil {
					return err
				}
			}
			if !sarif {
				for _, l := range all {
					a.printFindings(l.File, l.Findings)
				}
			}
			if failed {
				return cli.Exit(cli.Rejected, nil)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&sarif, "sarif", false, "print SARIF 2.1.0, for code scanning")
	cmd.Flags().StringVar(&tools, "tools", "", "JSON `file` with the answer to tools/list")
	return cmd
}

// lint returns what is wrong with a protocol, as it is written and as it runs.
func lint(path string, opts *prove.Options) ([]prove.Finding, error) {
	p, err := readProtocol(path)
	if faults := faultsOf(err); faults != nil {
		return findingsOf(faults, prove.Error), nil
	}
	if err != nil {
		return nil, err
	}
	found := prove.Check(p.compiled, opts)
	if p.extends != nil {
		found = append(prove.Extends(p.compiled, p.extends), found...)
	}
	return append(found, findingsOf(p.warnings, prove.Warning)...), nil
}

// faultsOf returns the faults of a text, of which an error may join several.
func faultsOf(err error) (list []*written.Error) {
	switch e := err.(type) {
	case *written.Error:
		return []*written.Error{e}
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			list = append(list, faultsOf(err)...)
		}
	case interface{ Unwrap() error }:
		return faultsOf(e.Unwrap())
	}
	return list
}

func findingsOf(faults []*written.Error, severity prove.Severity) (list []prove.Finding) {
	for _, e := range faults {
		list = append(list, prove.Finding{Code: prove.Code(e.Code), Severity: severity, Place: e.Place, Message: e.Message})
	}
	return list
}

func (a *app) printFindings(path string, found []prove.Finding) {
	if len(found) == 0 {
		a.out.printf("%s: %s\n", cli.Printable(path), a.out.paint(green, "nothing found"))
	}
	for _, f := range found {
		colour := yellow
		if f.Severity == prove.Error {
			colour = red
		}
		where := path
		if f.Place.Line > 0 {
			where = fmt.Sprintf("%s:%d:%d", path, f.Place.Line, f.Place.Column)
		}
		state := ""
		if f.State != "" {
			state = "state " + string(f.State) + ": "
		}
		a.out.printf("%s: %s: %s (%s)\n", cli.Printable(where), a.out.paint(colour, string(f.Severity)), cli.Printable(state+f.Message), f.Code)
		a.out.printTrace(f.Trace)
	}
}

// readAnnotations reads what tools say of themselves: an answer to tools/list, its
// result, or the list.
func readAnnotations(path string) (map[string]prove.Annotations, error) {
	v, err := readJSON(path)
	if err != nil {
		return nil, err
	}
	if result, ok := v.Get("result"); ok {
		v = result
	}
	if list, ok := v.Get("tools"); ok {
		v = list
	}
	all := map[string]prove.Annotations{}
	for _, tool := range v.Elems() {
		name, _ := tool.Get("name")
		says, ok := tool.Get("annotations")
		if !ok {
			continue
		}
		var ann prove.Annotations
		if err := json.Unmarshal([]byte(says.Canonical()), &ann); err != nil {
			return nil, fmt.Errorf("reading the annotations of %s in %s: %w", name.Canonical(), path, err)
		}
		all[name.Text()] = ann
	}
	return all, nil
}

func (a *app) protocolProveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "prove FILE",
		Short: "Prove what a protocol demands of every run",
		Long: `prove lists what a protocol demands of every run, and says of each whether it is
proven: that every state can be reached and ended from, that calls have their own
approval, the invariants, the budgets, and that it refines what it extends. What is
not so comes with a shortest run that shows it.

Exit codes: 0 all is proven, 1 something is not so, 2 wrong usage, 3 it could not be
tried.`,
		Example: `  concordia protocol prove refund.yaml`,
		Args:    cli.Takes,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := readProtocol(args[0])
			if err != nil {
				return err
			}
			claims := prove.Prove(p.compiled)
			if p.extends != nil {
				claims = append(claims, prove.Claim{
					Text: "it refines " + p.extends.Automaton().Name, Failed: prove.Extends(p.compiled, p.extends),
				})
			}
			failed := false
			for _, c := range claims {
				verdict := a.out.paint(green, "proven")
				if len(c.Failed) > 0 {
					failed, verdict = true, a.out.paint(red, "not so")
				}
				a.out.printf("  %s  %s\n", verdict, cli.Printable(c.Text))
				for _, f := range c.Failed {
					a.out.printf("    %s\n", cli.Printable(f.Message))
					a.out.printTrace(f.Trace)
				}
			}
			if err := a.out.value(claims); err != nil {
				return err
			}
			if failed {
				return cli.Exit(cli.Rejected, nil)
			}
			return nil
		},
	}
}

func (a *app) protocolRefinesCommand() *cobra.Command {
	var both, diff bool
	cmd := &cobra.Command{
		Use:   "refines CHILD PARENT",
		Short: "Tell whether one protocol may stand in for another",
		Long: `refines tells whether an agent that is held to CHILD is held to PARENT, too: it does
no more, bears no less, ends in the same way, and no approval, effect or budget is
laxer. Conditions are compared exactly. If it does not refine, a shortest run shows
why, which has been replayed against both.

With --equivalent both have to refine the other. With --diff a shortest run of each
is shown that the other does not have, whoever does what.

Exit codes: 0 it refines, 1 it does not, or with --diff they differ, 2 wrong usage, 3 it
could not be tried.`,
		Example: `  concordia protocol refines fast-refund.yaml refund.yaml
  concordia protocol refines --equivalent old.yaml new.yaml
  concordia protocol refines --diff old.yaml new.yaml`,
		Args: cli.Takes,
		RunE: func(_ *cobra.Command, args []string) error {
			if both && diff {
				return cli.Usagef("--equivalent and --diff are two questions: choose one")
			}
			child, err := readProtocol(args[0])
			if err != nil {
				return err
			}
			parent, err := readProtocol(args[1])
			if err != nil {
				return err
			}
			if diff {
				return a.printDiff(child, parent)
			}
			x := prove.Refines(child.compiled, parent.compiled)
			if x == nil && both {
				if x = prove.Refines(parent.compiled, child.compiled); x != nil {
					child, parent = parent, child
				}
			}
			word := "refines"
			if both && x == nil {
				word = "is equivalent to"
			}
			return a.printComparison(x, child.compiled, parent.compiled, child.path, word, parent.path)
		},
	}
	cmd.Flags().BoolVar(&both, "equivalent", false, "each has to refine the other")
	cmd.Flags().BoolVar(&diff, "diff", false, "show a run of each that the other does not have")
	return cmd
}

// printComparison prints a counterexample or that there is none.
func (a *app) printComparison(x *prove.Counterexample, child, parent *protocol.Compiled, left, word, right string) error {
	if err := a.out.value(struct {
		Holds          bool                  `json:"holds"`
		Child          string                `json:"child"`
		Parent         string                `json:"parent"`
		Counterexample *prove.Counterexample `json:"counterexample,omitempty"`
	}{x == nil, left, right, x}); err != nil {
		return err
	}
	if x == nil {
		a.out.printf("%s %s %s\n", cli.Printable(left), a.out.paint(green, word), cli.Printable(right))
		return nil
	}
	a.out.printf("%s: %s does not stand in for %s\n", a.out.paint(red, string(x.Clause)), cli.Printable(left), cli.Printable(right))
	a.out.printf("  %s\n", cli.Printable(x.Message))
	a.out.printTrace(x.Trace)
	if x.Parent != "" {
		a.out.printf("  %s allows there: %s\n", cli.Printable(right), cli.Printable(prove.Labels(x.Allowed)))
	}
	if len(x.Trace) > 0 {
		if err := x.Verify(child, parent); err != nil {
			a.out.printf("  the run could not be replayed: %s\n", cli.Printable(err.Error()))
		} else {
			a.out.printf("  replayed: both behave as shown\n")
		}
	}
	return cli.Exit(cli.Rejected, nil)
}

func (a *app) printDiff(one, two *protocolFile) error {
	onlyOne, onlyTwo := prove.Diff(one.compiled, two.compiled)
	if err := a.out.value(map[string]*prove.Difference{"only_first": onlyOne, "only_second": onlyTwo}); err != nil {
		return err
	}
	for _, d := range []struct {
		path string
		d    *prove.Difference
	}{{one.path, onlyOne}, {two.path, onlyTwo}} {
		if d.d == nil {
			a.out.printf("%s has no run that the other has not\n", cli.Printable(d.path))
			continue
		}
		a.out.printf("only %s has the run\n", cli.Printable(d.path))
		a.out.printTrace(d.d.Trace)
		a.out.printf("  the other is in %s then\n", cli.Printable(string(d.d.State)))
	}
	if onlyOne != nil || onlyTwo != nil {
		return cli.Exit(cli.Rejected, nil)
	}
	return nil
}

func (a *app) protocolCompatibleCommand() *cobra.Command {
	var roles, groupList []string
	cmd := &cobra.Command{
		Use:   "compatible FILE...",
		Short: "Tell whether two sides can talk to each other",
		Long: `compatible takes the protocols of two sides, each as its own agent sees it, and
tells whether whatever one does the other expects, and both end together. With
--roles each is projected first; then both may be one file with all roles.

Exit codes: 0 they can, 1 they cannot, 2 wrong usage, 3 it could not be tried.`,
		Example: `  concordia protocol compatible buyer.yaml seller.yaml
  concordia protocol compatible deal.yaml --roles initiator,responder --group "any party=initiator,responder"`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			groups, err := parseGroups(groupList)
			if err != nil {
				return err
			}
			if len(args) == 1 && len(roles) == 0 {
				return cli.Usagef("one file has two sides only with --roles")
			}
			if len(roles) != 0 && len(roles) != 2 {
				return cli.Usagef("--roles: want two, not %d", len(roles))
			}
			if len(roles) == 0 {
				roles = []string{"", ""}
			}
			var sides []*protocol.Compiled
			var names []string
			for i, role := range roles {
				path := args[min(i, len(args)-1)]
				p, err := readProtocol(path)
				if err != nil {
					return err
				}
				c, err := projected(p, role, groups)
				if err != nil {
					return err
				}
				sides = append(sides, c)
				names = append(names, strings.TrimPrefix(path+": "+role, "-: "))
				if role == "" {
					names[i] = path
				}
			}
			x, err := prove.Compatible(sides[0], sides[1])
			if err != nil {
				return cli.Exit(cli.Rejected, err)
			}
			dual, err := protocol.Compile(prove.Dual(sides[1].Automaton()))
			if err != nil {
				return cli.Exit(cli.Rejected, err)
			}
			return a.printComparison(x, sides[0], dual, names[0], "is compatible with", names[1])
		},
	}
	cmd.Flags().StringSliceVar(&roles, "roles", nil, "the `ROLE,ROLE` to project to")
	groupsFlag(cmd, &groupList)
	return cmd
}

func (a *app) protocolProjectCommand() *cobra.Command {
	var groupList []string
	cmd := &cobra.Command{
		Use:   "project FILE ROLE",
		Short: "Print the protocol of one role",
		Long: `project prints what a protocol with roles is for one of them: what the role causes
itself its agent does, what the others cause its environment does. A role that
stands for several, as --group says, is whoever of them.`,
		Example: `  concordia protocol project deal.yaml initiator --group "any party=initiator,responder"
  concordia protocol project deal.yaml responder --json`,
		Args: cli.Takes,
		RunE: func(_ *cobra.Command, args []string) error {
			groups, err := parseGroups(groupList)
			if err != nil {
				return err
			}
			p, err := readProtocol(args[0])
			if err != nil {
				return err
			}
			c, err := projected(p, args[1], groups)
			if err != nil {
				return err
			}
			a.out.printf("%s", harmless(c.Automaton().Table()))
			return a.out.value(map[string]any{"automaton": c.Automaton()})
		},
	}
	groupsFlag(cmd, &groupList)
	return cmd
}
