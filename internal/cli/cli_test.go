package cli_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "",
		"größer, \"quoted\"": "größer, \"quoted\"",
		"a\x1b[2Jb":          `a\x1b[2Jb`,
		"a\nb\x00":           `a\nb\x00`,
		"\u202ea\ufffd":      `\u202ea` + "\ufffd",
		"a\xffb":             `a\xffb`,
	} {
		if got := cli.Visible(text); got != want {
			t.Errorf("Visible(%+q) = %+q, want %+q", text, got, want)
		}
	}
}

// What goes wrong may have a name that a stranger chose. A terminal shows it and does not
// obey it.
func TestRunEscapes(t *testing.T) {
	root := &cobra.Command{Use: "x", RunE: func(*cobra.Command, []string) error {
		return errors.Join(errors.New("opening \x1b[2J\xff"), errors.New("and b"))
	}}
	var stderr strings.Builder
	if code := cli.Run(root, nil, io.Discard, &stderr, nil); code != cli.Operational {
		t.Errorf("code %d, want %d", code, cli.Operational)
	}
	if want := "x: opening \\x1b[2J\\xff\nand b\n"; stderr.String() != want {
		t.Errorf("error %q, want %q", stderr.String(), want)
	}
}

// A verdict that could not be written is told of.
func TestRunUnwritten(t *testing.T) {
	root := &cobra.Command{Use: "x", RunE: func(cmd *cobra.Command, _ []string) error {
		_, _ = io.WriteString(cmd.OutOrStdout(), "fail")
		return cli.Exit(cli.Rejected, nil)
	}}
	var stderr strings.Builder
	code := cli.Run(root, nil, failing{}, &stderr, nil)
	if code != cli.Rejected || !strings.Contains(stderr.String(), "writing the result: full") {
		t.Errorf("code %d, error %q", code, stderr.String())
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }
