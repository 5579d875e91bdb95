package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
)

// The artifacts that one agent makes of a draft alone.

func (a *app) approvalCommand() *cobra.Command {
	decide := func(decision attest.Decision, short string) *cobra.Command {
		cmd := &cobra.Command{
			Use: string(decision), Short: short,
			Long: short + `, in one session.
The receipt is bound to the hash of the file: one changed character is another offer.
It stands for a day unless --expires says otherwise. A denial verifies like an
approval: who acts on one reads what was decided.`,
			Example: "  concordia attest approval " + string(decision) + ` --key boss.key --offer offer.json --session ses_4a1b --amount "2050 USD" --threshold over_1000`,
		}
		return a.makes(cmd, func(i attest.Issuer, v wire.Value) (wire.Value, error) {
			v, err := put(v, decision, []string{"scope", "decision"})
			if err != nil {
				return v, err
			}
			return i.Approval(v)
		},
			[4]string{"offer", "scope.offer_hash", "JSON `file` with the exact offer or call", "hash"},
			[4]string{"offer-hash", "scope.offer_hash", "the `hash` of the offer instead of the file", "text"},
			[4]string{"session", "session_id", "`id` of the session", "text"},
			[4]string{"amount", "scope.amount", "`text` that says what is at stake", "text"},
			[4]string{"threshold", "scope.threshold_crossed", "`name` of the threshold that asks for this", "text"},
			[4]string{"role", "approver.role", "in which `role` you decide", "text"},
			[4]string{"expires", "expires_at", "last `time` at which it stands", "time"},
		)
	}
	return group("approval", "Approve or deny an exact offer or call", `  concordia attest approval approve --key boss.key --offer offer.json --session ses_4a1b --amount "2050 USD" --threshold over_1000`,
		decide(attest.Approve, "Approve one exact offer or call"), decide(attest.Deny, "Deny one exact offer or call"))
}

func (a *app) fulfillmentCommand() *cobra.Command {
	return a.makes(&cobra.Command{
		Use: "fulfillment", Short: "Attest whether an agreement was honored",
		Long: `fulfillment makes a statement of its own about what became of an agreement. To
confirm it inside the receipt, which only a party can, use attest receipt confirm. No
prices, amounts or quantities: they are refused.`,
		Example: `  concordia attest fulfillment --key carrier.key --agreement urn:concordia:attestation:att_1 --status fulfilled_clean`,
	}, attest.Issuer.Fulfillment,
		[4]string{"agreement", "agreement_attestation_id", "`id` of the receipt of the agreement", "text"},
		[4]string{"status", "fulfillment.status", "`status`: fulfilled_clean, fulfilled_with_mediation, failed or disputed_unresolved", "text"},
		[4]string{"settled-at", "fulfillment.settled_at", "`time` of the settlement", "time"},
		[4]string{"mediator-invoked", "meta.mediator_invoked", "whether a mediator was invoked: `true|false`", "bool"},
		[4]string{"resolver", "meta.resolver_did", "`DID` of the mediator", "text"},
		[4]string{"resolution", "meta.resolution_outcome", "a short `label` of what the mediator decided", "text"},
	)
}

