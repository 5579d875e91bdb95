package groupcommit

import (
	"encoding/binary"
	"os"
	"fmt"
	"testing"
	"path/filepath"
	bolt "go.etcd.io/bbolt"
)
func TestExp(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "db")
	c := sample(t, path)
	b, _ := bolt.Open(path, 0600, nil)
	fmt.Println(len(c), b.Stats().FreePageN)
	b.View(func(tx *bolt.Tx) error { fmt.Printf("%+v\n", tx.Bucket(bucket).Stats()); 
	for err := range tx.Check() { fmt.Println(err) }
	return nil })
	b.Close()
	types := map[uint16]int{}
	for i := 0; i < len(c); i += 4096 { types[binary.NativeEndian.Uint16(c[i+8:])]++ }
	fmt.Println(types)
	f, _ := os.OpenFile(path, os.O_RDWR, 0)
	nerr := 0; n := 0
	kinds := map[string]int{}
	for i := 0; i < len(c); i += 4096 {
		if typ := binary.NativeEndian.Uint16(c[i+8:]); typ == 0 { continue }
		lim := 4096
		if binary.NativeEndian.Uint16(c[i+8:]) == 2 { lim = 16+16*3 }
		cnt := int(binary.NativeEndian.Uint16(c[i+10:]))
		if binary.NativeEndian.Uint16(c[i+8:]) == 1 { lim = 16+16*cnt+20 }
		for bit := range lim*8 {
			pos := i + bit/8
			orig := c[pos]
			f.WriteAt([]byte{orig ^ 1<<(bit%8)}, int64(pos))
			err := use(t, path, &Options{ReadOnly: true})
			n++
			if err != nil { nerr++; s := err.Error(); if len(s) > 60+len(path) { s = s[len(path):len(path)+60]}; kinds[s]++ }
			f.WriteAt([]byte{orig}, int64(pos))
		}
	}
	fmt.Println(n, nerr)
	for k, v := range kinds { if v > 200 {fmt.Println(v, k)} }
}
