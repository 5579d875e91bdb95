package main

import (
	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) revokeCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "revoke [ID]", Short: "Withdraw an artifact, alone or with what depends on it",
		Long: `revoke makes a revocation record for the artifact of that id, or for the one in
--artifact. It counts against what you issued yourself; against anything else only for
those who trust you as a revoker. With --cascade it reaches what depends on the
artifact, --depth steps far.`,
		Example: `  concordia attest revoke urn:concordia:mandate:7 --type mandate --reason "the key was lost" --key boss.key
  concordia attest revoke --artifact approval.json --cascade --reason "approved by mistake" --key boss.key`,
		Args: cobra.MaximumNArgs(1),
	}
	i := a.issue(cmd).draft(cmd).with(cmd,
		[4]string{"type", "revoked_artifact_type", "`type`: mandate, commitment, approval_receipt, predicate, attestation or chain_session", "text"},
		[4]string{"reason", "reason", "`text` that says why", "text"},
		[4]string{"effective", "effective_at", "`time` from which it counts, now by default", "time"},
		[4]string{"depth", "cascade_depth", "how many `steps` it cascades, at most 8", "int"},
		[4]string{"supersedes", "supersedes", "`id` of the record that this one replaces", "text"},
	)
	var cascades bool
	cmd.Flags().StringVar(&file, "artifact", "", "JSON `file` with the artifact to revoke")
	cmd.Flags().BoolVar(&cascades, "cascade", false, "revoke what depends on it, too")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if named := file != "" || len(args) > 0; !named && i.in == "" || file != "" && len(args) > 0 {
			return cli.Usagef("name what to revoke: its ID, or the file with --artifact")
		}
		issuer, err := i.issuer()
		if err != nil {
			return err
		}
		v, err := i.read(cmd)
		if err != nil {
			return err
		}
		id, kind := "", ""
		if len(args) > 0 {
			id = args[0]
		}
		if file != "" {
			if id, kind, err = revocable(file); err != nil {
				return err
			}
		}
		if said, _ := v.Get("revoked_artifact_type"); kind != "" && cmd.Flags().Changed("type") && said.Text() != kind {
			return cli.Usagef("--type: what is in %s is of type %s", file, kind)
		}
		// What the command line names goes before the draft, as flags do.
		for _, m := range []struct{ name, text string }{{"revoked_artifact_id", id}, {"revoked_artifact_type", kind}} {
			if m.text == "" {
				continue
			}
			if v, err = put(v, m.text, []string{m.name}); err != nil {
				return cli.Usagef("naming what to revoke: %v", err)
			}
		}
		if cascades {
			v = v.With("revocation_scope", wire.Text("cascade_to_dependents"))
		}
		return a.artifact(issuer.Revocation(v))
	}
	return cmd
}

// revocables say, by the kinds of SPEC §12.3, which member has the id by which an artifact
// is revoked, and what its type is called there (SPEC §9.6.4c).
var revocables = map[string]struct{ member, kind string }{
	"mandate": {"mandate_id", "mandate"}, "commitment": {"commitment_id", "commitment"},
	"predicate": {"predicate_id", "predicate"}, "closure_predicate": {"predicate_id", "predicate"},
	"chain_session": {"chain_session_id", "chain_session"}, "approval_receipt": {"id", "approval_receipt"},
	"attestation": {"attestation_id", "attestation"},
}

// revocable returns the id and type by which the artifact in a file is revoked.
func revocable(path string) (id, kind string, err error) {
	v, err := readJSONInput(path)
	if err != nil {
		return "", "", err
	}
	v = receiptIn(v)
	if k, ok := revocables[conformance.KindOf(v)]; ok {
		id, _ := v.Get(k.member)
		if k.kind == "attestation" {
			return attest.AttestationURN(id.Text()), k.kind, nil
		}
		return id.Text(), k.kind, nil
	}
	return "", "", cli.Usagef("%s holds nothing that can be revoked", path)
}

