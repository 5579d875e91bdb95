package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/session/agent"
	"github.com/concordia-node/concordia/session/transcript"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/keyfile"
)

func (a *app) demoCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch two agents negotiate, sign and verify",
		Long: `demo lets a seller and a buyer negotiate about a used camera. Each has its own
key and its own database in a directory of its own. They agree, countersign one
receipt, and everything is verified again from the files; then one byte is changed
to show what happens. It needs no network and leaves the files for you to look at.`,
		Example: `  concordia demo
  concordia demo --dir camera-deal`,
		Args: cli.Takes,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				made, err := os.MkdirTemp("", "concordia-demo-")
				if err != nil {
					return err
				}
				dir = made
			}
			return a.demo(cmd.Context(), dir)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "`directory` for the files, a new temporary one by default")
	return cmd
}

// A demoParty is one side of the demonstration.
type demoParty struct {
	dir   string
	store *transcript.Store
	*agent.Agent
}

func (a *app) newDemoParty(dir string) (*demoParty, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	key, err := wire.GenerateKey(a.rand)
	if err != nil {
		return nil, err
	}
	id := keyfile.Identity{Agent: wire.DIDKey(key.Public()), Key: key}
	if err := keyfile.Create(filepath.Join(dir, "agent.key"), id, nil, a.rand); err != nil {
		return nil, err
	}
	store, err := transcript.Open(filepath.Join(dir, storeName), nil)
	if err != nil {
		return nil, err
	}
	opts := &agent.Options{Now: a.now, Rand: a.rand}
	return &demoParty{dir: dir, store: store, Agent: agent.New(key, wire.DIDKeys{}, store, opts)}, nil
}

func (a *app) demo(ctx context.Context, dir string) error {
	seller, err := a.newDemoParty(filepath.Join(dir, "seller"))
	if err != nil {
		return err
	}
	defer seller.store.Close()
	buyer, err := a.newDemoParty(filepath.Join(dir, "buyer"))
	if err != nil {
		return err
	}
	defer buyer.store.Close()

	a.heading("a seller and a buyer negotiate about a used camera")
	sale, err := negotiateCamera(ctx, seller.Agent, buyer.Agent)
	if err != nil {
		return err
	}
	receipt, err := sale.Receipt(ctx)
	if err != nil {
		return err
	}
	doc, err := exportSession(seller.store, sale.ID())
	if err != nil {
		return err
	}
	show := *a
	show.out.json = false
	if !a.out.json {
		if err := show.showSession(doc, wire.DIDKeys{}, false); err != nil {
			return err
		}
	}

	a.heading("both sides hold one receipt, countersigned by both")
	result := demoResult{Dir: dir, Session: sale.ID(), State: string(sale.Session().State()), Deal: sale.Session().Deal().Value(), Receipt: receipt.Hash()}
	if result.SameReceipt, err = a.compareReceipts(sale.ID(), seller, buyer); err != nil {
		return err
	}

	a.heading("everything is verified again from the files")
	for _, p := range []*demoParty{seller, buyer} {
		v, err := a.exportAndVerify(p, sale.ID())
		if err != nil {
			return err
		}
		result.Verified = append(result.Verified, v)
	}

	a.heading("one byte of the transcript is changed")
	if result.Tampered, err = a.tamper(seller); err != nil {
		return err
	}

	a.heading("look at it yourself")
	transcriptFile := filepath.Join(seller.dir, transcriptName)
	for _, line := range []string{
		"concordia session show " + transcriptFile,
		"concordia agreement export --as acp " + transcriptFile,
		"concordia verify " + transcriptFile + " " + filepath.Join(buyer.dir, receiptName),
		"concordia verify " + filepath.Join(seller.dir, tamperedName),
		"concordia id show " + filepath.Join(seller.dir, "agent.key"),
	} {
		a.out.printf("  %s\n", line)
	}
	a.out.printf("the files are in %s\n", dir)
	if err := a.out.value(result); err != nil {
		return err
	}
	return result.err()
}

// A demoResult is the demonstration for programs.
type demoResult struct {
	Dir         string         `json:"dir"`
	Session     wire.SessionID `json:"session"`
	State       string         `json:"state"`
	Deal        wire.Value     `json:"deal"`
	Receipt     wire.Hash      `json:"receipt_hash"`
	SameReceipt bool           `json:"same_receipt"`
	Verified    []verification `json:"verified"`
	Tampered    verification   `json:"tampered"`
}

func (r demoResult) err() error {
	ok := r.SameReceipt && r.Tampered.Verdict == wire.Failed
	for _, v := range r.Verified {
		ok = ok && v.Verdict == wire.Passed
	}
	if !ok {
		return cli.Exit(cli.Rejected, fmt.Errorf("the demonstration did not come out as it should"))
	}
	return nil
}

func (a *app) heading(s string) { a.out.printf("\n%s\n", a.out.paint(bold, s)) }

