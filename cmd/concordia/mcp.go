package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/node/mcpserver"
	"github.com/concordia-node/concordia/protocol/menu"
)

// maxMCPLine bounds one request of an MCP client.
const maxMCPLine = 4 << 20

func (a *app) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp --dir DIR --key FILE",
		Short: "Let an agent negotiate, over MCP on standard input and output",
		Long: `mcp serves the node of the directory DIR to one agent over the Model Context
Protocol, on standard input and output: the agent negotiates with its own key, and ends
with a receipt that both sides signed. Logs go to standard error.

The node is run here if none runs in DIR, which is made if need be. Several concordia
mcp may use one DIR, with concordia node serve or without: the first one runs the node,
and another takes over when it ends.

Settings are those of concordia node config: with a file DIR/node.yaml that has key and
relay, --dir is enough. Standard input belongs to MCP: a passphrase comes from
--passphrase-file. Over HTTP, MCP is served by concordia node serve --mcp.

--menu says which tools the agent is shown: static always the same list, dynamic what is
legal now, dispatch three tools that lead to all others, auto static until the client
has shown that it follows changes. Each call is judged by the node, whatever was shown.

Exit codes: 0 the agent has left, or the node was told to stop, 2 wrong usage, 3 it could
not be run.`,
		Example: `  concordia mcp --dir seller --key seller.key --relay https://relay.example
  claude mcp add concordia -- concordia mcp --dir ~/seller
  {"mcpServers": {"concordia": {"command": "concordia", "args": ["mcp", "--dir", "DIR"]}}}`,
		Args: cobra.NoArgs,
	}
	c := a.nodeConfig(cmd, false)
	mode := cmd.Flags().String("menu", string(menu.Auto), "auto, static, dynamic or dispatch: which `tools` are shown")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkMenu("--menu", menu.Mode(*mode)); err != nil {
			return err
		}
		if err := c.read(cmd); err != nil {
			return err
		}
		return c.serveMCP(cmd, menu.Mode(*mode))
	}
	return cmd
}

func checkMenu(name string, mode menu.Mode) error {
	switch mode {
	case menu.Auto, menu.Static, menu.Dynamic, menu.Dispatch:
		return nil
	}
	return cli.Usagef("%s: want auto, static, dynamic or dispatch", name)
}

// BUG(mcp): A call that is still under way two seconds after the client has closed standard
// input may be carried out without an answer. Looking at the session tells.

func (c *nodeConfig) serveMCP(cmd *cobra.Command, mode menu.Mode) (err error) {
	log, err := nodeLog(cmd, c.get("log_level"))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	n, err := c.connect(ctx, true, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	s, err := mcpserver.New(n, mcpserver.Options{Menu: mode, Version: cli.Version(), Now: c.app.now, Log: log})
	if err != nil {
		return err
	}
	_, holds := n.Holds()
	log.Info("serving MCP", "runs_node", holds, "menu", mode)
	err = s.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(cmd.InOrStdin()), Writer: keptOpen{cmd.OutOrStdout()}, MaxLineLength: maxMCPLine})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// keptOpen is a writer that somebody else closes.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }
