package relay

import (
	"context"
	"iter"
)

// A Driver stores mail: records under keys, and logs of entries. Package boltmail
// keeps it in one file, others in a cluster; package mailtest holds them to what
// is said here.
type Driver interface {
	// Update runs f in a transaction and returns nil when what f wrote is durable. If f
	// fails, nothing is written and Update returns its error, unless the transaction
	// failed itself, which takes precedence: then what f read may not be true.
	//
	// Transactions are serializable: each sees everything that those before it wrote. f
	// may run more than once and must have no effect but on its captured results, which
	// it assigns anew each time.
	Update(ctx context.Context, f func(Tx) error) error

	// View runs f with everything that Update had acknowledged before.
	View(ctx context.Context, f func(Reader) error) error

	// Wake tells whoever listens for an agent, on this relay and on others that share
	// the mail, that there is news in a session. Hints may be lost and doubled; two that
	// become one are one that is lost.
	Wake(agent, session string)

	// Listen calls wake, which must not block, for each hint for an agent, until stop is
	// called.
	Listen(agent string, wake func(session string)) (stop func())

	// Slack says by how many entries or sessions concurrent transactions may exceed a
	// quota together; of serializable ones none.
	Slack() int

	// Size returns how many bytes the mail takes on disk, and how many are free there
	// for more; -1 if that is not known.
	Size() (used, free int64)

	// Compact gives back the space of what was deleted, while the driver is in use.
	Compact(ctx context.Context) error

	Close() error
}

// A Reader reads in a transaction. What it returns may be used until the transaction
// ends, and not be changed. An error of reading makes the transaction fail.
type Reader interface {
	// Get returns the record under a key, or nil.
	Get(key string) []byte

	// Scan yields the records whose keys begin with prefix and are greater than after, in
	// the order of their keys. The transaction must not write while it scans.
	Scan(prefix, after string) iter.Seq2[string, []byte]

	// Entries yields the entries of a log from number from on.
	Entries(log string, from uint64) iter.Seq2[uint64, []byte]
}

// A Tx reads and writes in a transaction, and reads what it wrote. The driver may keep
// what it is given.
type Tx interface {
	Reader

	// Put sets the record under a key. Keys have 1 to MaxKey bytes.
	Put(key string, record []byte)

	// Delete removes a record, if there is one.
	Delete(key string)

	// Append adds entry number n to a log; the entries of a log are numbered from 1
	// without gaps, and a number is used once. The name of a log has 1 to MaxKey bytes,
	// none of them zero.
	Append(log string, n uint64, entry []byte)

	// Drop removes a log of n entries.
	Drop(log string, n uint64)
}

// MaxKey bounds the keys of records, and the names of logs, in bytes.
const MaxKey = 4096
