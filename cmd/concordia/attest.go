package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/keyfile"
)

func (a *app) attestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "attest",
		Short: "Issue signed artifacts: receipts, approvals, mandates, revocations and more",
		Long: `attest makes and signs what others can verify later, without asking you. What an
artifact says comes from flags, from a JSON file with --in (- is standard input), or
from both; what is left out and has only one usual answer is filled in. The artifact
goes to standard output as canonical JSON, one line. It has been verified: nothing
is signed that concordia verify would refuse.

The key is read from the file that --key names and never shown.`,
		Example: `  concordia attest approval approve --key boss.key --offer offer.json --session ses_4a1b --amount "2050 USD" --threshold over_1000
  concordia attest mandate issue --key boss.key --subject did:web:agent.example --constraints limits.json --until 2026-12-31T23:59:59Z
  concordia attest revoke urn:concordia:mandate:7 --type mandate --reason "the key was lost" --key boss.key`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		a.receiptCommand(), a.fulfillmentCommand(), a.approvalCommand(), a.revokeCommand(), a.cascadeCommand(), a.mandateCommand(),
		a.predicateCommand(), a.profileCommand(), a.bundleCommand(), a.proofCommand(), a.cosignCommand(), a.envelopeCommand(),
		a.recordCommand(), a.chainCommand(),
	)
	return cmd
}

// group is a command that only has others below it.
func group(use, short, example string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(below...)
	return cmd
}

// An issuing is a command that makes an artifact of a draft.
type issuing struct {
	app                         *app
	key, passphraseFile, in, at string
	keyFiles                    []string
	members                     []*member
}

// A member of a draft that a flag sets.
type member struct {
	flag string
	path []string
	read func(text string) (any, error)
	text string
}

// issue adds the flags that every command has which signs.
func (a *app) issue(cmd *cobra.Command) *issuing {
	i := &issuing{app: a}
	f := cmd.Flags()
	f.StringVar(&i.key, "key", "", "key `file` of who signs (concordia id new)")
	f.StringVar(&i.passphraseFile, "passphrase-file", "", "`file` whose first line opens the key")
	f.StringArrayVar(&i.keyFiles, "keys", nil, "JSON `file` with the public keys of others (repeatable)")
	f.StringVar(&i.at, "at", "", "issue at this `time` instead of now")
	return i
}

// draft adds the flag for a draft in a file.
func (i *issuing) draft(cmd *cobra.Command) *issuing {
	cmd.Flags().StringVar(&i.in, "in", "", "JSON `file` with what is said; flags go before it")
	return i
}

// with adds flags that set members of the draft. A row says the flag, the path of the
// member, the usage and how the text is read.
func (i *issuing) with(cmd *cobra.Command, flags ...[4]string) *issuing {
	for _, f := range flags {
		m := &member{flag: f[0], path: strings.Split(f[1], "."), read: readers[f[3]]}
		cmd.Flags().StringVar(&m.text, m.flag, "", f[2])
		i.members = append(i.members, m)
	}
	return i
}

// readers read the text of a flag, by the last column of a table of flags.
var readers = map[string]func(string) (any, error){
	"text": func(s string) (any, error) { return s, nil },
	"time": func(s string) (any, error) { _, err := wire.ParseTime(s); return s, err },
	"int": func(s string) (any, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err
	},
	"bool": func(s string) (any, error) { return strconv.ParseBool(s) },
	"json": func(s string) (any, error) { return readJSONInput(s) },
	"hash": func(s string) (any, error) { // of the file
		v, err := readJSONInput(s)
		return v.Hash(), err
	},
	"list": func(s string) (any, error) { return strings.Split(s, ","), nil },
}

// errNotItsKey keeps a key from signing in the name of an agent who has another one.
var errNotItsKey = errors.New("the agent that it names has another key, as --keys or its did:key say")

// issuer opens the key.
func (i *issuing) issuer() (attest.Issuer, error) {
	var none attest.Issuer
	if i.key == "" {
		return none, cli.Usagef("--key is missing: the key file of who signs")
	}
	now, err := i.now()
	if err != nil {
		return none, err
	}
	keys, err := readKeys(i.keyFiles)
	if err != nil {
		return none, err
	}
	var passphrase func() ([]byte, error)
	if i.passphraseFile != "" {
		passphrase = func() ([]byte, error) { return readPassphrase(i.passphraseFile) }
	}
	id, err := keyfile.Load(i.key, passphrase)
	if err != nil {
		return none, err
	}
	if known, err := keys.Key(id.Agent, now); err == nil && known != id.Key.Public() {
		return none, cli.Exit(cli.Rejected, fmt.Errorf("reading key file %s: %w", i.key, errNotItsKey))
	}
	return attest.Issuer{Agent: id.Agent, Key: id.Key, Now: now, Random: i.app.rand, Keys: keys}, nil
}

