package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/keyfile"
)

// A relayAgent is an agent at a relay, as the flags of its verbs say.
type relayAgent struct {
	app            *app
	relay          string
	key            string
	passphraseFile string
	keyFiles       []string
	token          string
	timeout        time.Duration

	id   keyfile.Identity
	keys wire.Keys
	*relay.Client
}

// relayVerb makes a verb of an agent at a relay.
func (a *app) relayVerb(cmd *cobra.Command, do func(context.Context, *relayAgent, []string) error) (*cobra.Command, *relayAgent) {
	r := &relayAgent{app: a}
	f := cmd.Flags()
	f.StringVar(&r.relay, "relay", "", "`URL` of the relay: https://HOST, or http:// to this machine")
	f.StringVar(&r.key, "key", "", "key `file` of the agent (concordia id new)")
	f.StringVar(&r.passphraseFile, "passphrase-file", "", "`file` whose first line opens the key")
	f.StringArrayVar(&r.keyFiles, "keys", nil, "JSON `file` with the public keys of others (repeatable)")
	f.StringVar(&r.token, "token", "", "`file` with the token, instead of KEYFILE.HOST.token")
	f.DurationVar(&r.timeout, "timeout", 30*time.Second, "give up when the relay has not answered for so long")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := r.open(relay.ClientOptions{}); err != nil {
			return err
		}
		ctx, cancel := r.patience(cmd.Context())
		defer cancel()
		return relayed(do(ctx, r, args))
	}
	return cmd, r
}

var errPatience = errors.New("the relay does not answer")

// patience bounds how long a relay is asked.
func (r *relayAgent) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, r.timeout, errPatience)
}

// open reads the key and makes the client. The options say what the flags do not.
func (r *relayAgent) open(opts relay.ClientOptions) (err error) {
	switch {
	case r.relay == "":
		return cli.Usagef("--relay is missing: the URL of the relay, https://HOST")
	case r.key == "":
		return cli.Usagef("--key is missing: the key file of the agent")
	case r.timeout <= 0:
		return cli.Usagef("--timeout: want a time above 0")
	}
	var passphrase func() ([]byte, error)
	if r.passphraseFile != "" {
		passphrase = func() ([]byte, error) { return readPassphrase(r.passphraseFile) }
	}
	if r.keys, err = readKeys(r.keyFiles); err != nil {
		return err
	}
	if r.id, err = keyfile.Load(r.key, passphrase); err != nil {
		return err
	}
	if r.id.Key.Public().Algorithm() != wire.EdDSA {
		return cli.Usagef("--key: a relay takes agents with an Ed25519 key")
	}
	if r.token == "" {
		r.token = r.beside("token")
	}
	tokens := &tokenFile{path: r.token}
	known, err := tokens.read()
	if err != nil {
		return err
	}
	opts.URL, opts.Agent, opts.Signer, opts.Keys = r.relay, r.id.Agent, r.id.Key, r.keys
	opts.Relay, opts.Tokens, opts.Now = known.Relay, tokens, r.app.now
	if r.Client, err = relay.NewClient(opts); err != nil {
		return cli.Usagef("--relay: %v", err)
	}
	tokens.relay = r.RelayID
	return nil
}

// beside names a file beside the key, for this relay.
func (r *relayAgent) beside(what string) string { return r.key + "." + hostOf(r.relay) + "." + what }

func (a *app) relayInfoCommand() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "info URL", Short: "Show what a relay is, and its limits",
		Long: `info asks a relay for its id, its clock and its limits, by the names of RFC 0001. It needs
no key.

Exit codes: 0 shown, 2 wrong usage, 3 the relay does not answer.`,
		Example: "  concordia relay info https://relay.example\n  concordia relay info http://127.0.0.1:8080 --json", Args: cli.Takes,
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "give up after so long")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		key, err := wire.GenerateKey(a.rand) // of nobody: nothing is signed
		if err != nil {
			return err
		}
		c, err := relay.NewClient(relay.ClientOptions{URL: args[0], Agent: wire.DIDKey(key.Public()), Signer: key, Keys: wire.DIDKeys{}})
		if err != nil {
			return cli.Usagef("%v", err)
		}
		ctx, cancel := context.WithTimeoutCause(cmd.Context(), timeout, errPatience)
		defer cancel()
		v, err := c.Info(ctx)
		if err != nil {
			return err
		}
		rows := [][]string{}
		for _, name := range []string{"relay", "time", "protocol"} {
			m, _ := v.Get(name)
			rows = append(rows, []string{name, cli.Printable(m.Text())})
		}
		limits, _ := v.Get("limits")
		for name, limit := range limits.Members() {
			rows = append(rows, []string{cli.Printable(name), cli.Printable(cut(limit.Canonical(), 40))})
		}
		services, _ := v.Get("services")
		for service, limits := range services.Members() {
			for name, limit := range limits.Members() {
				rows = append(rows, []string{cli.Printable(service + " " + name), cli.Printable(cut(limit.Canonical(), 40))})
			}
		}
		a.out.table(rows)
		return a.out.value(v)
	}
	return cmd
}

