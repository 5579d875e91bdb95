package boltmail_test

import (
	"path/filepath"
	"testing"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/boltmail"
	"github.com/concordia-node/concordia/relay/mailtest"
)

func TestContract(t *testing.T) {
	mailtest.Run(t, func(t *testing.T, dir string) relay.Driver {
		m, err := boltmail.Open(filepath.Join(dir, "mail.db"))
		if err != nil {
			t.Fatal(err)
		}
		return m
	})
}
