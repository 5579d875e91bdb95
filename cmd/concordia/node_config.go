package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/protocol/menu"
	"github.com/concordia-node/concordia/wire"
)

// configName is the file that configures the node of a directory.
const configName = "node.yaml"

// nodeName is the file that a node keeps its contacts, sessions and notices in.
const nodeName = "node.db"

// A setting is one thing that can be configured, by the flag --name-with-dashes, by the
// variable CONCORDIA_NAME, and by name in the file.
type setting struct {
	name  string
	kind  settingKind
	usage string
	value string // as text; the otherwise of who says nothing
	from  string // where the value comes from
}

type settingKind int

const (
	textSetting  settingKind = iota
	pathSetting              // in a file, relative to where the file is
	pathsSetting             // several, separated as in PATH
	yesSetting               // true or false
)

// flag is the name of the flag.
func (s *setting) flag() string { return strings.ReplaceAll(s.name, "_", "-") }

// variable is the name of the environment variable.
func (s *setting) variable() string { return "CONCORDIA_" + strings.ToUpper(s.name) }

// A nodeConfig is how a node is to be run.
type nodeConfig struct {
	app      *app
	settings []*setting
	flags    map[string]*string // by the name of the setting
	file     string             // that was read; "": none
	policy   node.Policy
}

// nodeConfig registers flags for what a node needs: everything if it serves.
func (a *app) nodeConfig(cmd *cobra.Command, serves bool) *nodeConfig {
	c := &nodeConfig{app: a, flags: map[string]*string{}, settings: []*setting{
		{name: "dir", kind: pathSetting, usage: "`directory` of the node"},
		{name: "config", kind: pathSetting, usage: "YAML `file` with settings, DIR/" + configName + " by default"},
		{name: "key", kind: pathSetting, usage: "key `file` of the agent (concordia id new)"},
		{name: "passphrase_file", kind: pathSetting, usage: "`file` whose first line opens the key"},
		{name: "relay", usage: "`URL` of the home relay"},
		{name: "relay_id", usage: "`id` of the home relay, instead of the one that it says the first time"},
		{name: "keys", kind: pathsSetting, usage: "JSON `files` with the public keys of agents, separated as in PATH"},
		{name: "loopback", kind: yesSetting, value: "false", usage: "let the node talk to this machine, over http:// as well"},
		{name: "listen", usage: "`address` for others to reach, as :8443: for direct delivery"},
		{name: "public", usage: "`origin` at which others reach it, as https://lena.example"},
		{name: "tls_cert", kind: pathSetting, usage: "PEM `file` with the certificate, and those between it and its root"},
		{name: "tls_key", kind: pathSetting, usage: "PEM `file` with the certificate's key"},
		{name: "acme", usage: "get a certificate for this `host` from Let's Encrypt, and keep it in DIR/acme"},
		{name: "insecure_http", kind: yesSetting, value: "false", usage: "listen in the clear: a proxy in front speaks TLS"},
		{name: "trusted_proxy", usage: "`CIDRs` of proxies whose X-Forwarded-For is believed, separated by commas"},
		{name: "mcp", usage: "`address` to serve MCP over HTTP at, as 127.0.0.1:7420: for the owner's agents"},
		{name: "mcp_menu", value: string(menu.Auto), usage: "auto, static, dynamic or dispatch: which `tools` are shown over MCP"},
		{name: "mcp_tools", usage: "`groups` of tools that there are over MCP beside negotiate, separated by commas; all by default"},
		{name: "mcp_hosts", usage: "`names` by which MCP is asked for, separated by commas, besides those of this machine"},
		{name: "mcp_origins", usage: "`origins` of pages that may use MCP, separated by commas; none by default"},
		{name: "log_level", value: "info", usage: "`level`: debug, info, warn or error"},
	}}
	always := []string{"dir", "config", "key", "passphrase_file", "relay", "loopback"}
	for _, s := range c.settings {
		s.from = "default"
		if !serves && !slices.Contains(always, s.name) {
			continue
		}
		c.flags[s.name] = new(string)
		if s.kind != yesSetting {
			cmd.Flags().StringVar(c.flags[s.name], s.flag(), s.value, s.usage)
			continue
		}
		*c.flags[s.name] = s.value
		cmd.Flags().Var((*yesFlag)(c.flags[s.name]), s.flag(), s.usage)
		cmd.Flags().Lookup(s.flag()).NoOptDefVal = "true"
	}
	return c
}

// A yesFlag is the text of a flag that needs none. What it says is read with the other
// settings, wherever they come from.
type yesFlag string

func (y *yesFlag) String() string { return string(*y) }

func (y *yesFlag) Set(text string) error {
	*y = yesFlag(text)
	return nil
}

func (y *yesFlag) Type() string { return "bool" }

// get returns the value of a setting.
func (c *nodeConfig) get(name string) string { return c.setting(name).value }

func (c *nodeConfig) setting(name string) *setting {
	i := slices.IndexFunc(c.settings, func(s *setting) bool { return s.name == name })
	return c.settings[i]
}

func (c *nodeConfig) yes(name string) bool { return c.get(name) == "true" }

