package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) reputationCommand() *cobra.Command {
	cmd := group("reputation", "What receipts prove of an agent", `  concordia reputation score bundle.json --keys keys.json
  concordia reputation ingest receipts/ --keys keys.json --store archive
  concordia reputation explain did:key:z6Mk... receipts.ndjson
  concordia reputation query query.json receipts/ --key service.key`,
		a.ingestCommand(), a.scoreCommand(false), a.scoreCommand(true), a.queryCommand())
	cmd.Long = `reputation computes what receipts prove of an agent: a score that anyone who has the
same receipts computes to the same digit (SPEC.md §9.6.7).

Only what all parties countersigned counts, and of a fulfillment only what another
party signed: a fulfillment inside the receipt that names the receipt in its notes, or
a fulfillment attestation. An agent is its key: --keys says whose receipts count. Keys
are free, so take care whom you put in there.

FILE may hold one artifact, an array of them or one a line (NDJSON), be a directory with
such files, or - for standard input. Receipts, bundles of receipts, transcripts with
their receipt, and fulfillment attestations are evidence; other artifacts are counted
and left out. What does not verify is shown, credits nothing, and decides the exit code:
1 if something failed, 4 if nothing did but something could not be checked.`
	return cmd
}

// subject returns whom it is about: the agent that was named, or whoever showed the
// one bundle there is.
func (g *gathering) subject(named wire.AgentID) (wire.AgentID, wire.PublicKey, error) {
	if named == "" {
		for i, holder := range g.holders {
			if i > 0 && wire.PlainDIDKey(holder) != wire.PlainDIDKey(named) {
				return "", wire.PublicKey{}, cli.Usagef("there are bundles of several agents: name the one it is about before the files")
			}
			named = holder
		}
	}
	if named == "" {
		if err := g.exit(); err != nil { // the bundle that would say so does not stand
			return "", wire.PublicKey{}, g.end()
		}
		return "", wire.PublicKey{}, cli.Usagef("name the agent it is about before the files: only a bundle says so itself")
	}
	key, err := g.keys.Key(named, g.now)
	if err != nil {
		return "", key, cli.Exit(cli.Unchecked, fmt.Errorf("%w: --keys gives it", err))
	}
	return named, key, nil
}

// A scoring is a score for programs.
type scoring struct {
	Agent         wire.AgentID              `json:"agent"`
	Time          string                    `json:"computed_at"`
	Overall       reputation.Micro          `json:"overall_score"`
	Confidence    reputation.Micro          `json:"confidence"`
	Figures       figures                   `json:"summary"`
	Flags         []reputation.Flag         `json:"flags"`
	Circle        []wire.AgentID            `json:"closed_circle,omitempty"`
	Contributions []reputation.Contribution `json:"contributions,omitempty"`
	Evidence      *gathering                `json:"evidence"`
}

type figures struct {
	Negotiations    int      `json:"total_negotiations"`
	Agreements      int      `json:"total_agreements"`
	AgreementRate   float64  `json:"agreement_rate"`
	FulfillmentRate float64  `json:"fulfillment_rate"`
	AvgConcession   float64  `json:"avg_concession_willingness"`
	ReasoningRate   float64  `json:"reasoning_rate"`
	MedianRounds    int64    `json:"median_rounds_to_agreement"`
	Categories      []string `json:"categories_active"`
	Counterparties  int      `json:"counterparty_count"`
	Attestations    int      `json:"attestation_count"`
}

func (a *app) scoreCommand(explain bool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "score [AGENT] FILE...", Short: "Compute an agent's score from receipts",
		Long: `score computes what the receipts in files prove of an agent, without a service. An
agent that shows a bundle of its receipts need not be named. The score is between 0,
nothing proven, and 1; the confidence is what it would be if all of it had gone well.
Flags say what a person should know, such as that the agent deals in a closed circle.`,
		Example: `  concordia reputation score bundle.json --keys keys.json
  concordia reputation score agent_seller receipts/ --keys keys.json --at 2026-09-14T09:00:00Z
  concordia reputation score agent_seller --store archive --keys keys.json`,
		Args: cobra.MinimumNArgs(1),
	}
	if explain {
		cmd.Use, cmd.Short = "explain [AGENT] FILE...", "Show what each receipt adds to an agent's score"
		cmd.Long = `explain computes the score as reputation score does, and shows for each receipt what
it adds and why. The contributions add up to the score exactly.

weight is what a receipt counts, 1 for a new one with a new counterparty: it halves in
180 days and with each newer deal with the same counterparty (rank), and inside a closed
circle is a 64th. A receipt has one point for keeping to one's own constraints and, if a
counterparty said whether the deal was honored, three for that, times its weight.`
		cmd.Example = `  concordia reputation explain bundle.json --keys keys.json
  concordia reputation explain agent_seller receipts.ndjson --keys keys.json --json`
	}
	g := a.gather(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		named, files, err := g.agentAndFiles(args)
		if err != nil {
			return err
		}
		if err := g.open(); err != nil {
			return err
		}
		if err := g.readAll(files); err != nil {
			return err
		}
		agent, key, err := g.subject(named)
		if err != nil {
			return err
		}
		return a.printScore(g, agent, g.ledger.Score(key, g.now), explain)
	}
	return cmd
}

