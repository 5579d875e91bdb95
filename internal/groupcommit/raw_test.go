package groupcommit
import ("testing";"os";"runtime/debug"; bolt "go.etcd.io/bbolt")
func TestRaw(t *testing.T) {
	debug.SetPanicOnFault(true)
	b, err := bolt.Open(os.Getenv("RAW"), 0600, nil)
	if err != nil { t.Skip(err) }
	defer b.Close()
	b.View(func(tx *bolt.Tx) error {
		l := tx.Bucket(bucket)
		return l.ForEach(func(k, v []byte) error { l.Get(k); return nil })
	})
}