func (a *app) relayRegisterCommand() *cobra.Command {
	var rotate, revoke bool
	cmd, _ := a.relayVerb(&cobra.Command{
		Use: "register", Short: "Register an agent at a relay",
		Long: `register answers the relay's challenge with the agent's key and keeps the token that it
is given in KEYFILE.HOST.token, which only its owner reads, with the id of the relay.
The first registration binds the agent's id to its key at that relay. When there is a
token that counts, nothing is done; other verbs register by themselves.

--rotate replaces the token, --revoke makes all of the agent's tokens worthless and
deletes the file.

Exit codes: 0 registered, 1 refused, for instance because the id is another key's, 2
wrong usage, 3 it could not be tried.`,
		Example: `  concordia relay register --relay https://relay.example --key seller.key
  concordia relay register --rotate --relay https://relay.example --key seller.key`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, r *relayAgent, _ []string) error {
		if rotate && revoke {
			return cli.Usagef("--rotate or --revoke, not both")
		}
		_, err := r.Invitations(ctx) // asks for a token if need be
		switch {
		case err != nil:
		case rotate:
			err = r.Rotate(ctx)
		case revoke:
			err = r.Revoke(ctx, true)
		}
		if err != nil {
			return err
		}
		rows := [][]string{{"agent", cli.Printable(string(r.id.Agent))}, {"relay", cli.Printable(r.RelayID())}}
		if !revoke {
			rows = append(rows, []string{"token", r.token})
		}
		a.out.table(rows)
		return a.out.value(map[string]any{"agent_id": r.id.Agent, "relay": r.RelayID(), "token_file": r.token, "revoked": revoke})
	})
	cmd.Flags().BoolVar(&rotate, "rotate", false, "replace the token by another")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "make all of the agent's tokens worthless")
	return cmd
}

// A relaySession is a relay.SessionInfo for programs.
type relaySession struct {
	Session  wire.SessionID `json:"session_id"`
	State    string         `json:"state"`
	Parties  []relay.Party  `json:"parties"`
	Places   int            `json:"places"`
	Category string         `json:"category,omitempty"`
	Created  string         `json:"created_at"`
	Expires  string         `json:"expires_at"`
	Ended    string         `json:"ended_at,omitempty"`
	Why      relay.End      `json:"why,omitempty"`
	Length   uint64         `json:"length"`
	Cursor   uint64         `json:"cursor"`
}

func sessionValue(s relay.SessionInfo) relaySession {
	v := relaySession{
		Session: s.Session, State: "pending", Parties: s.Parties, Places: s.Places, Category: s.Category,
		Created: wire.FormatTime(s.Created), Expires: wire.FormatTime(s.Expires), Why: s.Why, Length: s.Length, Cursor: s.Cursor,
	}
	for _, p := range s.Parties[min(1, len(s.Parties)):] {
		if p.Standing == relay.Joined {
			v.State = "active"
		}
	}
	if !s.Ended.IsZero() {
		v.State, v.Ended = "ended", wire.FormatTime(s.Ended)
	}
	return v
}

func (a *app) printSession(s relay.SessionInfo) {
	v := sessionValue(s)
	state := v.State
	if v.Why != "" {
		state += ": " + cli.Printable(string(v.Why))
	}
	a.out.printf("%s  %s  %d entries, %d unread, until %s\n", a.out.paint(bold, cli.Printable(string(v.Session))), state, v.Length, v.Length-min(v.Cursor, v.Length), v.Expires)
	for _, p := range v.Parties {
		a.out.printf("  %-8s  %s\n", p.Standing, cli.Printable(string(p.Agent)))
	}
	if v.Places > 0 {
		a.out.printf("  %-8s  %d for whoever comes first\n", "free", v.Places)
	}
}

