package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// dealer returns the key of an agent of writeDeals.
func dealer(name string) (wire.PrivateKey, error) {
	return wire.NewPrivateKey([]byte(name + strings.Repeat("~", wire.SeedSize-len(name))))
}

// writeDeals writes receipts of deals of 2026-09-14 between agents, and their keys.
func writeDeals(path string, deals []string) error {
	var lines strings.Builder
	keys := wire.M{}
	n := 0
	for _, d := range deals {
		d, times, _ := strings.Cut(d, "*")
		count, err := strconv.Atoi(times)
		if times != "" && err != nil {
			return err
		}
		first, second, _ := strings.Cut(d, "-")
		for i := range max(count, 1) {
			other := second
			if other == "" {
				other = fmt.Sprint(first, "_", i)
			}
			receipt, err := dealOf(n, first, other, keys)
			if err != nil {
				return err
			}
			n++
			fmt.Fprintln(&lines, receipt.Canonical())
		}
	}
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		return err
	}
	v, err := wire.Encode(keys)
	if err != nil {
		return err
	}
	return os.WriteFile(path+".keys", []byte(v.Canonical()), 0o600)
}

func dealOf(n int, first, second string, keys wire.M) (wire.Value, error) {
	id := fmt.Sprint(first, second, n)
	v, err := attest.Draft{
		ID: "att_" + id, Session: wire.SessionID("ses_" + id), Time: time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC),
		Outcome:        attest.Outcome{Status: attest.StatusAgreed, Rounds: 2, Duration: time.Second, Mechanism: attest.MechanismDirect},
		Parties:        []attest.Party{{Agent: wire.AgentID(first), Role: attest.RoleInitiator}, {Agent: wire.AgentID(second), Role: attest.RoleResponder}},
		Meta:           attest.Meta{Category: "goods"},
		TranscriptHash: wire.HashOf("transcript" + id), ChainHead: wire.HashOf("head" + id), MessageCount: 4,
	}.Value()
	for _, name := range []string{first, second} {
		if err != nil {
			break
		}
		var k wire.PrivateKey
		if k, err = dealer(name); err == nil {
			keys[name] = k.Public()
			v, err = attest.Countersign(v, wire.AgentID(name), k)
		}
	}
	return v, err
}

// checkSum adds the contributions of an explanation up, as they are written.
func checkSum(text string) error {
	var explained struct {
		Overall       json.Number `json:"overall_score"`
		Contributions []struct {
			Contribution json.Number `json:"contribution"`
		} `json:"contributions"`
	}
	if err := json.Unmarshal([]byte(text), &explained); err != nil {
		return err
	}
	want, ok := new(big.Rat).SetString(explained.Overall.String())
	sum := new(big.Rat)
	for _, c := range explained.Contributions {
		part, fine := new(big.Rat).SetString(c.Contribution.String())
		if !fine {
			return fmt.Errorf("%q is no number", c.Contribution)
		}
		sum.Add(sum, part)
	}
	if !ok || want.Cmp(sum) != 0 || len(explained.Contributions) == 0 {
		return fmt.Errorf("%d contributions add up to %s, the score is %s", len(explained.Contributions), sum.FloatString(9), explained.Overall)
	}
	return nil
}
