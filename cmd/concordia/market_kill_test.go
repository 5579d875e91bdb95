package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
)

// A trader posts and withdraws, and remembers what was acknowledged and stands.
type trader struct {
	*correspondent
	market *market.Client
	kind   match.Kind
	stands map[match.ID]*match.Entry
	number map[match.ID]uint64
}

// trade has a trader post until stop, and withdraw now and then.
func (d *trader) trade(ctx context.Context, n int, stop <-chan struct{}, acknowledged *counter) error {
	const most = 90 // an agent may have a hundred
	word := map[match.Kind]string{match.Want: "want", match.Have: "have"}[d.kind]
	bound := map[match.Kind]string{match.Want: "max", match.Have: "min"}[d.kind]
	for i := 0; ; i++ {
		select {
		case <-stop:
			return nil
		default:
		}
		if len(d.stands) == most || i%5 == 4 {
			ids := slices.Sorted(maps.Keys(d.stands))
			id := ids[i%len(ids)]
			// What a relay did before it was killed it does not find again.
			if err := d.market.Withdraw(ctx, id); err != nil && relay.CodeOf(err) != relay.CodeNotFound {
				return fmt.Errorf("withdrawing %s: %w", id, err)
			}
			delete(d.stands, id)
			acknowledged.add()
			continue
		}
		draft, err := wire.Encode(wire.M{
			"type": d.kind, "id": fmt.Sprintf("%s_%d_%d", word, n, i), "agent_id": d.id, "ttl": 3600, "created_at": wire.FormatTime(time.Now()),
			"category": fmt.Sprint("c", i%3), "terms": wire.M{"price": wire.M{bound: 1 + i%7}},
		})
		if err != nil {
			return err
		}
		signed, err := match.Sign(draft, d.key)
		if err != nil {
			return err
		}
		e, err := match.Read(signed)
		if err != nil {
			return err
		}
		p, err := d.market.Post(ctx, e)
		if err != nil {
			return fmt.Errorf("posting %s: %w", e.ID, err)
		}
		d.stands[e.ID], d.number[e.ID] = e, p.Number
		acknowledged.add()
	}
}

// matches are the ids of what matches an entry, as the market says.
func (d *trader) matches(ctx context.Context, e *match.Entry) (ids []match.ID, err error) {
	for after, more := uint64(0), true; more; {
		var list []market.Matched
		if list, after, more, err = d.market.Matches(ctx, e, after); err != nil {
			return nil, err
		}
		for _, m := range list {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// A relay with a market that is killed again and again while agents post and withdraw
// keeps what it acknowledged: each entry that stands is there under its number and
// matches what it should, and none comes back that was withdrawn.
func TestMarketKilled(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "limits.json"), []byte(killLimits), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startKilled(t, dir, "127.0.0.1:0", "--market")
	defer func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() }()
	at, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	var running, trading sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var acknowledged counter
	stop := make(chan struct{})
	traders := make([]*trader, 8)
	for i := range traders {
		c := newCorrespondent(t, p.url)
		d := &trader{c, &market.Client{Relay: c, Keys: wire.DIDKeys{}, Now: time.Now}, []match.Kind{match.Want, match.Have}[i%2], map[match.ID]*match.Entry{}, map[match.ID]uint64{}}
		traders[i] = d
		if i < len(traders)/2 { // half of them over a websocket
			running.Go(func() { _ = c.Run(ctx) })
		}
		trading.Go(func() {
			if err := d.trade(ctx, i, stop, &acknowledged); err != nil {
				t.Errorf("agent %d: %v", i, err)
				cancel()
			}
		})
	}
	for n := range relayKills {
		select {
		case <-acknowledged.more(1 + mathrand.Int64N(100)):
		case <-ctx.Done():
			t.Fatalf("after %d kills: %v", n, context.Cause(ctx))
		}
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p = startKilled(t, dir, at.Host, "--market")
	}
	close(stop)
	trading.Wait()
	_ = p.cmd.Process.Kill() // once more, with nobody there to post again
	_ = p.cmd.Wait()
	p = startKilled(t, dir, at.Host, "--market")

	all := map[match.ID]*match.Entry{}
	owner := map[uint64]match.ID{}
	for _, d := range traders {
		maps.Copy(all, d.stands)
		for id, number := range d.number {
			if other := owner[number]; other != "" {
				t.Errorf("%s and %s have one number, %d", id, other, number)
			}
			owner[number] = id
		}
	}
	for _, d := range traders {
		found := map[match.ID]uint64{}
		for s := (market.Search{Kind: d.kind, Agent: d.id}); ; {
			list, before, refused, err := d.market.Search(ctx, s)
			if err != nil || refused > 0 {
				t.Fatalf("Search: %d, %v", refused, err)
			}
			for _, e := range list {
				found[e.ID] = e.Number
			}
			if s.Before = before; before == 0 {
				break
			}
		}
		want := map[match.ID]uint64{}
		for id, e := range d.stands {
			want[id] = d.number[id]
			var matching []match.ID
			for _, other := range all {
				if match.Score(e, other) > 0 {
					matching = append(matching, other.ID)
				}
			}
			slices.Sort(matching)
			got, err := d.matches(ctx, e)
			if diff := cmp.Diff(matching, got); diff != "" || err != nil {
				t.Errorf("matches of %s (%v) (-acknowledged +found):\n%.1000s", id, err, diff)
			}
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("entries of an agent (-acknowledged +found):\n%.2000s", diff)
		}
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	var out, errs bytes.Buffer
	if code := run([]string{"relay", "doctor", "--dir", filepath.Join(dir, "mail")}, &out, &errs); code != 0 {
		t.Errorf("doctor: %d\n%s%s", code, &out, &errs)
	}
	t.Logf("%d kills, %d posts and withdrawals acknowledged, %d entries stand", relayKills, acknowledged.count(), len(all))
	if acknowledged.count() == 0 {
		t.Error("nothing was acknowledged")
	}
}