// sessionVerb is a verb that takes a session and shows what has become of it.
func (a *app) sessionVerb(use, short, long, example string, do func(context.Context, *relayAgent, wire.SessionID) (relay.SessionInfo, error)) *cobra.Command {
	cmd, _ := a.relayVerb(&cobra.Command{Use: use, Short: short, Long: long, Example: example, Args: cli.Takes}, func(ctx context.Context, r *relayAgent, args []string) error {
		info, err := do(ctx, r, wire.SessionID(args[0]))
		if err != nil {
			return err
		}
		a.printSession(info)
		return a.out.value(sessionValue(info))
	})
	return cmd
}

func (a *app) relaySessionsCommand() *cobra.Command {
	cmd, _ := a.relayVerb(&cobra.Command{
		Use: "sessions", Short: "List the sessions that the agent has joined at a relay",
		Long: `sessions lists the sessions that the agent has joined, with their parties, their state
and how many entries it has not acknowledged. All of it is the relay's word.

Exit codes: 0 listed, 1 refused, 2 wrong usage, 3 it could not be tried.`,
		Example: "  concordia relay sessions --relay https://relay.example --key seller.key", Args: cobra.NoArgs,
	}, func(ctx context.Context, r *relayAgent, _ []string) error {
		list, err := r.allSessions(ctx)
		if err != nil {
			return err
		}
		values := make([]relaySession, len(list))
		for i, s := range list {
			values[i] = sessionValue(s)
			a.printSession(s)
		}
		return a.out.value(values)
	})
	return cmd
}

// allSessions returns all sessions that the agent has joined.
func (r *relayAgent) allSessions(ctx context.Context) (all []relay.SessionInfo, err error) {
	for after := wire.SessionID(""); ; {
		list, err := r.Sessions(ctx, after)
		if err != nil || len(list) == 0 {
			return all, err
		}
		all, after = append(all, list...), list[len(list)-1].Session
	}
}

func (a *app) relayInvitationsCommand() *cobra.Command {
	type invitation struct {
		Session  wire.SessionID `json:"session_id"`
		From     wire.AgentID   `json:"from"`
		Category string         `json:"category,omitempty"`
		Created  string         `json:"created_at"`
		Expires  string         `json:"expires_at"`
	}
	cmd, _ := a.relayVerb(&cobra.Command{
		Use: "invitations", Short: "List the sessions that the agent is asked to join",
		Long: `invitations lists what waits for an answer: join, decline, or block whoever asks. Who it is
from is the relay's word until the initiator has signed a message.

Exit codes: 0 listed, 1 refused, 2 wrong usage, 3 it could not be tried.`,
		Example: "  concordia relay invitations --relay https://relay.example --key buyer.key", Args: cobra.NoArgs,
	}, func(ctx context.Context, r *relayAgent, _ []string) error {
		list, err := r.Invitations(ctx)
		if err != nil {
			return err
		}
		values := make([]invitation, len(list))
		for i, v := range list {
			values[i] = invitation{v.Session, v.From, v.Category, wire.FormatTime(v.Created), wire.FormatTime(v.Expires)}
			a.out.printf("%s  from %s  %s\n", a.out.paint(bold, cli.Printable(string(v.Session))), cli.Printable(string(v.From)),
				strings.TrimSpace(cli.Printable(v.Category)+" until "+values[i].Expires))
		}
		return a.out.value(values)
	})
	return cmd
}