// agentAndFiles tells the agent, which may be left out, from the files.
func (g *gathering) agentAndFiles(args []string) (wire.AgentID, []string, error) {
	if _, err := os.Stat(args[0]); err == nil || args[0] == "-" {
		return "", args, nil
	}
	if len(args) == 1 && g.store == "" {
		return "", nil, cli.Usagef("%s is no file; after an agent come the files with its receipts", cli.Printable(args[0]))
	}
	agent := wire.AgentID(args[0])
	if err := wire.CheckID(agent); err != nil {
		return "", nil, cli.Usagef("%s is neither a file nor an agent: %v", cli.Printable(args[0]), err)
	}
	return agent, args[1:], nil
}

func (a *app) printScore(g *gathering, agent wire.AgentID, s *reputation.Score, explain bool) error {
	f := s.Figures
	result := scoring{
		Agent: agent, Time: wire.FormatTime(g.now), Overall: s.Overall, Confidence: s.Confidence, Flags: s.Flags, Circle: s.Circle, Evidence: g,
		Figures: figures{f.Negotiations, f.Agreements, f.AgreementRate, f.FulfillmentRate, f.AvgConcession, f.ReasoningRate, f.MedianRounds,
			f.Categories, f.Counterparties, f.Attestations},
	}
	a.out.printf("%s: score %s, confidence %s\n", a.out.paint(bold, cli.Printable(string(agent))), s.Overall, s.Confidence)
	rows := [][]string{
		{"receipts", fmt.Sprintf("%d, %d of them credited", f.Attestations, f.Negotiations)},
		{"agreements", fmt.Sprint(f.Agreements)}, {"counterparties", fmt.Sprint(f.Counterparties)},
		{"agreement rate", fmt.Sprint(f.AgreementRate)}, {"fulfillment rate", fmt.Sprint(f.FulfillmentRate)},
		{"concession", fmt.Sprint(f.AvgConcession)}, {"reasoning rate", fmt.Sprint(f.ReasoningRate)}, {"median rounds", fmt.Sprint(f.MedianRounds)},
	}
	if f.Attestations > 0 {
		rows = append(rows, []string{"from", f.Earliest}, []string{"to", f.Latest})
	}
	for _, flag := range s.Flags {
		rows = append(rows, []string{"flag", a.out.paint(yellow, string(flag))})
	}
	for _, id := range s.Circle {
		rows = append(rows, []string{"circle", cli.Printable(string(id))})
	}
	a.out.table(rows)
	if explain {
		result.Contributions = s.Contributions()
		a.printContributions(result.Contributions, s.Overall)
	}
	if err := a.out.value(result); err != nil {
		return err
	}
	return g.end()
}

func (a *app) printContributions(list []reputation.Contribution, overall reputation.Micro) {
	rows := [][]string{{"contribution", "weight", "points", "of", "rank", "receipt", "status", "fulfillment", "with", ""}}
	for _, c := range list {
		var with, why string
		for i, id := range c.Counterparties {
			if i > 0 {
				with += ", "
			}
			with += cli.Printable(string(id))
		}
		switch {
		case c.Credit != reputation.Credited:
			why = string(c.Credit)
		case c.Violated:
			why = "constraint violated"
		case c.ClosedCircle:
			why = "closed circle"
		}
		rows = append(rows, []string{c.Contribution.String(), c.Weight.String(), c.Points.String(), c.Possible.String(), fmt.Sprint(c.Rank),
			cli.Printable(c.Attestation), string(c.Status), c.Fulfillment, with, why})
	}
	a.out.table(append(rows, []string{overall.String(), "", "", "", "", "all of them"}))
}

func (a *app) queryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "query QUERY FILE...", Short: "Answer a reputation query as a service, with a signature",
		Long: `query answers a query from the receipts in files and signs the answer with the key of
the service. The answer goes to standard output as canonical JSON, one line; what is no
evidence to standard error. Who asks checks it with concordia verify.

A query is JSON: {"type": "concordia.reputation.query", "subject_agent_id": ...,
"requester_agent_id": ..., "context": {"category": ..., "value_range": ..., "role": ...}}.
Receipts prove the roles initiator and responder; to a query of another one the answer
has the flag role_not_proven.`,
		Example: `  concordia reputation query query.json receipts/ --key service.key --keys keys.json`,
		Args:    cobra.MinimumNArgs(1),
	}
	g := a.gather(cmd)
	i := &issuing{app: a}
	cmd.Flags().StringVar(&i.key, "key", "", "key `file` of the service (concordia id new)")
	cmd.Flags().StringVar(&i.passphraseFile, "passphrase-file", "", "`file` whose first line opens the key")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && g.store == "" {
			return cli.Usagef("after the query come the files with receipts, or --store")
		}
		v, err := readJSONInput(args[0])
		if err != nil {
			return err
		}
		q, err := reputation.ReadQuery(v)
		if err != nil {
			return cli.Exit(cli.Rejected, err)
		}
		i.at, i.keyFiles = g.at, g.keyFiles
		issuer, err := i.issuer()
		if err != nil {
			return err
		}
		if err := g.open(); err != nil {
			return err
		}
		if err := g.readAll(args[1:]); err != nil {
			return err
		}
		if err := a.artifact(g.ledger.Answer(q, issuer)); err != nil {
			return err
		}
		for _, r := range g.Refused {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s: %s\n", cli.Printable(r.File), r.Check, cli.Visible(r.Problem.Message))
		}
		return g.exit()
	}
	return cmd
}
