package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/relay"
)

func (a *app) relayCommand() *cobra.Command {
	cmd := group("relay", "Carry messages between agents without an address: run a relay, or use one", `  concordia relay serve --dir mail --listen 127.0.0.1:8080
  concordia relay invite did:key:z6Mk... --relay https://relay.example --key seller.key
  concordia relay tail --relay https://relay.example --key buyer.key
  concordia relay doctor --dir mail`,
		a.relayServeCommand(), a.relayInfoCommand(), a.relayRegisterCommand(),
		a.relaySessionsCommand(), a.relayInvitationsCommand(), a.relayInviteCommand(), a.relayJoinCommand(), a.relayDeclineCommand(), a.relayCloseCommand(),
		a.relayConsentCommand("block"), a.relayConsentCommand("allow"), a.relayConsentsCommand(),
		a.relaySendCommand(), a.relayTailCommand(), a.relayExportCommand(),
		a.relayStatsCommand(), a.relayCompactCommand(), a.relayDoctorCommand(), a.relayBenchCommand(),
	)
	cmd.Long = `relay has both ends of a relay (rfcs/0001-relay.md): serve runs one, and stats, doctor and
compact look after its mail; the other verbs are those of an agent that uses one.

An agent's verbs take --relay URL and --key FILE. They register the agent when there is
no token yet, and keep the token beside the key, in a file that only its owner reads.
The relay is believed nothing but the time: what it hands over is verified, and what
it did wrong ends the command with exit code 1.

Exit codes: 0 done, 1 the relay refused it, or misbehaved, 2 wrong usage, 3 it could
not be tried, for instance because the relay does not answer, 4 something was handed
over whose sender's key is not known.`
	return cmd
}

// relayed gives an error of a relay its exit code: what was refused for good is
// rejected, and so is what the relay did wrong.
func relayed(err error) error {
	if _, ok := errors.AsType[*relay.Misconduct](err); ok {
		return cli.Exit(cli.Rejected, err)
	}
	refused, ok := errors.AsType[*relay.Error](err)
	if !ok {
		return err
	}
	switch refused.Code {
	case relay.CodeRate, relay.CodeUnavailable, relay.CodeInternal:
		return err
	}
	return cli.Exit(cli.Rejected, fmt.Errorf("the relay refuses: %w", err))
}
