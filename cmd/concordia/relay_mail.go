package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/boltmail"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
)

// mailPath returns the file in a relay's directory, which has to be there.
func mailPath(dir string) (string, error) {
	if dir == "" {
		return "", cli.Usagef("--dir is missing: the directory of the relay's mail")
	}
	path := filepath.Join(dir, mailName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no %s: concordia relay serve --dir %s makes one", path, dir)
	} else if err != nil {
		return "", err
	}
	return path, nil
}

// lookAtMail opens the mail in a directory for reading.
func lookAtMail(dir string) (*boltmail.Mail, error) {
	path, err := mailPath(dir)
	if err != nil {
		return nil, err
	}
	mail, err := boltmail.OpenReadOnly(path)
	if errors.Is(err, groupcommit.ErrLocked) {
		return nil, fmt.Errorf("%w; a relay runs on %s: stop it first, or ask it: concordia relay stats URL", err, dir)
	}
	return mail, err
}

// printAudited prints what was counted.
func (a *app) printAudited(n relay.Audited, more ...[]string) {
	a.out.table(append([][]string{
		{"agents", fmt.Sprint(n.Agents)},
		{"sessions", fmt.Sprintf("%d, %d of them live", n.Sessions, n.Live)},
		{"entries", fmt.Sprintf("%d, %d bytes", n.Entries, n.Bytes)},
		{"undelivered", fmt.Sprint(n.Unread)},
		{"invitations", fmt.Sprint(n.Waiting)},
		{"consents", fmt.Sprint(n.Decisions)},
	}, more...))
}

func (a *app) relayStatsCommand() *cobra.Command {
	var dir string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "stats [URL]", Short: "Count what a relay keeps, or ask one that runs how it is",
		Long: `stats --dir DIR counts what is in the mail of a relay that does not run. stats URL asks one
that runs for its health: the size of its mail, connections, and its last sweep; a relay
answers that on its own machine only. More is at URL/metrics.

Exit codes: 0 shown, 1 the relay is not well, 2 wrong usage, 3 it could not be tried.`,
		Example: "  concordia relay stats --dir mail\n  concordia relay stats http://127.0.0.1:8080 --json", Args: cobra.MaximumNArgs(1),
	}
	cmd.Flags().StringVar(&dir, "dir", "", "`directory` of the mail")
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "give up after so long")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if (len(args) == 1) == (dir != "") {
			return cli.Usagef("give the URL of a relay that runs, or --dir of one that does not")
		}
		if dir == "" {
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), timeout, errPatience)
			defer cancel()
			return a.relayHealth(ctx, args[0])
		}
		mail, err := lookAtMail(dir)
		if err != nil {
			return err
		}
		defer mail.Close()
		n, err := relay.Count(cmd.Context(), mail)
		if err != nil {
			return err
		}
		used, free := mail.Size()
		a.printAudited(n, []string{"file", fmt.Sprintf("%d bytes, %d free on disk", used, free)})
		return a.out.value(struct {
			relay.Audited
			Used int64 `json:"used_bytes"`
			Free int64 `json:"free_bytes"`
		}{n, used, free})
	}
	return cmd
}