func (i *issuing) now() (time.Time, error) {
	if i.at == "" {
		return i.app.now(), nil
	}
	t, err := wire.ParseTime(i.at)
	if err != nil {
		return t, cli.Usagef("--at: %v", err)
	}
	return t, nil
}

// read returns the draft of file and flags.
func (i *issuing) read(cmd *cobra.Command) (wire.Value, error) {
	v, err := wire.Encode(wire.M{})
	if err == nil && i.in != "" {
		v, err = readJSONInput(i.in)
	}
	if err != nil {
		return v, err
	}
	if v.Kind() != wire.Object {
		return v, cli.Usagef("--in: want a JSON object")
	}
	set := map[string]string{} // by which flag, of each member
	for _, m := range i.members {
		if !cmd.Flags().Changed(m.flag) {
			continue
		}
		path := strings.Join(m.path, ".")
		if other, twice := set[path]; twice {
			return v, cli.Usagef("--%s and --%s say the same thing: leave one out", other, m.flag)
		}
		set[path] = m.flag
		x, err := m.read(m.text)
		if err != nil {
			return v, cli.Usagef("--%s: %v", m.flag, err)
		}
		if v, err = put(v, x, m.path); err != nil {
			return v, cli.Usagef("--%s: %v", m.flag, err)
		}
	}
	return v, nil
}

// put sets a member of an object inside v.
func put(v wire.Value, x any, path []string) (wire.Value, error) {
	if len(path) > 1 {
		inner, ok := v.Get(path[0])
		if !ok || inner.Kind() != wire.Object {
			var err error
			if inner, err = wire.Encode(wire.M{}); err != nil {
				return v, err
			}
		}
		inner, err := put(inner, x, path[1:])
		return v.With(path[0], inner), err
	}
	m, err := wire.Encode(x)
	return v.With(path[0], m), err
}

// readJSONInput reads a JSON file, or standard input for "-".
func readJSONInput(path string) (wire.Value, error) {
	if path != "-" {
		return readJSON(path)
	}
	data, err := io.ReadAll(io.LimitReader(os.Stdin, wire.MaxDocumentSize+1))
	if err != nil {
		return wire.Value{}, fmt.Errorf("reading standard input: %w", err)
	}
	v, err := parseDocument(data)
	if _, secret := v.Get("concordia_key"); secret && err == nil {
		v, err = wire.Value{}, errKeyFile
	}
	if err != nil {
		return v, fmt.Errorf("reading standard input: %w", err)
	}
	return v, nil
}

// readJSONInputs reads each as readJSONInput does.
func readJSONInputs(paths []string) ([]wire.Value, error) {
	list := make([]wire.Value, len(paths))
	for n, path := range paths {
		var err error
		if list[n], err = readJSONInput(path); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// artifact prints what was made: canonical JSON, with --json or without.
func (a *app) artifact(v wire.Value, err error) error {
	if err != nil {
		return cli.Exit(cli.Rejected, err)
	}
	_, err = fmt.Fprintln(a.out.w, v.Canonical())
	return err
}

// makes is a command that makes an artifact of a draft alone.
func (a *app) makes(cmd *cobra.Command, make func(attest.Issuer, wire.Value) (wire.Value, error), flags ...[4]string) *cobra.Command {
	cmd.Args = cobra.NoArgs
	return a.makesOf(cmd, func(i attest.Issuer, draft wire.Value, _ []wire.Value) (wire.Value, error) { return make(i, draft) }, flags...)
}

// makesOf is a command that makes an artifact of a draft and of files, its arguments.
func (a *app) makesOf(cmd *cobra.Command, make func(i attest.Issuer, draft wire.Value, of []wire.Value) (wire.Value, error), flags ...[4]string) *cobra.Command {
	i := a.issue(cmd).draft(cmd).with(cmd, flags...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		issuer, err := i.issuer()
		if err != nil {
			return err
		}
		of, err := readJSONInputs(args)
		if err != nil {
			return err
		}
		draft, err := i.read(cmd)
		if err != nil {
			return err
		}
		return a.artifact(make(issuer, draft, of))
	}
	return cmd
}
