package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/prove"
	written "github.com/concordia-node/concordia/protocol/source"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) protocolCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "protocol",
		Short: "Check, compare and try protocols: who may do what when",
		Long: `protocol reads a protocol, the states of a conversation and what may happen in
each, and says what holds of every run of it, before anything runs.

FILE is a protocol: a document in YAML or JSON, a text such as
"!search.?{found.!book.?done, none}.end", or an automaton that show --json prints;
- is standard input. Each command works offline and changes
no file. What is found comes with a shortest run that shows it, which
concordia protocol simulate replays.`,
		Example: `  concordia protocol lint refund.yaml
  concordia protocol refines fast-refund.yaml refund.yaml
  concordia protocol simulate refund.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		a.protocolLintCommand(), a.protocolProveCommand(), a.protocolRefinesCommand(), a.protocolCompatibleCommand(), a.protocolProjectCommand(),
		a.protocolShowCommand(), a.protocolDrawCommand("dot"), a.protocolDrawCommand("mermaid"), a.protocolDigestCommand(), a.protocolPromptCommand(),
		a.protocolSimulateCommand(), a.protocolTestCommand(),
	)
	return cmd
}

// A protocolFile is a protocol as it was read.
type protocolFile struct {
	path     string
	compiled *protocol.Compiled
	extends  *protocol.Compiled // what it has to refine, or nil
	pressure string             // the rule about being pushed, if it has its own
	warnings []*written.Error
}

func (p *protocolFile) automaton() *protocol.Automaton { return p.compiled.Automaton() }

// parseProtocol reads a protocol in one of its forms: a document in YAML or JSON, the
// text form, or the automaton that show and project print with --json.
func parseProtocol(path string, data []byte, fragment func(name string) ([]byte, error)) (*written.Protocol, error) {
	if v, err := wire.Parse(data, wire.DocumentLimits); err == nil {
		if automaton, ok := v.Get("automaton"); ok {
			p := &written.Protocol{Automaton: &protocol.Automaton{}}
			if err := decodeClosed(automaton, p.Automaton); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			return p, nil
		}
	}
	return written.Parse(string(data), &written.Options{Name: path, Include: func(name string) (string, error) {
		text, err := fragment(name)
		return string(text), err
	}})
}

// maxExtends bounds a chain of protocols each of which extends the next.
const maxExtends = 16

// readProtocol reads a protocol and those that it extends. What is wrong with the text
// of one is a rejection; that a file cannot be read is not.
func readProtocol(path string) (*protocolFile, error) { return readExtended(path, maxExtends) }

func readExtended(path string, depth int) (*protocolFile, error) {
	var data []byte
	var err error
	if path == "-" {
		data, err = readAll(os.Stdin, "standard input")
	} else {
		data, err = readFile(path)
	}
	if err != nil {
		return nil, err
	}
	beside := func(name string) string {
		if path == "-" || filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(filepath.Dir(path), name)
	}
	s, err := parseProtocol(path, data, func(name string) ([]byte, error) { return readFile(beside(name)) })
	if err != nil {
		return nil, cli.Exit(cli.Rejected, err)
	}
	c, err := protocol.Compile(s.Automaton)
	if err != nil {
		return nil, cli.Exit(cli.Rejected, fmt.Errorf("%s: %w", path, err))
	}
	p := &protocolFile{path: path, compiled: c, pressure: s.Pressure, warnings: s.Warnings}
	if s.Extends != "" {
		if depth == 0 {
			return nil, cli.Exit(cli.Rejected, fmt.Errorf("%s: too many protocols extend one another", path))
		}
		parent, err := readExtended(beside(s.Extends), depth-1)
		if err != nil {
			return nil, fmt.Errorf("reading what %s extends: %w", path, err)
		}
		p.extends = parent.compiled
	}
	return p, nil
}

// readAll reads what is of bounded size.
func readAll(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxScript+1))
	if err == nil && len(data) > maxScript {
		err = fmt.Errorf("reading %s: larger than %d bytes", name, maxScript)
	}
	return data, err
}

// maxScript bounds standard input, in bytes.
const maxScript = 1 << 20

// printTrace prints a run, an event a line.
func (p printer) printTrace(t prove.Trace) {
	for i, s := range t {
		note := "-> " + cli.Printable(string(s.To))
		if s.To == protocol.Nowhere {
			note = p.paint(red, "refused")
		}
		if len(s.Assumes) > 0 {
			note += ", if " + cli.Printable(s.Assumes.String())
		}
		p.printf("    %d. %s  %s\n", i+1, cli.Printable(prove.Trace{{Move: s.Move, Doc: s.Doc, To: s.From}}.String()), note)
	}
}

// groupsFlag adds the flag that says what roles stand for several.
func groupsFlag(cmd *cobra.Command, groups *[]string) {
	cmd.Flags().StringArrayVar(groups, "group", nil, "a role that stands for several, as `NAME=ROLE,ROLE` (repeatable)")
}

func parseGroups(list []string) (prove.Groups, error) {
	groups := prove.Groups{}
	for _, text := range list {
		name, members, ok := strings.Cut(text, "=")
		if !ok || name == "" || members == "" {
			return nil, cli.Usagef("--group: want NAME=ROLE,ROLE, not %q", text)
		}
		for m := range strings.SplitSeq(members, ",") {
			groups[protocol.Role(name)] = append(groups[protocol.Role(name)], protocol.Role(strings.TrimSpace(m)))
		}
	}
	return groups, nil
}

// projected returns the protocol of one role; of no role, the protocol.
func projected(p *protocolFile, role string, groups prove.Groups) (*protocol.Compiled, error) {
	if role == "" {
		return p.compiled, nil
	}
	known := prove.Roles(p.automaton(), groups)
	found := false
	var names []string
	for _, r := range known {
		found = found || string(r) == role
		names = append(names, string(r))
	}
	if !found {
		return nil, cli.Usagef("%s has no role %q: it has %s", p.path, role, strings.Join(names, ", "))
	}
	return protocol.Compile(prove.Project(p.automaton(), protocol.Role(role), groups))
}

// harmless writes what a terminal might act on as escapes, except for the ends of lines.
func harmless(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}
