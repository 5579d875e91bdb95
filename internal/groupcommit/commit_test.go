package groupcommit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"
)

var errMoved = errors.New("tip has moved")

// appendAt appends value if the log has tip entries.
func appendAt(tip uint64, value string) Op {
	op := put(value)
	op.Check = func(tx *bolt.Tx) error {
		if tx.Bucket(bucket).Sequence() != tip {
			return errMoved
		}
		return nil
	}
	return op
}

func TestCompareAndAppend(t *testing.T) {
	db := openLog(t)
	const writers, rounds = 100, 5
	for tip := range uint64(rounds) {
		errs := make([]error, writers)
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() { errs[i] = db.Commit(t.Context(), appendAt(tip, fmt.Sprint(i))) })
		}
		wg.Wait()
		winner := slices.Index(errs, nil)
		if winner < 0 {
			t.Fatalf("at %d: nobody appended: %v", tip, errs[0])
		}
		for i, err := range errs {
			if i != winner && err != errMoved {
				t.Errorf("at %d: writer %d after winner %d: %v", tip, i, winner, err)
			}
		}
		if got := values(t, db); len(got) != int(tip)+1 || got[tip] != fmt.Sprint(winner) {
			t.Errorf("at %d: %d won, log is %q", tip, winner, got)
		}
	}
}

