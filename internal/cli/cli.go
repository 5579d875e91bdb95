// Package cli holds what the commands of this project share: exit codes, errors
// that carry one, and the running of a command line.
package cli

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// Exit codes (SPEC §12.4).
const (
	OK          = 0
	Rejected    = 1 // a required check failed
	Usage       = 2 // the command line is wrong
	Operational = 3 // it could not be tried
	Unchecked   = 4 // nothing failed, but a required check could not be made
)

// An Error ends the program with a code. An error without one is operational.
type Error struct {
	Code int
	Err  error // nil: everything has been said already
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Exit returns an error that ends the program with a code, and says err unless
// that is nil.
func Exit(code int, err error) error { return &Error{code, err} }

// Usagef reports a wrong command line.
func Usagef(format string, args ...any) error {
	return Exit(Usage, fmt.Errorf(format, args...))
}

// Run executes a command line and returns its exit code. help, which may be nil,
// adds a line of advice to an error.
func Run(root *cobra.Command, args []string, stdout, stderr io.Writer, help func(error) string) int {
	out := &Output{w: stdout}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetVersionTemplate("{{.Version}}\n")
	usageErrors(root)
	sayExitCodes(root)
	cmd, err := root.ExecuteC()
	if err == nil {
		err = out.err
	}
	if err == nil {
		return OK
	}
	code := Operational
	e, coded := errors.AsType[*Error](err)
	if coded {
		code = e.Code
	}
	if !coded || e.Err != nil {
		lines := strings.Split(err.Error(), "\n") // of errors that were joined
		for i := range lines {
			lines[i] = Visible(lines[i])
		}
		fmt.Fprintf(stderr, "%s: %s\n", root.Name(), strings.Join(lines, "\n"))
	}
	if out.err != nil && !errors.Is(err, out.err) { // a verdict is what it is, but not all of it was told
		fmt.Fprintf(stderr, "%s: %s\n", root.Name(), Visible(out.err.Error()))
	}
	if help != nil {
		if advice := help(err); advice != "" {
			fmt.Fprintln(stderr, advice)
		}
	}
	if code == Usage {
		fmt.Fprintf(stderr, "See %s --help.\n", cmd.CommandPath())
	}
	return code
}

// An Output is standard output. It remembers that something could not be written.
type Output struct {
	w   io.Writer
	err error
}

func (o *Output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("writing the result: %w", err)
	}
	return n, err
}

// Writer returns what the output writes to.
func (o *Output) Writer() io.Writer { return o.w }

// Takes checks that a command was given the arguments that its usage line names,
// the last of them once or more if dots follow it.
func Takes(cmd *cobra.Command, args []string) error {
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
	return Usagef("%s takes %s, not %d", strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), want, len(args))
}

// usageErrors gives every complaint about flags and arguments its exit code.
func usageErrors(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &Error{Usage, err} })
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if _, coded := errors.AsType[*Error](err); err == nil || coded {
				return err
			}
			return &Error{Usage, err}
		}
	}
	for _, sub := range cmd.Commands() {
		usageErrors(sub)
	}
}

// ExitCodes is what the help of a command says of its exit codes if that has nothing of
// its own.
const ExitCodes = `Exit codes: 0 all good, 1 something was rejected, 2 wrong usage, 3 it could not be
tried, 4 nothing failed but a required check could not be made.`

// sayExitCodes has the help of each command say what its exit codes mean.
func sayExitCodes(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		sayExitCodes(sub)
	}
	if cmd.HasSubCommands() || strings.Contains(cmd.Long, "Exit codes: ") {
		return
	}
	if cmd.Long == "" {
		cmd.Long = cmd.Short + "."
	}
	cmd.Long += "\n\n" + ExitCodes
}

// Version returns the version of the build.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

// Visible returns a sentence in which whatever a terminal might act on, of a file's name
// for example, is written as an escape.
func Visible(s string) string {
	if Printable(s) == s {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// Printable quotes text from outside if a terminal might act on it or a reader be
// fooled by it.
func Printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) || !utf8.ValidString(s) {
		return fmt.Sprintf("%+q", s)
	}
	return s
}
