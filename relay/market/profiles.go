package market

import (
	"context"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

var (
	errNoProfile = refuse(relay.CodeNotFound, "the agent has published no profile")
	errOutdated  = refuse(relay.CodeOutdated, "a profile that was updated then or later is there, or was taken back")
)

// checkProfile verifies a profile of an agent at a time.
func (m *Market) checkProfile(v wire.Value, agent relay.Agent, now time.Time) (*attest.AgentProfile, error) {
	l := &m.opts.Limits
	if int64(len(v.Canonical())) > l.ProfileSize {
		return nil, quota("profile_bytes", "the profile is too large")
	}
	p, report := attest.Verifier{Keys: agent, Now: now}.VerifyProfile(v)
	switch {
	case p != nil && wire.PlainDIDKey(p.Agent) != agent.ID:
		return nil, attest.RuleProfile.Because("/agent_id", errAgent)
	case p == nil || report.Err() != nil:
		return nil, report.Err()
	case p.TTL > seconds(l.ProfileLife):
		return nil, quota("profile_seconds", "the ttl is too long")
	case !now.Before(p.UpdatedAt.Add(p.TTL)):
		return nil, attest.RuleProfileTTL.At("/ttl")
	}
	return p, nil
}

// doPublish keeps a profile in place of an older one. The same once more has the same
// answer.
func (m *Market) doPublish(ctx context.Context, c *relay.Call) (wire.Value, error) {
	v := c.Request.Object("profile").Whole()
	if err := c.Request.Err(); err != nil {
		return v, err
	}
	now := m.now()
	p, err := m.checkProfile(v, c.Agent, now)
	if err != nil {
		return v, err
	}
	rec := &record{p.UpdatedAt, p.UpdatedAt.Add(p.TTL), v.Canonical()}
	err = m.driver.Update(ctx, func(tx relay.Tx) error {
		key := keyProfile + string(c.Agent.ID)
		known, err := get(tx, key)
		switch {
		case err != nil:
			return err
		case known != nil && known.text == rec.text:
			return nil
		case known != nil && !rec.since.After(known.since):
			return errOutdated
		case known == nil && !add(tx, countProfiles, 1, m.opts.Limits.Profiles):
			return quota("profiles", "the market has as many profiles as it takes")
		}
		if err := m.room(); err != nil {
			return err
		}
		return m.put(tx, key, known, rec)
	})
	if err != nil {
		return v, err
	}
	return wire.Encode(wire.M{"updated_at": wire.FormatTime(rec.since), "expires_at": wire.FormatTime(rec.expires)})
}

// doUnpublish takes a profile back. What remains is a mark of when, as long as a profile
// from before could still stand, so that none comes back.
func (m *Market) doUnpublish(ctx context.Context, c *relay.Call) (wire.Value, error) {
	now := m.now()
	err := m.driver.Update(ctx, func(tx relay.Tx) error {
		key := keyProfile + string(c.Agent.ID)
		known, err := get(tx, key)
		switch {
		case err != nil:
			return err
		case known == nil || known.text == "":
			return errNoProfile
		}
		since := now
		if known.since.After(since) {
			since = known.since
		}
		return m.put(tx, key, known, &record{since: since, expires: since.Add(seconds(m.opts.Limits.ProfileLife))})
	})
	if err != nil {
		return wire.Value{}, err
	}
	return wire.Encode(wire.M{})
}

// forget removes the profile of a record that has expired, and in the end the mark of it.
func (m *Market) forget(tx relay.Tx, key string, was *record, now time.Time) error {
	until := was.since.Add(seconds(m.opts.Limits.ProfileLife))
	if was.text != "" && now.Before(until) {
		return m.put(tx, key, was, &record{since: was.since, expires: until})
	}
	add(tx, countProfiles, -1, 0)
	drop(tx, key, was)
	return nil
}

func (m *Market) doProfile(ctx context.Context, c *relay.Call) (wire.Value, error) {
	v, found, err := m.one(ctx, keyProfile, c.Request)
	if err == nil && !found {
		err = errNoProfile
	}
	if err != nil {
		return v, err
	}
	return wire.Encode(wire.M{"profile": v})
}

func (m *Market) doProfiles(ctx context.Context, c *relay.Call) (wire.Value, error) {
	category, offerType := readCategory(c.Request), c.Request.OptText("offer_type")
	return m.answerScan(ctx, c, keyProfile, "profiles", func(v wire.Value) bool {
		p, err := attest.ReadAgentProfile(v)
		return err == nil && covers(p.Categories, category) && has(p.OfferTypes, offerType)
	})
}
