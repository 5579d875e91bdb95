package relay_test

import (
	"context"
	"fmt"
	"log"
	"os/signal"
	"syscall"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// An agent that answers: it joins what it is invited to, and says what it was told. A
// real one keeps d.Position together with what it does, and returns it from Cursors.
func ExampleClient() {
	key := keyOf("agent") // from wire/keyfile
	var c *relay.Client
	c, err := relay.NewClient(relay.ClientOptions{
		URL: "https://relay.example", Agent: wire.DIDKey(key.Public()), Signer: key, Keys: wire.DIDKeys{},
		Invited: func(ctx context.Context, i relay.Invitation) {
			if _, err := c.Join(ctx, i.Session); err != nil {
				log.Print(err)
			}
		},
		Handle: func(ctx context.Context, d relay.Delivery) error {
			if d.Err == nil && d.Message != nil {
				fmt.Println(d.Session, d.Number, d.From(), d.Message.Type)
			}
			return nil // acknowledges it
		},
		Accused: func(_ context.Context, m *relay.Misconduct) { log.Print(m) },
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := c.Run(ctx); ctx.Err() == nil {
		log.Fatal(err)
	}
}