func (a *app) predicateCommand() *cobra.Command {
	issue := a.makes(&cobra.Command{
		Use: "issue", Short: "State that a condition holds of a subject",
		Long: `issue makes a predicate. Types have short names: authority_gate, approval_gate,
policy_gate, procurement_eligibility, jcs_edge, non_deterministic_test. Your public
key stands inside as a hint to readers who look for it there; who believes it knows
nothing.`,
		Example: `  concordia attest predicate issue --key issuer.key --type authority_gate --subject did:web:agent.example --result satisfied --expires 2026-12-31T00:00:00Z`,
	}, attest.Issuer.Predicate,
		[4]string{"type", "type", "short `name` or URN of the type", "text"},
		[4]string{"subject", "subject", "`id` of the agent of whom it holds", "text"},
		[4]string{"authority", "authority", "`id` of the authority by which you say so, you by default", "text"},
		[4]string{"condition", "condition", "JSON `file` with the condition", "json"},
		[4]string{"result", "condition.result", "`result`: satisfied or denied", "text"},
		[4]string{"expires", "expires_at", "last `time` at which it stands", "time"},
		[4]string{"references", "references", "JSON `file` with references to other artifacts", "json"},
	)
	var keyFiles []string
	ctef := &cobra.Command{
		Use: "ctef FILE", Short: "Map a predicate that verifies to a CTEF claim",
		Long:    `ctef verifies a predicate and prints the claim that it maps to. Nobody signs a claim.`,
		Example: "  concordia attest predicate ctef predicate.json --keys keys.json",
		Args:    cli.Takes,
		RunE: func(_ *cobra.Command, args []string) error {
			keys, err := readKeys(keyFiles)
			if err != nil {
				return err
			}
			v, err := readJSONInput(args[0])
			if err != nil {
				return err
			}
			now := a.now()
			p, report := attest.Verifier{Keys: keys, Now: now}.VerifyPredicate(v)
			if err := report.Err(); err != nil {
				return cli.Exit(codeOf(report), err)
			}
			return a.artifact(p.CTEF(now), nil)
		},
	}
	ctef.Flags().StringArrayVar(&keyFiles, "keys", nil, "JSON `file` with the public keys to trust (repeatable)")
	return group("predicate", "State that a condition holds", `  concordia attest predicate issue --key issuer.key --type authority_gate --subject did:web:agent.example --result satisfied --expires 2026-12-31T00:00:00Z`, issue, ctef)
}

// codeOf is the exit code of a report that did not pass.
func codeOf(r wire.Report) int {
	if r.Outcome() == wire.NotChecked {
		return cli.Unchecked
	}
	return cli.Rejected
}

func (a *app) profileCommand() *cobra.Command {
	return a.makes(&cobra.Command{
		Use: "profile", Short: "Publish what you negotiate and where you are reached",
		Long: `profile makes an agent profile: your own word about yourself. What neither the file
nor a flag says is empty.`,
		Example: `  concordia attest profile --key seller.key --name "Lena's cameras" --categories electronics.cameras --negotiate https://lena.example/n`,
	}, attest.Issuer.Profile,
		[4]string{"name", "name", "your `name`", "text"},
		[4]string{"description", "description", "`text` that says what you do", "text"},
		[4]string{"categories", "capabilities.categories", "comma-separated `list` of what you trade", "list"},
		[4]string{"offer-types", "capabilities.offer_types", "comma-separated `list`: basic, partial, conditional, bundle", "list"},
		[4]string{"languages", "capabilities.languages", "comma-separated `list`", "list"},
		[4]string{"currencies", "capabilities.currencies", "comma-separated `list`", "list"},
		[4]string{"negotiate", "endpoints.negotiate", "`URL` at which you negotiate", "text"},
		[4]string{"a2a-card", "endpoints.a2a_card", "`URL` of your agent card", "text"},
		[4]string{"mcp-manifest", "endpoints.mcp_manifest", "`URL` of your MCP server", "text"},
		[4]string{"ttl", "ttl", "`seconds` after which to ask you again", "int"},
	)
}

func (a *app) recordCommand() *cobra.Command {
	return group("record", "Sign any JSON so that others can verify it", "  concordia attest record sign --in note.json --key seller.key",
		a.makes(&cobra.Command{
			Use: "sign", Short: "Sign any JSON object, with what it takes to verify it",
			Long: `sign puts verification_material (key, algorithm, canonical form) and a signature
into a JSON object. A record does not say who signed it: others verify it with
concordia verify --signer ID and the key that they know of that agent.`,
			Example: "  concordia attest record sign --in note.json --key seller.key\n  concordia verify signed.json --signer did:key:z6Mk…",
		}, attest.Issuer.Record))
}

