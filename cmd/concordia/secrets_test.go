package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
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
attest profile --key open.key > profile.json
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
relay info RELAY
relay register --relay RELAY --key open.key
relay register --relay RELAY --key sealed.key --passphrase-file pass
relay register --relay RELAY --key sealed.key --passphrase-file wrong
relay register --relay RELAY --key broken.key
relay register --rotate --relay RELAY --key open.key --json
relay register --relay RELAY --key other.key --token open.key
relay register --relay http://127.0.0.1:1 --timeout 1ms --key open.key
relay invite agent_sealed --session ses_9 --relay RELAY --key open.key
relay invitations --relay RELAY --key sealed.key --passphrase-file pass
relay join ses_9 --relay RELAY --key sealed.key --passphrase-file pass
relay decline ses_9 --relay RELAY --key sealed.key --passphrase-file pass
relay send open.key --relay RELAY --key open.key
relay send note.json --relay RELAY --key open.key
relay sessions --relay RELAY --key open.key
relay tail --follow=false --relay RELAY --key open.key
relay tail ses_9 --follow=false --json --relay RELAY --key sealed.key --passphrase-file pass
relay export ses_9 --relay RELAY --key open.key
relay block agent_open --relay RELAY --key sealed.key --passphrase-file pass
relay allow agent_sealed --relay RELAY --key open.key
relay consents --relay RELAY --key open.key --json
relay close ses_9 --relay RELAY --key open.key
market want --category a --term price=..1 --id want_1 --relay RELAY --key open.key
market want --category a --in open.key --relay RELAY --key open.key
market have --category a --term price=0.. --relay RELAY --key sealed.key --passphrase-file pass
market have --category a --relay RELAY --key sealed.key --passphrase-file wrong
market show want_1 --relay RELAY --key open.key
market search want --relay RELAY --key open.key --json
market matches want_1 --relay RELAY --key open.key
market withdraw want_1 --relay RELAY --key open.key
market list --role seller --description x --relay RELAY --key open.key
market agents --relay RELAY --key open.key
market agent agent_open --relay RELAY --key open.key
market unlist --relay RELAY --key open.key
market profile publish profile.json --relay RELAY --key open.key
market profile publish open.key --relay RELAY --key open.key
market profile show agent_open --relay RELAY --key sealed.key --passphrase-file pass
market profile search --relay RELAY --key open.key --json
market profile withdraw --relay RELAY --key open.key
relay bench --messages 16 --sessions 2 --connections 4
relay serve --listen 127.0.0.1:0 --dir postbox
relay stats RELAY
relay stats --dir postbox
relay compact --dir postbox
relay doctor --dir postbox
relay doctor --dir deal
relay serve --listen 127.0.0.1:0 --dir postbox2 --tls-cert open.key --tls-key sealed.key
relay serve --listen 127.0.0.1:0 --dir postbox2 --limits open.key
node config --dir nest --key open.key
node config --dir nest --config open.key
node serve --dir nest --key sealed.key --passphrase-file wrong
node serve --dir nest --key broken.key
node serve --dir nest --key sealed.key --passphrase-file pass --listen 127.0.0.1:0 --loopback --tls-cert open.key --tls-key sealed.key
mcp --dir nest --key sealed.key --passphrase-file wrong
mcp --dir nest2 --key open.key --menu dispatch
mcp --dir nest2 --key broken.key --menu open.key
contact add did:web:x.example --name x --dir . --key open.key --json
contact list --dir . --key sealed.key --passphrase-file pass
contact list --dir . --key open.key
contact remove x --dir . --key open.key
session open --to agent_sealed --term price=1:USD --reasoning why --id ses_8 --dir . --key open.key --relay RELAY --loopback
session open --to agent_sealed --in open.key --dir . --key open.key --relay RELAY --loopback
session list --dir . --key open.key --relay RELAY --loopback --json
session show ses_8 --dir . --key open.key --relay RELAY --loopback
session watch ses_8 --timeout 10ms --dir . --key open.key
session accept-session ses_8 --dir . --key open.key
session decline ses_8 --dir . --key open.key --json
session offer ses_8 --in open.key --dir . --key open.key
session counter ses_8 --term price=1:USD --dir . --key open.key
session accept ses_8 --dir . --key open.key
session reject ses_8 --dir . --key open.key
session withdraw ses_8 --reason x --dir . --key open.key
session signal ses_8 --flexibility open.key --dir . --key open.key
session constrain ses_8 --constraints sealed.key --dir . --key open.key
session inquire ses_8 --terms price --dir . --key open.key
session nominate ses_8 --mediator x --dir . --key open.key
session resolve ses_8 --term price=1 --dir . --key open.key
session commit ses_8 --dir . --key open.key
session present ses_8 open.key --dir . --key open.key
session present ses_8 charge.json --dir . --key open.key
session export ses_8 --dir . --key open.key
invite show ses_8 --to agent_sealed --dir . --key open.key --relay RELAY --loopback > invitation.json
invite take invitation.json --dir . --key open.key
invite take open.key --dir . --key open.key
invite list --dir . --key open.key
invite join ses_7 --dir . --key open.key
invite decline ses_7 --dir . --key open.key
approve ses_8 --dir . --key open.key --approver-key sealed.key --approver-passphrase-file wrong
approve --artifact charge.json --dir . --key open.key
approve --artifact open.key --dir . --key open.key
`

// A runningRelay is relay serve, which logs all it can.
type runningRelay struct {
	url  string
	logs bytes.Buffer
	done chan int
}

func serveRelay(t *testing.T) *runningRelay {
	r := &runningRelay{done: make(chan int, 1)}
	here, there := io.Pipe()
	go func() {
		r.done <- run([]string{"relay", "serve", "--listen", "127.0.0.1:0", "--dir", "postbox", "--log-level", "debug", "--check-sessions", "--market"}, there, &r.logs)
		there.Close()
	}()
	line, err := bufio.NewReader(here).ReadString('\n')
	if err != nil {
		t.Fatalf("the relay says %q: %v", line, err)
	}
	r.url = strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	return r
}

// stop drains the relay, as a person who stops it.
func (r *runningRelay) stop(t *testing.T) {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(os.Interrupt)
	}
	if err != nil {
		t.Fatal(err)
	}
	if code := <-r.done; code != 0 {
		t.Errorf("the relay ended with exit code %d", code)
	}
}

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
		"broken.key":     strings.Replace(string(clear), `"seed"`, `"sead"`, 1),
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
	server := serveRelay(t)
	var ran []string
	printed := map[string][]byte{}
	for line := range strings.Lines(everything) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		command, into, _ := strings.Cut(line, " > ")
		var out, errs bytes.Buffer
		run(strings.Fields(strings.ReplaceAll(command, "RELAY", server.url)), &out, &errs)
		printed[line+": output"], printed[line+": errors"] = out.Bytes(), errs.Bytes()
		ran = append(ran, command)
		if into != "" {
			if err := os.WriteFile(into, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	server.stop(t)
	printed["the log of the relay"] = server.logs.Bytes()
	if !bytes.Contains(server.logs.Bytes(), []byte(`"op":"register"`)) {
		t.Errorf("the relay logs nothing of registrations:\n%s", server.logs.Bytes())
	}
	tokens, err := filepath.Glob("*.token")
	if err != nil || len(tokens) < 2 {
		t.Fatalf("tokens are kept in %q, %v", tokens, err)
	}
	for _, path := range tokens {
		var kept tokenRecord
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &kept)
		}
		if err != nil || len(kept.Token) < 32 {
			t.Fatalf("%s: %v", path, err)
		}
		secrets["the token in "+path] = kept.Token
	}
	ours = append(ours, tokens...)
	for what, text := range printed {
		tell(what, text)
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
