package resolve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/concordia-node/concordia/internal/outbound"
	"github.com/concordia-node/concordia/wire"
)

// BUG(resolve): A did:web has no history. Its key is the one that its document gives
// today, whatever time is asked about: after a rotation, artifacts signed with the key
// before do not verify, and whoever takes over the host takes over the agent, also for
// what is dated before. Contacts with from and until know better.

// DefaultMaxDocuments is how many documents an [Online] asks for.
const DefaultMaxDocuments = outbound.DefaultMaxQuestions

// A Web resolves did:web ids by asking the hosts that they name (W3C did:web method).
// The zero Web asks strictly: over HTTPS, public addresses only, no proxy and no
// redirect, ten seconds at most.
type Web struct {
	// Fetch returns what is at an https URL that a stranger wrote; nil is the strict
	// client. What replaces it has to be as careful, and to bound time and size.
	Fetch func(ctx context.Context, url string) ([]byte, error)

	Now          func() time.Time // when keys have expired; nil: time.Now
	MaxDocuments int              // that one Online asks for; 0: DefaultMaxDocuments
}

// Resolve returns the key that a did:web has now: the one that its fragment names,
// which its document lets sign assertions, or without a fragment the only such one.
// It fails with RuleUnknownKey if there is no such key or the document is no sound
// one of this id; every other error says that the document could not be had.
func (w *Web) Resolve(ctx context.Context, did wire.AgentID) (wire.PublicKey, error) {
	return w.Online(ctx).resolve(did)
}

// Online returns keys of did:web ids for one verification, which ends with ctx. Each
// document is asked for once, failures included, so that one verification sees one
// state of the world. A key that could not be asked for is a *wire.Unchecked; an id
// of another method is unknown. It may be used by many at the same time.
func (w *Web) Online(ctx context.Context) *Online {
	return &Online{ctx: ctx, web: w, documents: outbound.Once[*document]{Most: w.MaxDocuments}}
}

// An Online is the wire.Keys of a [Web].
type Online struct {
	ctx       context.Context // wire.Keys has none; an Online lives as long as it
	web       *Web
	documents outbound.Once[*document]
}

// Key implements wire.Keys. The time is not looked at: see [Web].
func (o *Online) Key(agent wire.AgentID, _ time.Time) (wire.PublicKey, error) {
	if !IsWeb(agent) {
		return wire.KeyMap(nil).Key(agent, time.Time{})
	}
	k, err := o.resolve(agent)
	if err != nil && !errors.Is(err, wire.RuleUnknownKey) {
		return k, &wire.Unchecked{Why: err.Error()}
	}
	return k, err
}

func (o *Online) resolve(id wire.AgentID) (wire.PublicKey, error) {
	url, err := DocumentURL(id)
	if err != nil {
		return wire.PublicKey{}, unknown(err)
	}
	did, _, _ := strings.Cut(string(id), "#")
	doc, err := o.documents.Ask(did, func() (*document, error) {
		fetch := o.web.Fetch
		if fetch == nil {
			fetch = (&outbound.Client{MaxBody: MaxDocumentSize, HighPorts: true}).Get
		}
		data, err := fetch(o.ctx, url)
		if err != nil {
			return nil, fmt.Errorf("getting the document of a did:web: %w", err)
		}
		return readDocument(did, data)
	})
	if err != nil {
		return wire.PublicKey{}, err
	}
	now := time.Now
	if o.web.Now != nil {
		now = o.web.Now
	}
	return doc.key(string(id), now())
}
