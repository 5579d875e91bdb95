package relay

import (
	"context"
	"fmt"

	"github.com/concordia-node/concordia/wire"
)

// AppendCarried is [Mailboxes.Append] for a message that came without its sender's token,
// over another protocol. That a party who has joined signed it, with the key that its id
// has here, is what lets it in: whoever else asks is refused as if there were no such
// session, whether or not there is.
func (m *Mailboxes) AppendCarried(ctx context.Context, u *wire.UnverifiedMessage) (Appended, error) {
	id := wire.PlainDIDKey(u.From)
	var a agentRecord
	err := m.driver.View(ctx, func(r Reader) error {
		if _, _, _, err := m.joinedBy(r, id, u.Session); err != nil {
			return err
		}
		a = agentRecord{}
		known, err := getJSON(r, key(keyAgent, string(id)), &a)
		if err == nil && !known {
			err = errNoSession
		}
		return err
	})
	if err != nil {
		return Appended{}, err
	}
	public, err := wire.DecodePublicKey(a.Key)
	if err != nil {
		return Appended{}, fmt.Errorf("reading the key of an agent: %w", errDamaged)
	}
	who := Agent{id, public}
	if _, err := u.Verify(who); err != nil {
		return Appended{}, errNoSession
	}
	return m.Append(ctx, who, u.Value())
}
