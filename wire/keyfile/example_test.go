package keyfile_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"

	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/keyfile"
)

func Example() {
	dir, err := os.MkdirTemp("", "keyfile")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "agent.json")

	key, err := wire.GenerateKey(rand.Reader)
	if err != nil {
		fmt.Println(err)
		return
	}
	passphrase := []byte("correct horse battery staple")
	if err := keyfile.Create(path, keyfile.Identity{Agent: "agent_seller", Key: key}, passphrase, rand.Reader); err != nil {
		fmt.Println(err)
		return
	}

	// Without the passphrase, for an invitation say.
	agent, public, err := keyfile.Public(path)
	fmt.Println(agent, public == key.Public(), err)

	// With it, to sign.
	id, err := keyfile.Load(path, func() ([]byte, error) { return passphrase, nil })
	fmt.Println(id, id.Key, err)
	// Output:
	// agent_seller true <nil>
	// agent_seller [private key] <nil>
}
