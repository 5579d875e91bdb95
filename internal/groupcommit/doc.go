// Package groupcommit is the one writer of the bbolt logs of this project.
//
// A bbolt transaction costs two fsyncs, however little it writes. [DB] has one
// committer goroutine that takes every operation waiting at that moment, runs
// them in one transaction, and answers all of them when it is on disk. There is
// no timer: a lone caller waits for its own fsync only, and the more callers
// wait, the more of them share the next one.
//
//	db, err := groupcommit.Open("log.db", nil)
//	...
//	defer db.Close()
//	err = db.Commit(ctx, groupcommit.Op{
//		Check: func(tx *bolt.Tx) error {
//			if tip(tx) != expected {
//				return errMoved // refuses this operation alone
//			}
//			return nil
//		},
//		Apply: func(tx *bolt.Tx) error {
//			return tx.Bucket(log).Put(key, value)
//		},
//	})
//	// err == nil: on disk. errMoved: not written, and the log did move.
//
// # Guarantees
//
// When [DB.Commit] returns nil, the operation has been written and fsynced: it
// survives a killed process, and a power cut as far as the disk keeps its word
// about fsync. The reverse does not hold. An operation whose caller was not
// answered, because the process died first, may be found on disk or not, but
// never in part, and never without those before it.
//
// Operations run one after the other in the order in which they were queued.
// Each sees what those before it wrote, so that of many callers who check for
// the same tip and then append, exactly one succeeds. An operation that is
// refused, fails or panics leaves the others of its transaction unaffected.
//
// A refusal is answered after the fsync too, since it may rest on what the same
// transaction wrote: "already stored" means stored on disk.
//
// If the transaction itself cannot be committed, all its operations get the
// error and none is acknowledged. A full disk leaves the database in use. After
// any other failure nobody knows what reached the disk, and fsync cannot be
// trusted to try again, so Commit answers [ErrFailed] until the database has
// been reopened; the operations that failed then may turn out to be on disk.
//
// # Corruption
//
// bbolt checks its two meta pages only, and trusts the rest of the file. Open
// therefore looks for what would make bbolt crash the process or overwrite live
// pages: a file cut short, a broken freelist, branch pages that lead out of the
// file or back up the tree. What remains surfaces as a [*CorruptError] from
// Commit or View in place of a panic, or as wrong data: a changed bit in a key
// or value goes unnoticed here. Store a checksum or hash where that matters.
package groupcommit

// BUG(groupcommit): The file shrinks only by [DB.Compact]; freed pages are used again.
// Compact does not work where an open file cannot be renamed, as on Windows.

// BUG(groupcommit): A process that dies while it creates a file can leave one
// that Open refuses as corrupt. Nothing was ever stored in it; delete it.

// BUG(groupcommit): Open reads neither the leaf pages of the top-level buckets,
// which are most of the file, nor the buckets nested in them. Damage to the header
// of such a page, or in a nested bucket, can still make bbolt allocate memory
// without bound, or crash, when that page is rewritten or that bucket used.