// negotiateCamera is the negotiation itself: what a program writes with package agent.
func negotiateCamera(ctx context.Context, seller, buyer *agent.Agent) (*agent.Negotiation, error) {
	agent.Connect(seller, buyer)
	sale, err := seller.Open(ctx, wire.M{
		"item":      wire.M{"type": "text", "label": "What is sold", "value": "Used mirrorless camera, 24 MP"},
		"price":     wire.M{"type": "numeric", "label": "Price", "unit": "USD", "constraints": wire.M{"min": 1500, "max": 2500, "currency": "USD"}},
		"delivery":  wire.M{"type": "categorical", "label": "How it is handed over", "enum": []string{"pickup", "shipping"}},
		"ready":     wire.M{"type": "temporal", "label": "Ready on", "value": "2026-12-05"},
		"warranty":  wire.M{"type": "boolean", "label": "Thirty days to return it", "value": true},
		"condition": wire.M{"type": "composite", "label": "Condition", "value": wire.M{"grade": "good", "shutter_count": 4000}},
	}, wire.M{
		"timing":      wire.M{"session_ttl": 3600, "offer_ttl": 600, "max_rounds": 10},
		"category":    "electronics.cameras",
		"value_range": "1000-5000_USD",
		"settlement":  wire.M{"expires_after": 7 * 24 * 3600},
	}, buyer.ID())
	if err != nil {
		return nil, err
	}
	purchase, err := buyer.Negotiation(ctx, sale.ID())
	if err != nil {
		return nil, err
	}
	price := func(usd int) wire.M { return wire.M{"value": usd, "currency": "USD"} }
	is := func(v string) wire.M { return wire.M{"value": v} }
	for _, step := range []func() error{
		func() error { return purchase.AcceptSession(ctx) },
		func() error {
			return purchase.Send(ctx, wire.TypeSignal, wire.M{
				"priority_ranking": []string{"price", "delivery"},
				"flexibility":      wire.M{"ready": "very_flexible", "price": "somewhat_flexible"},
			}, "")
		},
		func() error {
			return sale.Offer(ctx, wire.M{"price": price(2200), "delivery": is("pickup")},
				"Serviced last month; the shutter has seen little use.")
		},
		func() error {
			return purchase.Counter(ctx, wire.M{"price": price(1900), "delivery": is("shipping")},
				"I live four hours away, so I would need it sent.")
		},
		func() error {
			return sale.Propose(ctx, wire.TypeCounter, wire.M{
				"conditions": []wire.M{
					{"if": wire.M{"delivery": "pickup"}, "then": wire.M{"price": price(2000)}},
					{"if": wire.M{"delivery": "shipping"}, "then": wire.M{"price": price(2050)}},
				},
				"complete": true,
			}, "Insured shipping costs me fifty.")
		},
		func() error { return purchase.Accept(ctx, wire.M{"delivery": "shipping"}, "Shipped is fine.") },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return sale, nil
}

// compareReceipts reports whether both stores hold one receipt, byte for byte.
func (a *app) compareReceipts(id wire.SessionID, parties ...*demoParty) (bool, error) {
	var first wire.Value
	for i, p := range parties {
		receipts, err := p.store.Receipts(id)
		if err != nil {
			return false, err
		}
		if len(receipts) != 1 {
			return false, nil
		}
		a.out.printf("  %-8s %s\n", filepath.Base(p.dir), receipts[0].Hash())
		if i == 0 {
			first = receipts[0]
		} else if !receipts[0].Equal(first) {
			return false, nil
		}
	}
	return true, nil
}

// The files that exportAndVerify and tamper write.
const (
	transcriptName = "transcript.json"
	receiptName    = "receipt.json"
	tamperedName   = "tampered.json"
)

// exportAndVerify writes a party's transcript and receipt beside its store and
// verifies the file it wrote.
func (a *app) exportAndVerify(p *demoParty, id wire.SessionID) (verification, error) {
	var r verification
	doc, err := exportSession(p.store, id)
	if err != nil {
		return r, err
	}
	v, err := doc.Value()
	if err != nil {
		return r, err
	}
	path := filepath.Join(p.dir, transcriptName)
	if err := os.WriteFile(path, []byte(v.Canonical()+"\n"), 0o600); err != nil {
		return r, err
	}
	if err := os.WriteFile(filepath.Join(p.dir, receiptName), []byte(doc.Receipt.Canonical()+"\n"), 0o600); err != nil {
		return r, err
	}
	return a.verifyOnDisk(path)
}

func (a *app) verifyOnDisk(path string) (verification, error) {
	v, err := readJSON(path)
	if err != nil {
		return verification{}, err
	}
	r, err := verifyValue(conformance.Subject{Artifact: v, Keys: wire.DIDKeys{}, Now: a.now()}, &verifyOptions{}, nil)
	if err != nil {
		return r, err
	}
	r.File, r.Verdict, r.Checks = path, r.report.Outcome(), findings(r.report)
	a.printVerification(r)
	return r, nil
}

// tamper changes one digit of the agreed price in a copy of the transcript.
func (a *app) tamper(p *demoParty) (verification, error) {
	text, err := os.ReadFile(filepath.Join(p.dir, transcriptName))
	if err != nil {
		return verification{}, err
	}
	i := bytes.LastIndex(text, []byte(`"value":2050`))
	if i < 0 {
		return verification{}, fmt.Errorf("changing a byte: the agreed price is not in the transcript")
	}
	text[i+len(`"value":`)] = '1'
	path := filepath.Join(p.dir, tamperedName)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return verification{}, err
	}
	return a.verifyOnDisk(path)
}
