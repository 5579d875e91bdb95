package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/keyfile"
)

// everything is a run of every verb; "> file" keeps what it prints. What goes wrong is
// part of it: errors leak most easily.
const everything = `
id show open.key
id show sealed.key --json
id new new.key --passphrase-file pass
id new open.key
demo --dir deal
spec
spec --dot
session show deal/seller/transcript.json
session salvage deal/seller/transcripts.db salvaged.db
agreement show deal/seller/transcript.json
agreement export deal/seller/transcript.json
attest receipt issue deal/seller/transcript.json --key deal/seller/agent.key > receipt.json
attest receipt issue deal/seller/transcript.json --key sealed.key --passphrase-file pass
attest receipt countersign receipt.json --transcript deal/buyer/transcript.json --key deal/buyer/agent.key > signed.json
attest receipt confirm signed.json --status fulfilled --key deal/buyer/agent.key
attest receipt confirm signed.json --status fulfilled --key sealed.key --passphrase-file pass
attest receipt show signed.json
attest approval approve --offer note.json --session ses_1 --amount 1 --threshold x --key sealed.key --passphrase-file pass
attest approval approve --offer note.json --session ses_1 --amount 1 --threshold x --key sealed.key --passphrase-file wrong
attest approval approve --offer note.json --session ses_1 --amount 1 --threshold x --key sealed.key
attest approval approve --offer note.json --session ses_1 --amount 1 --threshold x --key broken.key
attest approval approve --key open.key --in open.key
attest approval deny --offer note.json --session ses_1 --amount 1 --threshold x --key open.key
attest fulfillment --agreement a --status failed --key open.key
attest revoke urn:concordia:mandate:1 --type mandate --reason lost --key open.key > undo.json
attest cascade undo.json --decide --key open.key --request r --boundary b --policy p --revoker agent_open
attest mandate issue --subject x --constraints schema.json --until 2100-01-01T00:00:00Z --key open.key > charge.json
attest mandate link --to x --key open.key > link.json
attest mandate delegate charge.json link.json --key open.key
attest mandate check charge.json --action note.json
attest predicate issue --type authority_gate --subject x --result satisfied --expires 2100-01-01T00:00:00Z --key curve.key > holds.json
attest predicate ctef holds.json
attest profile --key open.key
attest bundle signed.json --key deal/seller/agent.key
attest proof signed.json --key deal/seller/agent.key
attest cosign draft signed.json --publisher x --counterparty y
attest cosign sign signed.json --publisher x --key open.key
attest envelope signed.json --key open.key
attest record sign --in note.json --key curve.key > record.json
attest record sign --in open.key --key open.key
attest chain predicate --session urn:concordia:chain-session:1 --type urn:concordia:predicate-type:closure_language:v1 --condition schema.json --expires 2100-01-01T00:00:00Z --key open.key
attest chain propose urn:concordia:chain-session:1 --participants did:web:a --predicate holds.json --deadline 2100-01-01T00:00:00Z > chain.json
attest chain commit chain.json --terms note.json --key open.key
attest chain open chain.json note.json
attest chain activate chain.json note.json --predicate holds.json --key open.key
attest chain unwind chain.json --reason timeout --key open.key
attest chain close chain.json
reputation score signed.json
reputation score agent_open signed.json open.key sealed.key pass
reputation explain agent_open signed.json record.json --json
reputation ingest signed.json bundle.json open.key --store evidence
reputation query query.json signed.json open.key --key sealed.key --passphrase-file pass
reputation query query.json signed.json --key sealed.key --passphrase-file wrong
reputation query open.key signed.json --key open.key
verify signed.json record.json open.key sealed.key pass --json
verify -v deal
store import deal signed.json undo.json charge.json open.key sealed.key pass --store kept
store import deal signed.json --unverified --store kept --json
store list --store kept
store conflicts --store kept
store show urn:concordia:mandate:1 --store kept
store export --store kept
store export --store kept --json
store delete urn:concordia:mandate:1 --store kept
store list --store deal
verify charge.json --store kept
protocol lint open.key note.json
protocol lint automaton.json --sarif
protocol prove automaton.json
protocol refines automaton.json open.key
protocol refines automaton.json automaton.json
protocol compatible automaton.json automaton.json
protocol project automaton.json agent
protocol show automaton.json
protocol dot automaton.json
protocol mermaid automaton.json
protocol digest automaton.json
protocol prompt automaton.json
protocol simulate automaton.json open.key
protocol simulate automaton.json pass
protocol test automaton.json open.key
`