func TestEachWriterInOrder(t *testing.T) {
	db := openLog(t)
	const writers, each = 100, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := db.Commit(t.Context(), put(fmt.Sprintf("%d %d", w, i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var next [writers]int
	for _, v := range values(t, db) {
		var w, i int
		fmt.Sscan(v, &w, &i)
		if i != next[w] {
			t.Fatalf("writer %d: %d in place of %d", w, i, next[w])
		}
		next[w]++
	}
	for w, n := range next {
		if n != each {
			t.Errorf("writer %d: %d entries", w, n)
		}
	}
}

func TestBatch(t *testing.T) {
	errNo := errors.New("no")
	no := func(*bolt.Tx) error { return errNo }
	boom := func(*bolt.Tx) error { panic("boom") }
	nilBucket := func(tx *bolt.Tx) error { return tx.Bucket([]byte("none")).Put([]byte("k"), nil) }
	failAfterPut := put("half")
	failAfterPut.Apply = both(failAfterPut.Apply, no)
	panicAfterPut := put("half")
	panicAfterPut.Apply = both(panicAfterPut.Apply, boom)
	isPanic := new(PanicError)

	tests := []struct {
		name   string
		ops    []Op
		errs   []error // isPanic: any *PanicError
		values []string
	}{
		{"order", []Op{put("a"), put("b"), put("c")}, []error{nil, nil, nil}, []string{"a", "b", "c"}},
		{"refused", []Op{put("a"), {Check: no, Apply: boom}, put("c")}, []error{nil, errNo, nil}, []string{"a", "c"}},
		{"all refused", []Op{{Check: no}, {Check: no}}, []error{errNo, errNo}, nil},
		{"check only", []Op{{}, appendAt(0, "a"), {Check: appendAt(1, "").Check}}, []error{nil, nil, nil}, []string{"a"}},
		{"same tip", []Op{appendAt(0, "a"), appendAt(0, "b"), appendAt(1, "c")}, []error{nil, errMoved, nil}, []string{"a", "c"}},
		{"failed", []Op{put("a"), failAfterPut, put("c")}, []error{nil, errNo, nil}, []string{"a", "c"}},
		{"all failed", []Op{failAfterPut, failAfterPut}, []error{errNo, errNo}, nil},
		{"only", []Op{failAfterPut}, []error{errNo}, nil},
		{"refused because of a failed one", []Op{put("a"), appendAt(2, "b"), failAfterPut, appendAt(1, "d")},
			[]error{nil, errMoved, errNo, nil}, []string{"a", "d"}},
		{"not refused after all", []Op{{Apply: failAfterPut.Apply}, appendAt(0, "b")}, []error{errNo, nil}, []string{"b"}},
		{"panic in apply", []Op{put("a"), panicAfterPut, put("c")}, []error{nil, isPanic, nil}, []string{"a", "c"}},
		{"panic in check", []Op{put("a"), {Check: boom}, put("c")}, []error{nil, isPanic, nil}, []string{"a", "c"}},
		{"nil bucket", []Op{put("a"), {Apply: nilBucket}}, []error{nil, isPanic}, []string{"a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			db := openLog(t)
			for i, err := range commitTogether(db, test.ops...) {
				var p *PanicError
				if want := test.errs[i]; want == isPanic {
					if !errors.As(err, &p) || len(p.Stack) == 0 {
						t.Errorf("op %d: %v is no panic", i, err)
					}
				} else if err != want {
					t.Errorf("op %d: got %v, want %v", i, err, want)
				}
			}
			if got := values(t, db); !slices.Equal(got, test.values) {
				t.Errorf("log is %q, want %q", got, test.values)
			}
			if err := db.Commit(t.Context(), put("next")); err != nil {
				t.Error(err)
			}
		})
	}
}

func both(fns ...func(*bolt.Tx) error) func(*bolt.Tx) error {
	return func(tx *bolt.Tx) error {
		for _, fn := range fns {
			if err := fn(tx); err != nil {
				return err
			}
		}
		return nil
	}
}

// Failing, panicking and refused operations among many good ones, as they come.
func TestMixed(t *testing.T) {
	db := openLog(t)
	errs := make([]error, 100)
	var wg sync.WaitGroup
	for i := range errs {
		op := put(fmt.Sprint(i))
		switch i % 4 {
		case 1:
			op.Check = func(*bolt.Tx) error { return errMoved }
		case 2:
			op.Apply = both(op.Apply, func(*bolt.Tx) error { return errMoved })
		case 3:
			op.Apply = both(op.Apply, func(*bolt.Tx) error { panic(errMoved) })
		}
		wg.Go(func() { errs[i] = db.Commit(t.Context(), op) })
	}
	wg.Wait()
	got := values(t, db)
	for i, err := range errs {
		good := i%4 == 0
		if good != (err == nil) || !good && !errors.Is(err, errMoved) {
			t.Errorf("op %d: %v", i, err)
		}
		n := 0
		for _, v := range got {
			if v == fmt.Sprint(i) {
				n++
			}
		}
		if good && n != 1 || !good && n != 0 {
			t.Errorf("op %d is in the log %d times", i, n)
		}
	}
}

func TestMaxBatch(t *testing.T) {
	db := open(t, t.TempDir()+"/db", &Options{MaxBatch: 3})
	var first, last int
	ids := func(id *int) Op {
		return Op{Apply: func(tx *bolt.Tx) error { *id = tx.ID(); return createBucket(tx) }}
	}
	if err := db.Commit(t.Context(), ids(&first)); err != nil {
		t.Fatal(err)
	}
	release := block(t, db)
	var wg sync.WaitGroup
	for range 9 {
		ctx := queuedContext{t.Context(), make(chan struct{})}
		wg.Go(func() {
			if err := db.Commit(ctx, Op{Apply: createBucket}); err != nil {
				t.Error(err)
			}
		})
		<-ctx.queued
	}
	release()
	wg.Wait()
	if err := db.Commit(t.Context(), ids(&last)); err != nil {
		t.Fatal(err)
	}
	if n := last - first - 1; n < 3 {
		t.Errorf("9 operations in %d transactions", n)
	}
}

func TestContext(t *testing.T) {
	t.Run("done before", func(t *testing.T) {
		db := openLog(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := db.Commit(ctx, put("a")); err != context.Canceled {
			t.Error(err)
		}
		if got := values(t, db); got != nil {
			t.Errorf("log is %q", got)
		}
	})
	t.Run("done while queued", func(t *testing.T) {
		db := openLog(t)
		release := block(t, db)
		ctx, cancel := context.WithCancel(t.Context())
		queued := queuedContext{ctx, make(chan struct{})}
		answer := make(chan error)
		go func() { answer <- db.Commit(queued, put("a")) }()
		<-queued.queued
		cancel()
		if err := <-answer; err != context.Canceled { // before the release
			t.Error(err)
		}
		release()
		if err := db.Commit(t.Context(), put("b")); err != nil {
			t.Error(err)
		}
		if got := values(t, db); !slices.Equal(got, []string{"b"}) {
			t.Errorf("log is %q", got)
		}
	})
	t.Run("done once taken", func(t *testing.T) {
		db := openLog(t)
		ctx, cancel := context.WithCancel(t.Context())
		op := put("a")
		op.Check = func(*bolt.Tx) error { cancel(); return nil }
		if err := db.Commit(ctx, op); err != nil {
			t.Error(err)
		}
		if got := values(t, db); !slices.Equal(got, []string{"a"}) {
			t.Errorf("log is %q", got)
		}
	})
}

// A panic in bbolt's own part of the commit: nobody is acknowledged, then or later.
func TestPanicInCommit(t *testing.T) {
	db := openLog(t)
	errs := commitTogether(db, put("a"), Op{
		Check: func(*bolt.Tx) error { return errMoved },
	}, Op{Apply: func(tx *bolt.Tx) error {
		tx.OnCommit(func() { panic("boom") })
		return nil
	}})
	for i, err := range errs {
		if p := new(PanicError); !errors.As(err, &p) || errors.Is(err, ErrFailed) {
			t.Errorf("op %d: %v", i, err)
		}
	}
	if err := db.Commit(t.Context(), put("b")); !errors.Is(err, ErrFailed) {
		t.Error(err)
	}
	db.View(func(tx *bolt.Tx) error {
		if v := tx.Bucket(bucket).Get(binary.BigEndian.AppendUint64(nil, 2)); v != nil {
			t.Errorf("%q is in the log", v)
		}
		return nil
	})
}
