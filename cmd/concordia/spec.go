package main

import (
	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/session"
)

func (a *app) specCommand() *cobra.Command {
	var dot bool
	cmd := &cobra.Command{
		Use:   "spec",
		Short: "Print the state machine of a session",
		Long: `spec prints the transition table of SPEC.md §5.2 as the program runs it, or
with --dot a graph of it for Graphviz.`,
		Example: `  concordia spec
  concordia spec --dot | dot -Tsvg > session.svg`,
		Args: cli.Takes,
		RunE: func(*cobra.Command, []string) error {
			if a.out.json && dot {
				return cli.Usagef("--json and --dot are two formats: choose one")
			}
			if a.out.json {
				return a.out.value(session.Machine)
			}
			if dot {
				a.out.printf("%s", session.Machine.DOT())
				return nil
			}
			a.out.printf("%s", session.Machine.Table())
			return nil
		},
	}
	cmd.Flags().BoolVar(&dot, "dot", false, "print a Graphviz graph")
	return cmd
}