// No command prints or writes down a private key or a passphrase: not the ones it is
// given, and not when something goes wrong.
func TestNoSecrets(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	const passphrase = "correct horse battery staple"
	open, err := wire.NewPrivateKey([]byte("the seed of a key in the clear.."))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := wire.NewPrivateKey([]byte("the seed of a key that is sealed"))
	if err != nil {
		t.Fatal(err)
	}
	curve, err := wire.NewP256Key([]byte("the seed of a key on the curve.."))
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string]wire.PrivateKey{"open": open, "sealed": sealed, "curve": curve} {
		var secret []byte
		if name == "sealed" {
			secret = []byte(passphrase)
		}
		if err := keyfile.Create(name+".key", keyfile.Identity{Agent: wire.AgentID("agent_" + name), Key: k}, secret, strings.NewReader(strings.Repeat("chance", 40))); err != nil {
			t.Fatal(err)
		}
	}
	clear, err := os.ReadFile("open.key")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"pass": passphrase + "\n", "wrong": passphrase + "!\n", "note.json": `{"price": 1}`, "query.json": `{"type": "concordia.reputation.query", "subject_agent_id": "a", "requester_agent_id": "b"}`, "schema.json": `{"type": "object"}`,
		"automaton.json": `{"automaton": {"name": "x", "initial": "a", "states": ["a", "b"], "ends": {"b": "success"}, "transitions": [{"from": "a", "by": "agent", "on": "go", "to": "b"}]}}`,
		"broken.key": strings.Replace(string(clear), `"seed"`, `"sead"`, 1),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ours, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}

	secrets := map[string]string{"the passphrase": passphrase}
	for name, k := range map[string]wire.PrivateKey{"open": open, "sealed": sealed, "curve": curve} {
		seed := k.Seed()
		secrets[name+" raw"] = string(seed)
		secrets[name+" in hex"] = hex.EncodeToString(seed)
		secrets[name+" in base64"] = base64.RawStdEncoding.EncodeToString(seed)
		secrets[name+" in base64url"] = base64.RawURLEncoding.EncodeToString(seed)
	}
	tell := func(what string, text []byte) {
		for name, s := range secrets {
			if bytes.Contains(bytes.ToLower(text), []byte(strings.ToLower(s))) {
				t.Errorf("%s tells %s", what, name)
			}
		}
	}
	var ran []string
	for line := range strings.Lines(everything) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		command, into, _ := strings.Cut(line, " > ")
		var out, errs bytes.Buffer
		run(strings.Fields(command), &out, &errs)
		tell(line+": output", out.Bytes())
		tell(line+": errors", errs.Bytes())
		ran = append(ran, command)
		if into != "" {
			if err := os.WriteFile(into, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || slices.Contains(ours, path) {
			return err
		}
		text, err := os.ReadFile(path)
		tell("file "+path, text)
		return err
	})
	if err != nil {
		t.Error(err)
	}

	// The run is of everything there is.
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, below := range cmd.Commands() {
			walk(below)
		}
		verb := strings.TrimPrefix(cmd.CommandPath(), "concordia ")
		if len(cmd.Commands()) == 0 && !slices.ContainsFunc(ran, func(line string) bool { return line == verb || strings.HasPrefix(line, verb+" ") }) {
			t.Errorf("%q is not part of the run: add it", verb)
		}
	}
	walk((&app{}).command())
}