// relayHealth shows what a relay says of its health.
func (a *app) relayHealth(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/healthz", nil)
	if err != nil {
		return cli.Usagef("want the URL of a relay: %v", err)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("asking a relay: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("asking a relay: %w", err)
	}
	v, err := wire.Parse(text, wire.DocumentLimits)
	status, ok := v.Get("status")
	switch {
	case res.StatusCode == http.StatusNotFound:
		return errors.New("the relay does not tell that to this machine: ask on its own")
	case err != nil || !ok:
		return fmt.Errorf("asking a relay: HTTP %d, and no answer of a relay", res.StatusCode)
	}
	var rows [][]string
	for name, value := range v.Members() {
		rows = append(rows, []string{cli.Printable(name), cli.Printable(cut(strings.Trim(value.Canonical(), `"`), 200))})
	}
	a.out.table(rows)
	if err := a.out.value(v); err != nil || status.Text() == "ok" {
		return err
	}
	return cli.Exit(cli.Rejected, fmt.Errorf("the relay is not well: %s", cli.Printable(status.Text())))
}

func (a *app) relayCompactCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "compact --dir DIR", Short: "Give back the space of what a relay has removed",
		Long: `compact makes the file of a relay that does not run as small as what is in it. It needs
as much space beside the file. If it is broken off the file is as it was. A relay that
runs does so itself: serve --compact-every.

Exit codes: 0 done, 2 wrong usage, 3 it could not be done.`,
		Example: "  concordia relay compact --dir mail", Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&dir, "dir", "", "`directory` of the mail")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		path, err := mailPath(dir)
		if err != nil {
			return err
		}
		before, err := os.Stat(path)
		if err != nil {
			return err
		}
		mail, err := openMail(dir)
		if err != nil {
			return err
		}
		bar := a.progress("compacting "+path, before.Size())
		err = mail.Compact(cmd.Context())
		bar.done()
		if err = errors.Join(err, mail.Close()); err != nil {
			return err
		}
		after, err := os.Stat(path)
		if err != nil {
			return err
		}
		a.out.printf("%s: %d bytes before, %d after\n", path, before.Size(), after.Size())
		return a.out.value(map[string]any{"file": path, "before_bytes": before.Size(), "after_bytes": after.Size()})
	}
	return cmd
}

func (a *app) relayDoctorCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "doctor --dir DIR", Short: "Look whether a relay's mail is whole and fits together",
		Long: `doctor reads all of the mail of a relay that does not run, and changes nothing: every
record can be read; the entries of each log are without a gap, signed by who sent them,
and their messages a chain; the counters are what counting anew comes to. So are those
of a market. It prints each problem.

A file that cannot be read at all is damaged: take the last backup, and bring what
messages are left in it into a new store with concordia session salvage.

Exit codes: 0 all is well, 1 there is a problem, 2 wrong usage, 3 it could not be read.`,
		Example: "  concordia relay doctor --dir mail", Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&dir, "dir", "", "`directory` of the mail")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		mail, err := lookAtMail(dir)
		if err != nil {
			return err
		}
		defer mail.Close()
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return a.doctor(ctx, mail)
	}
	return cmd
}

func (a *app) doctor(ctx context.Context, mail *boltmail.Mail) error {
	type found struct {
		Where   string   `json:"where"`
		Problem *problem `json:"problem"`
	}
	counted, err := relay.Count(ctx, mail)
	if err != nil {
		return err
	}
	bar := a.progressOf("reading entries", int(counted.Entries))
	list, seen := []found{}, uint64(0)
	tell := func(p relay.Problem) {
		list = append(list, found{p.Where, problemOf(p.Err)})
		a.out.printf("%s %s: %s\n", a.out.paint(red, "problem"), cli.Printable(p.Where), cli.Printable(p.Err.Error()))
	}
	n, err := relay.Audit(ctx, mail, tell, func(so relay.Audited) {
		bar.add(int(so.Entries - seen))
		seen = so.Entries
	})
	bar.done()
	if err != nil {
		return err
	}
	ofMarket, err := market.Audit(ctx, mail, tell)
	if err != nil {
		return err
	}
	rows := [][]string{}
	if ofMarket != (market.Audited{}) {
		rows = append(rows, []string{"market", fmt.Sprintf("%d wants, %d haves, %d listings, %d profiles", ofMarket.Wants, ofMarket.Haves, ofMarket.Listings, ofMarket.Profiles)})
	}
	a.printAudited(n, append(rows, []string{"problems", fmt.Sprint(len(list))})...)
	if err := a.out.value(map[string]any{"counted": n, "market": ofMarket, "problems": list}); err != nil {
		return err
	}
	if len(list) > 0 {
		return cli.Exit(cli.Rejected, nil)
	}
	return nil
}