func (a *app) relayInviteCommand() *cobra.Command {
	var id, category string
	var life time.Duration
	var places int
	cmd, _ := a.relayVerb(&cobra.Command{
		Use: "invite [AGENT...]", Short: "Reserve a session, and invite agents to it",
		Long: `invite reserves a session at the relay, with a place for each agent that is named and
--places more for whoever comes first. The agent itself has joined; nothing can be sent
before somebody else has. The id of the session, which its messages carry, is drawn
unless --session gives one. The same invitation again changes nothing.

The invitation shows nothing but who it is from and --category.

Exit codes: 0 reserved, 1 refused, 2 wrong usage, 3 it could not be tried.`,
		Example: `  concordia relay invite did:key:z6Mk... --category cameras --relay https://relay.example --key seller.key
  concordia relay invite --places 1 --session ses_4a1b --for 2h --relay https://relay.example --key seller.key`,
	}, func(ctx context.Context, r *relayAgent, args []string) (err error) {
		want := relay.Reservation{Session: wire.SessionID(id), Places: places, Life: life, Category: category}
		switch {
		case len(args) == 0 && places < 1:
			return cli.Usagef("name the agents to invite, or give --places for whoever comes first")
		case places < 0:
			return cli.Usagef("--places: want a number from 0")
		case life < time.Second:
			return cli.Usagef("--for: want a second or more")
		}
		for _, to := range args {
			if err := wire.CheckID(wire.AgentID(to)); err != nil {
				return cli.Usagef("%s: %v", strconv.Quote(cut(to, 80)), err)
			}
			want.To = append(want.To, wire.AgentID(to))
		}
		if want.Session == "" {
			if want.Session, err = wire.NewID[wire.SessionID]("ses_", a.rand); err != nil {
				return err
			}
		} else if err := wire.CheckID(want.Session); err != nil {
			return cli.Usagef("--session: %v", err)
		}
		info, err := r.Create(ctx, want)
		if err != nil {
			return err
		}
		a.printSession(info)
		return a.out.value(sessionValue(info))
	})
	f := cmd.Flags()
	f.StringVar(&id, "session", "", "`id` of the session instead of one that is drawn")
	f.StringVar(&category, "category", "", "a `word` that the invitation shows: a-z, 0-9, dots, hyphens, underscores")
	f.DurationVar(&life, "for", 24*time.Hour, "how long the session lives")
	f.IntVar(&places, "places", 0, "`places` for whoever comes first")
	return cmd
}

func (a *app) relayJoinCommand() *cobra.Command {
	return a.sessionVerb("join SESSION", "Join a session", `join makes the agent a party of a session that it was invited to, or that has a place for
whoever comes first. Joining allows the initiator, if nothing was decided about it.

Exit codes: 0 joined, 1 refused, 2 wrong usage, 3 it could not be tried.`,
		"  concordia relay join ses_4a1b --relay https://relay.example --key buyer.key",
		func(ctx context.Context, r *relayAgent, id wire.SessionID) (relay.SessionInfo, error) {
			return r.Join(ctx, id)
		})
}

func (a *app) relayDeclineCommand() *cobra.Command {
	return a.sessionVerb("decline SESSION", "Answer an invitation with no", `decline answers an invitation with no, for good. If everybody has declined, the session
ends.

Exit codes: 0 declined, 1 refused, 2 wrong usage, 3 it could not be tried.`,
		"  concordia relay decline ses_4a1b --relay https://relay.example --key buyer.key",
		func(ctx context.Context, r *relayAgent, id wire.SessionID) (relay.SessionInfo, error) {
			if err := r.Decline(ctx, id); err != nil {
				return relay.SessionInfo{}, err
			}
			return r.Session(ctx, id)
		})
}

func (a *app) relayCloseCommand() *cobra.Command {
	return a.sessionVerb("close SESSION", "End a session for all its parties", `close ends a session that the agent has joined, for all. What is in its log can be read
until the relay's retention is over.

Exit codes: 0 closed, 1 refused, 2 wrong usage, 3 it could not be tried.`,
		"  concordia relay close ses_4a1b --relay https://relay.example --key seller.key",
		func(ctx context.Context, r *relayAgent, id wire.SessionID) (relay.SessionInfo, error) {
			if err := r.Close(ctx, id); err != nil {
				return relay.SessionInfo{}, err
			}
			return r.Session(ctx, id)
		})
}

// consentNames are the consents as RFC 0001 writes them.
var consentNames = map[relay.Consent]string{relay.Allowed: "allowed", relay.Denied: "denied", relay.Unknown: "unknown"}

// relayConsentCommand is block or allow.
func (a *app) relayConsentCommand(verb string) *cobra.Command {
	consent, short := relay.Denied, "Show no more invitations of an agent, which does not learn it"
	long := `block hides an agent's invitations, those that wait included. To the agent they look
unanswered. Sessions that were joined go on: close them.`
	if verb == "allow" {
		consent, short = relay.Allowed, "Show all invitations of an agent"
		long = `allow shows all invitations of an agent. Of agents that nothing was decided about a few
are shown.`
	}
	var undo bool
	cmd, _ := a.relayVerb(&cobra.Command{
		Use: verb + " AGENT", Short: short, Args: cli.Takes,
		Long:    long + " With --undo, the decision is forgotten.\n\nExit codes: 0 decided, 1 refused, 2 wrong usage, 3 it could not be tried.",
		Example: "  concordia relay " + verb + " did:key:z6Mk... --relay https://relay.example --key buyer.key",
	}, func(ctx context.Context, r *relayAgent, args []string) error {
		about, consent := wire.AgentID(args[0]), consent
		if undo {
			consent = relay.Unknown
		}
		if err := wire.CheckID(about); err != nil {
			return cli.Usagef("%s: %v", strconv.Quote(cut(args[0], 80)), err)
		}
		if err := r.SetConsent(ctx, about, consent); err != nil {
			return err
		}
		a.out.printf("%s  %s\n", consentNames[consent], cli.Printable(args[0]))
		return a.out.value(map[string]any{"agent_id": about, "consent": consentNames[consent]})
	})
	cmd.Flags().BoolVar(&undo, "undo", false, "forget the decision")
	return cmd
}