func (a *app) envelopeCommand() *cobra.Command {
	return a.makesOf(&cobra.Command{
		Use: "envelope RECEIPT", Short: "Tell another trust system of a session, in its format",
		Long: `envelope makes a trust-evidence envelope of a receipt, which has to verify with
--keys and to bind its outcome. It tells no terms. The subject is the first party
unless --subject names another.`,
		Example: `  concordia attest envelope receipt.json --key provider.key --keys keys.json --subject did:web:seller.example`,
		Args:    cli.Takes,
	}, func(i attest.Issuer, draft wire.Value, of []wire.Value) (wire.Value, error) {
		return i.Envelope(receiptIn(of[0]), draft)
	},
		[4]string{"subject", "subject.did", "`id` of the party that it is about", "text"},
		[4]string{"kid", "provider.kid", "`DID URL` of your key", "text"},
		[4]string{"visibility", "visibility", "`word`: public, restricted or private", "text"},
		[4]string{"expires", "expires_at", "last `time` at which it stands, in a week by default", "time"},
	)
}

// receiptIn returns the receipt of a transcript file, and a receipt itself.
func receiptIn(v wire.Value) wire.Value {
	if _, ok := v.Get("messages"); ok {
		if receipt, ok := v.Get("receipt"); ok {
			return receipt
		}
	}
	return v
}

func (a *app) cosignCommand() *cobra.Command {
	var keyFiles []string
	var publisher, counterparty string
	draft := &cobra.Command{
		Use: "draft RECEIPT", Short: "Make the receipt that a publisher presents, for the counterparty to sign",
		Long: `draft verifies a receipt of two parties and writes what its publisher tells of it,
without terms. The counterparty appears as the did:key of its key.`,
		Example: `  concordia attest cosign draft receipt.json --keys keys.json --publisher did:web:seller.example --counterparty buyer`,
		Args:    cli.Takes,
		RunE: func(_ *cobra.Command, args []string) error {
			if publisher == "" || counterparty == "" {
				return cli.Usagef("--publisher and --counterparty name the two parties of the receipt")
			}
			keys, err := readKeys(keyFiles)
			if err != nil {
				return err
			}
			v, err := readJSONInput(args[0])
			if err != nil {
				return err
			}
			at, report := attest.Verifier{Keys: keys, Now: a.now()}.VerifyAttestation(receiptIn(v), attest.OutcomeBound())
			if err := report.Err(); err != nil {
				return cli.Exit(codeOf(report), err)
			}
			if !slices.ContainsFunc(at.Parties, func(p attest.Party) bool { return p.Agent == wire.AgentID(counterparty) }) {
				return cli.Usagef("--counterparty: no party of the receipt")
			}
			key, err := keys.Key(wire.AgentID(counterparty), at.Time)
			if err != nil {
				return cli.Exit(cli.Unchecked, err)
			}
			return a.artifact(attest.Cosigned(at, wire.AgentID(publisher), key))
		},
	}
	draft.Flags().StringArrayVar(&keyFiles, "keys", nil, "JSON `file` with the public keys to trust (repeatable)")
	draft.Flags().StringVar(&publisher, "publisher", "", "`id` of the party that presents it")
	draft.Flags().StringVar(&counterparty, "counterparty", "", "`id` of the other party")

	sign := &cobra.Command{
		Use: "sign FILE", Short: "Sign a receipt as its counterparty",
		Long: `sign checks that you are the counterparty of a receipt that --publisher presents, and signs it.
It does not compare what the receipt says with what you know of the session: do that first.`,
		Example: `  concordia attest cosign sign draft.json --key buyer.key --publisher did:web:seller.example`,
		Args:    cli.Takes,
	}
	i := a.issue(sign)
	sign.Flags().StringVar(&publisher, "publisher", "", "`id` of who presents it")
	sign.RunE = func(_ *cobra.Command, args []string) error {
		if publisher == "" {
			return cli.Usagef("--publisher names who presents the receipt")
		}
		issuer, err := i.issuer()
		if err != nil {
			return err
		}
		v, err := readJSONInput(args[0])
		if err != nil {
			return err
		}
		return a.artifact(issuer.Cosign(v, wire.AgentID(publisher)))
	}
	return group("cosign", "Have the counterparty sign a receipt that you present", `  concordia attest cosign draft receipt.json --keys keys.json --publisher did:web:seller.example --counterparty buyer > draft.json
  concordia attest cosign sign draft.json --key buyer.key --publisher did:web:seller.example`, draft, sign)
}
