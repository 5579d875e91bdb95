package node

import (
	"context"
	"encoding/binary"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// A bell tells those who wait that there are more notices.
type bell struct {
	mu   sync.Mutex // guards what follows
	last uint64
	rung chan struct{}
}

func (b *bell) came(last uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last > b.last {
		b.last = last
		close(b.rung)
		b.rung = make(chan struct{})
	}
}

// ring wakes those who wait, without a number.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.rung)
	b.rung = make(chan struct{})
}

func (b *bell) hear() (last uint64, rung <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last, b.rung
}

// MaxNotices bounds what one call of Notices returns.
const MaxNotices = 1000

// Notices implements [API].
func (n *Node) Notices(ctx context.Context, after uint64, most int) ([]Notice, error) {
	if most <= 0 || most > MaxNotices {
		most = MaxNotices
	}
	for {
		_, rung := n.notices.hear()
		var found []Notice
		err := each(n.disk, bucketNotices, string(number(after)), func(_ string, x *Notice) bool {
			found = append(found, *x)
			return len(found) < most
		})
		if err != nil || len(found) > 0 {
			return found, n.failed(err)
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return nil, nil
		case <-n.stopping:
			return nil, n.failed(errStopping)
		}
	}
}

// lastNotice reads the number of the last notice.
func (d *disk) lastNotice() (last uint64, err error) {
	err = d.db.View(func(tx *bolt.Tx) error {
		if k, _ := tx.Bucket(bucketNotices).Cursor().Last(); len(k) == 8 {
			last = binary.BigEndian.Uint64(k)
		}
		return nil
	})
	return last, err
}
