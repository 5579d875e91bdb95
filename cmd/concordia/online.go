package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest/endpoint"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/resolve"
)

// A trust is whose keys a person believes: those in files, those that are their id, and
// if told so those that the host of a did:web names. Without --online nothing here
// opens a connection.
type trust struct {
	keyFiles []string
	online   bool
}

func (t *trust) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&t.keyFiles, "keys", nil, "JSON `file` with the public keys to trust (repeatable)")
	cmd.Flags().BoolVar(&t.online, "online", false, "ask the hosts of did:web ids for keys, and revocation endpoints")
}

func (t *trust) isZero() bool { return len(t.keyFiles) == 0 && !t.online }

// maxOnline bounds how long one verification waits for others, all together.
const maxOnline = 2 * time.Minute

// asked is what a trust comes to: keys, and what asks revocation endpoints, nil if
// nobody does. Both last until ctx ends.
func (t *trust) asked(ctx context.Context, a *app) (keys wire.Keys, listed func(url, id string) (bool, error), err error) {
	known, err := readContacts(t.keyFiles)
	if err != nil {
		return nil, nil, err
	}
	var rest unlisted
	if t.online {
		fetch, web := a.outbound, a.outbound
		fetch.MaxBody, web.MaxBody = endpoint.MaxAnswerSize, resolve.MaxDocumentSize
		rest.web = (&resolve.Web{Fetch: web.Get, Now: a.now}).Online(ctx)
		listed = endpoint.Listed(ctx, fetch.Get)
	}
	return known.Else(rest), listed, nil
}

var errOffline = errors.New("no file of --keys has it; with --online its host is asked")

// unlisted answers for agents that no file lists.
type unlisted struct{ web wire.Keys } // nil: nobody is asked

// Key implements wire.Keys.
func (u unlisted) Key(agent wire.AgentID, at time.Time) (wire.PublicKey, error) {
	switch {
	case !resolve.IsWeb(agent):
		return wire.DIDKeys{}.Key(agent, at)
	case u.web == nil:
		return wire.PublicKey{}, wire.RuleUnknownKey.Because("", errOffline)
	}
	return u.web.Key(agent, at)
}

// readKeys reads the files of --keys. did:key ids resolve themselves.
func readKeys(files []string) (wire.Keys, error) {
	known, err := readContacts(files)
	if err != nil {
		return nil, err
	}
	return known.Else(wire.DIDKeys{}), nil
}

func readContacts(files []string) (*resolve.Contacts, error) {
	known := new(resolve.Contacts)
	for _, path := range files {
		v, err := readJSON(path)
		if err != nil {
			return nil, err
		}
		if err := known.Add(v); err != nil {
			return nil, fmt.Errorf("reading keys in %s: %w", path, err)
		}
	}
	return known, nil
}
