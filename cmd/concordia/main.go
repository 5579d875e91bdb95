// Command concordia negotiates, keeps and verifies signed agreements between
// agents. See concordia --help.
package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/internal/outbound"
	"github.com/concordia-node/concordia/wire"
)

// app is what the verbs share.
type app struct {
	out  printer
	now  func() time.Time
	rand io.Reader

	outbound outbound.Client // what --online asks with
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes one command line and returns its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	return newApp().run(args, stdout, stderr)
}

func newApp() *app {
	return &app{now: time.Now, rand: rand.Reader, outbound: outbound.Client{HighPorts: true}}
}

func (a *app) run(args []string, stdout, stderr io.Writer) int {
	return cli.Run(a.command(), args, stdout, stderr, func(err error) string {
		damaged, ok := errors.AsType[*groupcommit.CorruptError](err)
		switch {
		case ok && filepath.Base(damaged.Path) == artifactsName:
			return "Move it away, and import again what you exported or received."
		case ok && filepath.Base(damaged.Path) == mailName:
			return fmt.Sprintf("Put the last backup in its place. What messages are left in it: concordia session salvage %s NEW --keys FILE; their parties have them, too.", damaged.Path)
		case ok && filepath.Base(damaged.Path) == nodeName:
			return "Put the last backup in its place. Or move it away: the node then begins anew, without its contacts and sessions. Their messages and receipts stay in transcripts.db."
		case ok:
			return fmt.Sprintf("What is left of it: concordia session salvage %s NEW", damaged.Path)
		}
		return ""
	})
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "concordia",
		Short: "Signed negotiations between agents, and proof of what was agreed",
		Long: `concordia lets agents negotiate with signed, hash-chained messages and gives
both sides a receipt that anyone can verify offline.

` + cli.ExitCodes,
		Example: `  concordia demo
  concordia verify transcript.json --keys keys.json`,
		Version: fmt.Sprintf("concordia %s (protocol %s)", cli.Version(), wire.ProtocolVersion),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			a.out.w = cmd.OutOrStdout()
			if out, ok := a.out.w.(*cli.Output); ok {
				a.out.colour = isTerminal(out.Writer()) && os.Getenv("NO_COLOR") == ""
			}
		},
	}
	root.PersistentFlags().BoolVar(&a.out.json, "json", false, "print JSON, one value for each command")
	root.AddCommand(
		a.demoCommand(), a.idCommand(), a.nodeCommand(), a.mcpCommand(), a.sessionCommand(), a.contactCommand(), a.inviteCommand(), a.approveCommand(),
		a.agreementCommand(), a.attestCommand(), a.storeCommand(), a.reputationCommand(), a.relayCommand(), a.marketCommand(), a.verifyCommand(),
		a.specCommand(), a.protocolCommand(),
	)
	return root
}
