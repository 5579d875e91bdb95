// Command concordia negotiates, keeps and verifies signed agreements between
// agents. See concordia --help.
package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/wire"
)

// Exit codes (SPEC §12.4).
const (
	exitOK          = 0
	exitRejected    = 1 // a required check failed
	exitUsage       = 2 // the command line is wrong
	exitOperational = 3 // it could not be tried
	exitUnchecked   = 4 // nothing failed, but a required check could not be made
)

// exitError ends the program with a code. An error without one is operational.
type exitError struct {
	code int
	err  error // nil: everything has been said already
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// app is what the verbs share.
type app struct {
	out  printer
	now  func() time.Time
	rand io.Reader
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes one command line and returns its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	a := &app{now: time.Now, rand: rand.Reader}
	root := a.command()
	out := &checkedWriter{w: stdout}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	cmd, err := root.ExecuteC()
	if err == nil {
		err = out.err
	}
	if err == nil {
		return exitOK
	}
	code := exitOperational
	e, coded := errors.AsType[*exitError](err)
	if coded {
		code = e.code
	}
	if !coded || e.err != nil {
		fmt.Fprintf(stderr, "concordia: %v\n", err)
	}
	if damaged, ok := errors.AsType[*groupcommit.CorruptError](err); ok {
		fmt.Fprintf(stderr, "What is left of it: concordia session salvage %s NEW\n", damaged.Path)
	}
	if code == exitUsage {
		fmt.Fprintf(stderr, "See %s --help.\n", cmd.CommandPath())
	}
	return code
}

// A checkedWriter remembers that something could not be written.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("writing the result: %w", err)
	}
	return n, err
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "concordia",
		Short: "Signed negotiations between agents, and proof of what was agreed",
		Long: `concordia lets agents negotiate with signed, hash-chained messages and gives
both sides a receipt that anyone can verify offline.

Exit codes: 0 all good, 1 something was rejected, 2 wrong usage, 3 it could not
be tried, 4 nothing failed but a required check could not be made.`,
		Example: `  concordia demo
  concordia verify transcript.json --keys keys.json`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			a.out.w = cmd.OutOrStdout()
			if c, ok := a.out.w.(*checkedWriter); ok {
				a.out.colour = isTerminal(c.w) && os.Getenv("NO_COLOR") == ""
			}
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.PersistentFlags().BoolVar(&a.out.json, "json", false, "print JSON, one value for each command")
	root.AddCommand(a.demoCommand(), a.idCommand(), a.sessionCommand(), a.agreementCommand(), a.verifyCommand(), a.specCommand())
	root.CompletionOptions.HiddenDefaultCmd = true
	usageErrors(root)
	return root
}

// takes checks that a command was given the arguments that its usage line names,
// the last of them once or more if dots follow it.
func takes(cmd *cobra.Command, args []string) error {
	names := strings.Fields(cmd.Use)[1:]
	fits := len(args) == len(names)
	want := strings.Join(names, " and ")
	switch name, many := strings.CutSuffix(want, "..."); {
	case many:
		fits, want = len(args) >= len(names), "one or more "+name
	case len(names) == 0:
		want = "no argument"
	case len(names) == 1:
		want = "one " + want
	}
	if fits {
		return nil
	}
	return usageError("%s takes %s, not %d", strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), want, len(args))
}

// usageErrors gives every complaint about flags and arguments its exit code.
func usageErrors(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exitError{exitUsage, err} })
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return &exitError{exitUsage, err}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		usageErrors(sub)
	}
}

// version describes the build.
func version() string {
	v := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		v = info.Main.Version
	}
	return fmt.Sprintf("concordia %s (protocol %s)", v, wire.ProtocolVersion)
}
