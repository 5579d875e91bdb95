package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/internal/cli"
)

func runCommand() *cobra.Command {
	var profile, format, program string
	var jobs int
	var timeout time.Duration
	var verbose, asJSON bool
	cmd := &cobra.Command{
		Use:   "run [DIR|MANIFEST]",
		Short: "Run a suite and compare the verdicts",
		Long: `run judges every vector of a suite and ends with one line that counts them. It
also fails a suite that is broken itself: a file that is missing or not listed,
a wrong count, an id used twice, a malformed vector.

With --exec it judges another implementation: a program that reads one question
a line, {"verification_profile", "input", "context"}, and answers each with one
line, {"verdict": "accept"|"reject", "reason": CLASS}; the reason may be left
out. It is never told what is expected. A wrong verdict, no answer in time, a
crash: each fails that vector, and the program is started anew.`,
		Example: `  conformance run vectors/
  conformance run vectors/ --profile mandate-v1 -v
  conformance run vectors/ --exec 'node verifier.mjs' --jobs 4 --format junit`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usagef("run takes one suite, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := formats[format]
			if !ok {
				return cli.Usagef("--format: want text, json or junit")
			}
			if profile != "" && !slices.Contains(conformance.Profiles(), profile) {
				return cli.Usagef("--profile: there is no %q; see conformance list --profiles", profile)
			}
			if jobs < 1 || jobs > 1024 || timeout <= 0 {
				return cli.Usagef("--jobs is 1 to 1024, --timeout more than nothing")
			}
			if cmd.Flags().Changed("exec") && strings.TrimSpace(program) == "" {
				return cli.Usagef("--exec: the command is empty")
			}
			if asJSON {
				write = writeJSON
			}
			suite, err := openSuite(args)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			start := time.Now()
			r := conformance.Run{Suite: suite, Profile: profile}
			for range jobs {
				if program == "" {
					r.Judges = append(r.Judges, conformance.Own{})
					continue
				}
				r.Judges = append(r.Judges, &conformance.Foreign{
					Context: ctx, Command: []string{"sh", "-c", program}, Timeout: timeout, Stderr: cmd.ErrOrStderr(),
				})
			}
			results, sum := r.Do()
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			done := report{suite: suite, results: results, sum: sum, took: time.Since(start), verbose: verbose}
			if err := write(cmd.OutOrStdout(), done); err != nil {
				return err
			}
			if sum.Fail > 0 || len(results) == 0 {
				return cli.Exit(cli.Rejected, nil)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&profile, "profile", "", "run the vectors of this profile only")
	f.StringVar(&format, "format", "text", "text, json or junit")
	f.BoolVar(&asJSON, "json", false, "the same as --format json")
	f.StringVar(&program, "exec", "", "judge this program, started by the shell")
	f.IntVar(&jobs, "jobs", runtime.GOMAXPROCS(0), "vectors, or programs, at a time")
	f.DurationVar(&timeout, "timeout", 10*time.Second, "for each answer of --exec")
	f.BoolVarP(&verbose, "verbose", "v", false, "show the vectors that came out as expected, too")
	return cmd
}