func (a *app) cascadeCommand() *cobra.Command {
	var dependentFile string
	var revokers []string
	var decide bool
	cmd := &cobra.Command{
		Use: "cascade RECORD", Short: "List what a revocation reaches, and deny it",
		Long: `cascade verifies a revocation record and follows it through the artifacts in
--among: a JSON array of artifacts as they are, or of {artifact_id, issuer, references}.
It prints what is reached, how far off, and by what. It counts if the revoked
artifact's own issuer made it, or a --revoker.

With --decide it issues a signed denial for each of them, one a line, each with the
way by which the revocation came there. Artifacts are taken as they are: verify
them first.`,
		Example: `  concordia attest cascade record.json --among artifacts.json --keys keys.json
  concordia attest cascade record.json --among artifacts.json --decide --key gate.key --request sha256:9f… --boundary warehouse-3 --policy 2026-09`,
		Args: cli.Takes,
	}
	i := a.issue(cmd).with(cmd,
		[4]string{"request", "request_digest", "`digest` of the request that is denied", "text"},
		[4]string{"boundary", "boundary_id", "`id` of where it is denied", "text"},
		[4]string{"policy", "policy_version", "`version` of the policy that denies it", "text"},
	)
	cmd.Flags().StringVar(&dependentFile, "among", "", "JSON `file` with the artifacts that may depend on it")
	cmd.Flags().StringArrayVar(&revokers, "revoker", nil, "`id` of an agent whose revocations count against anything (repeatable)")
	cmd.Flags().BoolVar(&decide, "decide", false, "issue a denial for each artifact that is reached")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		now, err := i.now()
		if err != nil {
			return err
		}
		keys, err := readKeys(i.keyFiles)
		if err != nil {
			return err
		}
		record, err := readJSONInput(args[0])
		if err != nil {
			return err
		}
		list, err := dependents(dependentFile)
		if err != nil {
			return err
		}
		reached, report := attest.Verifier{Keys: keys, Now: now}.Cascade(record, func(id wire.AgentID) bool {
			return among(revokers, id)
		}, attest.IndexDependents(list))
		if err := report.Err(); err != nil {
			return cli.Exit(codeOf(report), err)
		}
		if decide {
			return a.deny(cmd, i, record, reached)
		}
		rows := make([][]string, len(reached))
		for n, r := range reached {
			via := ""
			if r.Via != "" {
				via = "by " + cli.Printable(r.Via)
			}
			rows[n] = []string{cli.Printable(r.ID), plural(r.Depth, "step"), via}
		}
		if len(reached) == 0 {
			a.out.printf("it is not yet in force and reaches nothing\n")
		}
		a.out.table(rows)
		return a.out.value(reachedValue(reached))
	}
	return cmd
}

func (a *app) deny(cmd *cobra.Command, i *issuing, record wire.Value, reached []attest.Reached) error {
	issuer, err := i.issuer()
	if err != nil {
		return err
	}
	common, err := i.read(cmd)
	if err != nil {
		return err
	}
	for _, draft := range attest.Denials(record, reached) {
		for name, v := range common.Members() {
			draft = draft.With(name, v)
		}
		if err := a.artifact(issuer.Decision(draft)); err != nil {
			return err
		}
	}
	return nil
}

// A step is an attest.Reached for programs.
type step struct {
	ID    string `json:"artifact_id"`
	Depth int    `json:"cascade_depth"`
	Via   string `json:"via,omitempty"`
}

func reachedValue(reached []attest.Reached) []step {
	list := make([]step, len(reached))
	for n, r := range reached {
		list[n] = step{r.ID, r.Depth, r.Via}
	}
	return list
}

// dependents reads artifacts, or what takes their place, by what they depend on.
func dependents(path string) ([]attest.Dependent, error) {
	if path == "" {
		return nil, nil
	}
	v, err := readJSONInput(path)
	if err != nil {
		return nil, err
	}
	if v.Kind() != wire.Array {
		return nil, cli.Usagef("--among: want a JSON array, or one artifact a line")
	}
	list := make([]attest.Dependent, 0, v.Len())
	for n, e := range v.Elems() {
		d := attest.DependentOf(e)
		if d.ID == "" {
			return nil, cli.Usagef("--among: artifact %d has no id", n)
		}
		list = append(list, d)
	}
	return list, nil
}