func (a *app) relayConsentsCommand() *cobra.Command {
	type decision struct {
		Agent   wire.AgentID `json:"agent_id"`
		Consent string       `json:"consent"`
	}
	cmd, _ := a.relayVerb(&cobra.Command{
		Use: "consents", Short: "List the agents that were blocked or allowed",
		Long: `consents lists the agent's decisions about others.

Exit codes: 0 listed, 1 refused, 2 wrong usage, 3 it could not be tried.`,
		Example: "  concordia relay consents --relay https://relay.example --key buyer.key", Args: cobra.NoArgs,
	}, func(ctx context.Context, r *relayAgent, _ []string) error {
		values := []decision{}
		for after := wire.AgentID(""); ; {
			ids, consents, err := r.Consents(ctx, after)
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				return a.out.value(values)
			}
			for i, id := range ids {
				if id <= after {
					return errors.New("the relay lists decisions in no order")
				}
				after = id
				values = append(values, decision{id, consentNames[consents[i]]})
				a.out.printf("%-8s  %s\n", consentNames[consents[i]], cli.Printable(string(id)))
			}
		}
	})
	return cmd
}

// sent is what became of one file.
type sent struct {
	File    string         `json:"file"`
	Session wire.SessionID `json:"session_id"`
	ID      wire.MessageID `json:"id"`
	Number  uint64         `json:"number"`
	Hash    wire.Hash      `json:"hash"`
}

func (a *app) relaySendCommand() *cobra.Command {
	cmd, _ := a.relayVerb(&cobra.Command{
		Use: "send FILE...", Short: "Append signed messages or enclosures to their sessions",
		Long: `send appends what the agent has signed, a message or an enclosure in each file, - for
standard input, to the log of the session that it names. It returns when the relay has
it on disk. The same once more has the same answer. Whoever loses the race for the next
place in the chain is told the tip, and nothing was appended.

Exit codes: 0 appended, 1 refused, or not signed by the agent, 2 wrong usage, 3 it
could not be tried: it may have been appended, and can be sent again.`,
		Example: `  concordia relay send offer.json --relay https://relay.example --key seller.key
  concordia relay send - --relay https://relay.example --key seller.key <offer.json`,
		Args: cli.Takes,
	}, func(ctx context.Context, r *relayAgent, args []string) error {
		list := []sent{}
		for _, file := range args {
			done, err := r.sendFile(ctx, file)
			if err != nil {
				return errors.Join(a.out.value(list), fmt.Errorf("sending %s: %w", cli.Printable(file), relayed(err)))
			}
			list = append(list, *done)
			a.out.printf("%s  entry %d of %s  %s\n", cli.Printable(string(done.ID)), done.Number, cli.Printable(string(done.Session)), done.Hash)
		}
		return a.out.value(list)
	})
	return cmd
}

// sendFile appends what is in a file.
func (r *relayAgent) sendFile(ctx context.Context, file string) (*sent, error) {
	v, err := readJSONInput(file)
	if err != nil {
		return nil, err
	}
	if _, ok := v.Get("concordia_enclosure"); ok {
		e, err := relay.VerifyEnclosure(v, r)
		if err != nil {
			return nil, cli.Exit(cli.Rejected, err)
		}
		done, err := r.Enclose(ctx, e)
		return &sent{file, e.Session, e.ID, done.Number, done.Hash}, err
	}
	u, err := wire.ReadMessage(v)
	if err != nil {
		return nil, cli.Exit(cli.Rejected, err)
	}
	m, err := u.Verify(r)
	if err != nil {
		return nil, cli.Exit(cli.Rejected, err)
	}
	done, err := r.Append(ctx, m)
	return &sent{file, m.Session, m.ID, done.Number, done.Hash}, err
}