// read takes settings from the flags, then the environment, then the file.
func (c *nodeConfig) read(cmd *cobra.Command) error {
	given := func(s *setting) bool { return s.from != "default" }
	for _, s := range c.settings {
		if text, ok := c.flags[s.name]; ok && cmd.Flags().Changed(s.flag()) {
			s.value, s.from = *text, "flag --"+s.flag()
		} else if text, ok := os.LookupEnv(s.variable()); ok {
			s.value, s.from = text, "environment "+s.variable()
		}
	}
	path := c.get("config")
	if path == "" && c.get("dir") != "" {
		path = filepath.Join(c.get("dir"), configName)
	}
	if path != "" {
		v, err := readYAML(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !given(c.setting("config")):
		case err != nil:
			return err
		default:
			if err := c.readFile(path, v, given); err != nil {
				return err
			}
		}
	}
	for _, s := range c.settings {
		if _, err := strconv.ParseBool(s.value); s.kind == yesSetting && err != nil {
			return cli.Usagef("%s (%s): want true or false", s.name, s.from)
		} else if s.kind == yesSetting {
			yes, _ := strconv.ParseBool(s.value)
			s.value = strconv.FormatBool(yes)
		}
	}
	if c.get("dir") == "" {
		return cli.Usagef("--dir is missing: the directory of the node, which is made if need be")
	}
	return nil
}

// readFile takes what neither flags nor the environment say from a file.
func (c *nodeConfig) readFile(path string, v wire.Value, given func(*setting) bool) error {
	c.file = path
	if at := c.setting("config"); at.value == "" {
		at.value, at.from = path, "it is there"
	}
	if v.Kind() != wire.Object && v.Kind() != wire.Null {
		return cli.Usagef("%s: want names of settings with their values", path)
	}
	near := func(p string) string {
		if p == "" || filepath.IsAbs(p) {
			return p
		}
		return filepath.Join(filepath.Dir(path), p)
	}
	for name, x := range v.Members() {
		if name == "policy" {
			if err := json.Unmarshal([]byte(x.Canonical()), &c.policy, json.RejectUnknownMembers(true)); err != nil {
				return cli.Usagef("%s: policy: %v", path, err)
			}
			continue
		}
		i := slices.IndexFunc(c.settings, func(s *setting) bool { return s.name == name && name != "config" })
		if i < 0 {
			return cli.Usagef("%s: there is no setting %q; concordia node config shows those there are", path, name)
		}
		s := c.settings[i]
		var text string
		switch {
		case s.kind == pathsSetting && x.Kind() == wire.Array:
			var list []string
			for _, p := range x.Elems() {
				if p.Kind() != wire.String {
					return cli.Usagef("%s: %s: want a list of files", path, name)
				}
				list = append(list, near(p.Text()))
			}
			text = strings.Join(list, string(filepath.ListSeparator))
		case s.kind == yesSetting && x.Kind() == wire.Bool:
			text = x.Canonical()
		case (s.kind == textSetting || s.kind == pathSetting) && x.Kind() == wire.String:
			text = x.Text()
			if s.kind == pathSetting {
				text = near(text)
			}
		default:
			return cli.Usagef("%s: %s: want %s", path, name, map[settingKind]string{pathsSetting: "a list of files", yesSetting: "true or false"}[s.kind]+
				map[bool]string{true: "a text"}[s.kind == textSetting || s.kind == pathSetting])
		}
		if !given(s) {
			s.value, s.from = text, "file "+path
		}
	}
	return nil
}

// maxConfig bounds a file with settings.
const maxConfig = 1 << 20

// readYAML reads a YAML file as JSON. Names that come twice are refused.
func readYAML(path string) (wire.Value, error) {
	var none wire.Value
	f, err := os.Open(path)
	if err != nil {
		return none, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	switch {
	case err != nil:
		return none, err
	case len(text) > maxConfig:
		return none, cli.Usagef("%s: larger than %d bytes", path, maxConfig)
	case bytes.Contains(text, []byte("concordia_key")):
		return none, fmt.Errorf("reading %s: %w", path, errKeyFile)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	var x any
	if err := d.Decode(&x); err != nil && !errors.Is(err, io.EOF) {
		return none, cli.Usagef("%s: %v", path, err)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return none, cli.Usagef("%s: want one document", path)
	}
	v, err := wire.Encode(x)
	if err != nil {
		return none, cli.Usagef("%s: %v", path, err)
	}
	return v, nil
}

func (a *app) nodeConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings in force, and where each comes from",
		Long: `config shows how a node would be run: flags come first, then the environment (each
setting NAME is CONCORDIA_NAME there), then the file of --config or DIR/node.yaml, then
what is usual. The file is YAML. Files that it names are relative to where it is.

  relay: https://relay.example
  key: seller.key
  mcp: 127.0.0.1:7420             # serve MCP there; tokens are in DIR/mcp.token
  policy:
    unknown: ask                  # invitations of strangers: ask, accept or refuse
    join_known: true
    report_to: ["https://provider.example"]   # who may be told how sessions went; by default nobody
    revokers: ["did:key:z6Mk..."]             # whose revocations of receipts count
    thresholds:
      - {name: over_1000, term: price, amount: 1000, currency: USD, needs: approval, by: ["did:key:z6Mk..."]}`,
		Example: "  concordia node config --dir seller\n  CONCORDIA_RELAY=https://relay.example concordia node config --dir seller --json",
		Args:    cobra.NoArgs,
	}
	c := a.nodeConfig(cmd, true)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.read(cmd); err != nil {
			return err
		}
		return c.print()
	}
	return cmd
}

// print shows the settings in force.
func (c *nodeConfig) print() error {
	type shown struct {
		Value string `json:"value"`
		From  string `json:"from"`
	}
	all := map[string]shown{}
	var rows [][]string
	for _, s := range c.settings {
		all[s.name] = shown{s.value, s.from}
		rows = append(rows, []string{s.name, cli.Printable(s.value), cli.Printable(s.from)})
	}
	c.app.out.table(rows)
	policy, err := wire.Encode(c.policy)
	if err != nil {
		return err
	}
	from := "default"
	if c.file != "" {
		from = "file " + c.file
	}
	c.app.out.printf("  policy (%s)\n    %s\n", cli.Printable(from), cli.Printable(policy.Canonical()))
	return c.app.out.value(map[string]any{"settings": all, "policy": policy})
}
