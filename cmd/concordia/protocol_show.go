package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/protocol"
)

func (a *app) protocolShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show FILE",
		Short: "Print the transitions of a protocol",
		Long: `show prints the automaton that a protocol is compiled to: its states, its ends, and
who may do what in which state under which condition.`,
		Example: `  concordia protocol show refund.yaml
  concordia protocol show refund.yaml --json`,
		Args: cli.Takes,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := readProtocol(args[0])
			if err != nil {
				return err
			}
			m := p.automaton()
			a.out.printf("%s\n  initial  %s\n", cli.Printable(m.Name), cli.Printable(string(m.Initial)))
			for _, end := range []protocol.End{protocol.Success, protocol.Failure, protocol.Abandoned} {
				var names []string
				for _, s := range m.States {
					if m.Ends[s] == end {
						names = append(names, string(s))
					}
				}
				if names != nil {
					a.out.printf("  %-9s%s\n", end, cli.Printable(strings.Join(names, ", ")))
				}
			}
			a.out.printf("\n%s", harmless(m.Table()))
			return a.out.value(map[string]any{"automaton": m})
		},
	}
}

// protocolDrawCommand prints a graph in one of two languages.
func (a *app) protocolDrawCommand(language string) *cobra.Command {
	tool, draw, then := "Graphviz", (*protocol.Automaton).DOT, " | dot -Tsvg > refund.svg"
	if language == "mermaid" {
		tool, draw, then = "Mermaid", (*protocol.Automaton).Mermaid, " > refund.mmd"
	}
	return &cobra.Command{
		Use:     language + " FILE",
		Short:   "Print a protocol as a graph for " + tool,
		Long:    fmt.Sprintf("%s prints the states of a protocol and its transitions, for %s.", language, tool),
		Example: "  concordia protocol " + language + " refund.yaml" + then,
		Args:    cli.Takes,
		RunE: func(_ *cobra.Command, args []string) error {
			if a.out.json {
				return cli.Usagef("--json and %s are two formats: choose one", language)
			}
			p, err := readProtocol(args[0])
			if err != nil {
				return err
			}
			a.out.printf("%s", harmless(draw(p.automaton())))
			return nil
		},
	}
}

func (a *app) protocolDigestCommand() *cobra.Command {
	var canonical bool
	cmd := &cobra.Command{
		Use:   "digest FILE...",
		Short: "Print the digest of protocols",
		Long: `digest prints the hash of what a protocol means: of the smallest automaton that does
the same, and of its terms. Names of states, order, comments and guidance do not
change it, nor the form in which the protocol is written.`,
		Example: `  concordia protocol digest refund.yaml
  concordia protocol digest --canonical refund.yaml`,
		Args: cli.Takes,
		RunE: func(_ *cobra.Command, args []string) error {
			all := map[string]string{}
			for _, path := range args {
				p, err := readProtocol(path)
				if err != nil {
					return err
				}
				v, err := p.compiled.Canonical()
				if err != nil {
					return cli.Exit(cli.Rejected, fmt.Errorf("%s: %w", path, err))
				}
				switch {
				case canonical:
					a.out.printf("%s\n", v.Canonical())
				case len(args) == 1:
					a.out.printf("%s\n", v.Hash())
				default:
					a.out.printf("%s  %s\n", v.Hash(), cli.Printable(path))
				}
				all[path] = v.Hash().String()
			}
			return a.out.value(all)
		},
	}
	cmd.Flags().BoolVar(&canonical, "canonical", false, "print the document that the digest is of")
	return cmd
}

func (a *app) protocolPromptCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "prompt FILE",
		Short: "Print the instruction for an agent that is held to a protocol",
		Long: `prompt prints a protocol in words, with the rule that pressure is no approval and a
note on tools that come and go: what to put into the instruction of an agent. It
helps the agent to do the right thing at once; what holds it to the protocol is the
check of each call, not the text.`,
		Example: `  concordia protocol prompt refund.yaml > instruction.md`,
		Args:    cli.Takes,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := readProtocol(args[0])
			if err != nil {
				return err
			}
			text := p.automaton().Prompt(p.pressure)
			a.out.printf("%s", harmless(text))
			return a.out.value(map[string]string{"prompt": text})
		},
	}
}
