package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/keyfile"
)

func (a *app) idCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "id",
		Short:   "Make and show an agent's identity",
		Example: "  concordia id new seller.key\n  concordia id show seller.key",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.idNewCommand(), a.idShowCommand())
	return cmd
}

// identity is what may be shown of a key file.
type identity struct {
	Agent     wire.AgentID   `json:"agent_id"`
	PublicKey wire.PublicKey `json:"public_key"`
	File      string         `json:"file"`
}

func (a *app) printIdentity(id identity) error {
	a.out.table([][]string{
		{"agent", cli.Printable(string(id.Agent))},
		{"public key", id.PublicKey.String()},
		{"file", id.File},
	})
	return a.out.value(id)
}

func (a *app) idNewCommand() *cobra.Command {
	var agent, passphraseFile, algorithm string
	cmd := &cobra.Command{
		Use:   "new FILE",
		Short: "Make a key and keep it in FILE",
		Long: `new draws a key and writes it to FILE, which only its owner can read.
It never overwrites a file. The agent's id is the did:key of the key, so that
others need nothing but the id to verify its signatures, unless --agent names
another.

Negotiation takes an Ed25519 key. With --algorithm ES256 the key is a P-256 key,
which signs mandates, predicates and envelopes alone and needs --agent.

With --passphrase-file the key is sealed (argon2id, XChaCha20-Poly1305) with the
first line of that file.`,
		Example: `  concordia id new seller.key
  concordia id new seller.key --passphrase-file passphrase.txt
  concordia id new issuer.key --algorithm ES256 --agent did:web:issuer.example`,
		Args: cli.Takes,
		RunE: func(_ *cobra.Command, args []string) error {
			if cmdAgent := wire.AgentID(agent); agent != "" {
				if err := wire.CheckID(cmdAgent); err != nil {
					return cli.Usagef("--agent: %v", err)
				}
			}
			generate := wire.GenerateKey
			switch wire.Algorithm(algorithm) {
			case wire.EdDSA:
			case wire.ES256:
				if generate = wire.GenerateP256Key; agent == "" {
					return cli.Usagef("an ES256 key has no id of its own: give one with --agent, such as a did:web")
				}
			default:
				return cli.Usagef("--algorithm: want EdDSA or ES256")
			}
			key, err := generate(a.rand)
			if err != nil {
				return err
			}
			id := keyfile.Identity{Agent: wire.AgentID(agent), Key: key}
			if agent == "" {
				id.Agent = wire.DIDKey(key.Public())
			}
			var passphrase []byte
			if passphraseFile != "" {
				if passphrase, err = readPassphrase(passphraseFile); err != nil {
					return err
				}
			}
			if err := keyfile.Create(args[0], id, passphrase, a.rand); err != nil {
				return err
			}
			return a.printIdentity(identity{id.Agent, key.Public(), args[0]})
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "`id` of the agent instead of the key's did:key")
	cmd.Flags().StringVar(&algorithm, "algorithm", string(wire.EdDSA), "`name`: EdDSA or ES256")
	cmd.Flags().StringVar(&passphraseFile, "passphrase-file", "", "seal the key with the first line of this `file`")
	return cmd
}

func (a *app) idShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show FILE",
		Short:   "Show the agent id and public key in FILE, never the private key",
		Example: "  concordia id show seller.key",
		Args:    cli.Takes,
		RunE: func(_ *cobra.Command, args []string) error {
			agent, key, err := keyfile.Public(args[0])
			if err != nil {
				return err
			}
			return a.printIdentity(identity{agent, key, args[0]})
		},
	}
}

// maxPassphrase is how long a passphrase may be, in bytes.
const maxPassphrase = 1 << 12

// readPassphrase returns the first line of a file.
func readPassphrase(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the passphrase: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPassphrase+2)) // with the end of its line
	if err != nil {
		return nil, fmt.Errorf("reading the passphrase: %w", err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > maxPassphrase {
		return nil, cli.Usagef("reading the passphrase: the first line of %s is longer than %d bytes", path, maxPassphrase)
	}
	if len(line) == 0 {
		return nil, cli.Usagef("reading the passphrase: the first line of %s is empty", path)
	}
	return line, nil
}
