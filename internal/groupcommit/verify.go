package groupcommit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	bolt "go.etcd.io/bbolt"
)

// The file format of bbolt: pages that begin with a header of id (8 bytes),
// flags (2), count (2) and overflow (4), followed by count elements.
const (
	headerSize  = 16
	elementSize = 16 // of branch and leaf pages

	branchFlag   = 0x01
	leafFlag     = 0x02
	freelistFlag = 0x10

	bucketFlag = 0x01 // of a leaf element
	bucketSize = 16   // its value: the root page, or 0 before an inline page, and the sequence

	noFreelist = 1<<64 - 1
)

var native = binary.NativeEndian

// verify returns a *CorruptError if a page has two owners or lies beyond the end:
// bbolt would recurse for ever, fault, or overwrite it. It reads the file rather
// than the mapping, so that it cannot fault itself.
func verify(b *bolt.DB, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	tx, err := b.Begin(false)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if info.Size() < tx.Size() {
		return &CorruptError{path, fmt.Errorf("truncated: has %d of %d bytes", info.Size(), tx.Size())}
	}
	pageSize := int64(b.Info().PageSize)
	v := &verifier{f, pageSize, make([]bool, tx.Size()/pageSize)}
	if err := v.verify(uint64(tx.ID())); err != nil {
		return &CorruptError{path, err}
	}
	return nil
}

type verifier struct {
	file     io.ReaderAt
	pageSize int64
	owned    []bool // by page id
}

// verify verifies what is reachable from the meta page of the given transaction.
func (v *verifier) verify(txid uint64) error {
	if err := v.own(0, 2); err != nil {
		return err
	}
	meta, err := v.read(headerSize, 64)
	if err == nil && native.Uint64(meta[48:]) != txid {
		meta, err = v.read(v.pageSize+headerSize, 64)
	}
	if err != nil {
		return err
	}
	root, freelist := native.Uint64(meta[16:]), native.Uint64(meta[32:])
	if freelist != noFreelist {
		if err := v.freelist(freelist); err != nil {
			return fmt.Errorf("freelist: %w", err)
		}
	}
	leaves, err := v.tree(root)
	if err != nil {
		return err
	}
	for _, id := range leaves {
		if err := v.buckets(id); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) freelist(id uint64) error {
	if err := v.own(id, 1); err != nil {
		return err
	}
	h, err := v.header(id)
	if err != nil {
		return err
	}
	if h.flags != freelistFlag {
		return fmt.Errorf("page %d: unexpected type %#x", id, h.flags)
	}
	if err := v.own(id+1, h.overflow); err != nil {
		return err
	}
	pos, count := h.pos, h.count
	if count == 0xffff { // the first element has the true count
		first, err := v.read(pos, 8)
		if err != nil {
			return err
		}
		pos, count = pos+8, native.Uint64(first)
	}
	if count > uint64(len(v.owned)) {
		return fmt.Errorf("%d pages of %d", count, len(v.owned))
	}
	ids, err := v.read(pos, 8*int64(count))
	if err != nil {
		return err
	}
	for ; len(ids) > 0; ids = ids[8:] {
		if err := v.own(native.Uint64(ids), 1); err != nil {
			return err
		}
	}
	return nil
}

// tree verifies the branch pages of a tree and returns the ids of its leaves. All
// leaves are at the same depth, so that the first page of a level tells its kind.
func (v *verifier) tree(root uint64) (level []uint64, err error) {
	if err := v.own(root, 1); err != nil {
		return nil, err
	}
	for level = []uint64{root}; ; {
		first, err := v.header(level[0])
		if err != nil || first.flags == leafFlag {
			return level, err
		}
		var next []uint64
		for _, id := range level {
			_, elements, err := v.elements(id, branchFlag)
			if err != nil {
				return nil, err
			}
			for ; len(elements) > 0; elements = elements[elementSize:] {
				child := native.Uint64(elements[8:])
				if err := v.own(child, 1); err != nil {
					return nil, fmt.Errorf("page %d: %w", id, err)
				}
				next = append(next, child)
			}
		}
		if len(next) == 0 {
			return nil, fmt.Errorf("page %d: branch without children", level[0])
		}
		level = next
	}
}

// buckets verifies the trees of the buckets in leaf page id.
func (v *verifier) buckets(id uint64) error {
	pos, elements, err := v.elements(id, leafFlag)
	if err != nil {
		return err
	}
	for ; len(elements) > 0; elements, pos = elements[elementSize:], pos+elementSize {
		if native.Uint32(elements)&bucketFlag == 0 {
			continue
		}
		offset, keySize, size := native.Uint32(elements[4:]), native.Uint32(elements[8:]), native.Uint32(elements[12:])
		if size < bucketSize || int64(size) > v.pageSize {
			return fmt.Errorf("page %d: bucket of %d bytes", id, size)
		}
		bucket, err := v.read(pos+int64(offset)+int64(keySize), int64(size))
		if err != nil {
			return err
		}
		if root := native.Uint64(bucket); root != 0 {
			_, err = v.tree(root)
		} else {
			err = inline(bucket[bucketSize:])
		}
		if err != nil {
			return fmt.Errorf("bucket in page %d: %w", id, err)
		}
	}
	return nil
}

// inline verifies the leaf page of a small bucket, which is in the value of the
// bucket. bbolt copies it to the heap, where nothing may point out of it.
func inline(page []byte) error {
	if len(page) < headerSize || native.Uint16(page[8:]) != leafFlag {
		return errors.New("inline page is no leaf")
	}
	count := int64(native.Uint16(page[10:]))
	for i := range count {
		pos := headerSize + elementSize*i
		if pos+elementSize > int64(len(page)) {
			return fmt.Errorf("%d inline elements do not fit", count)
		}
		e := page[pos:]
		end := pos + int64(native.Uint32(e[4:])) + int64(native.Uint32(e[8:])) + int64(native.Uint32(e[12:]))
		if native.Uint32(e) != 0 || end > int64(len(page)) {
			return fmt.Errorf("inline element %d does not fit", i)
		}
	}
	return nil
}

// elements returns the elements of the page id, which the caller owns, and where
// in the file they begin. It takes ownership of the overflow pages.
func (v *verifier) elements(id uint64, flags uint16) (pos int64, elements []byte, err error) {
	h, err := v.header(id)
	if err != nil {
		return 0, nil, err
	}
	if h.flags != flags {
		return 0, nil, fmt.Errorf("page %d: type %#x instead of %#x", id, h.flags, flags)
	}
	if err := v.own(id+1, h.overflow); err != nil {
		return 0, nil, fmt.Errorf("page %d: %w", id, err)
	}
	size := elementSize * int64(h.count)
	if headerSize+size > v.pageSize*int64(1+h.overflow) {
		return 0, nil, fmt.Errorf("page %d: %d elements do not fit", id, h.count)
	}
	elements, err = v.read(h.pos, size)
	return h.pos, elements, err
}

type header struct {
	flags           uint16
	count, overflow uint64
	pos             int64 // in the file, of the elements
}

func (v *verifier) header(id uint64) (header, error) {
	pos := int64(id) * v.pageSize
	b, err := v.read(pos, headerSize)
	if err != nil {
		return header{}, err
	}
	if got := native.Uint64(b); got != id {
		return header{}, fmt.Errorf("page %d: calls itself %d", id, got)
	}
	return header{
		flags:    native.Uint16(b[8:]),
		count:    uint64(native.Uint16(b[10:])),
		overflow: uint64(native.Uint32(b[12:])),
		pos:      pos + headerSize,
	}, nil
}

// own takes n pages, which must be in the file and not have an owner.
func (v *verifier) own(id, n uint64) error {
	if end := uint64(len(v.owned)); id > end || n > end-id {
		return fmt.Errorf("page %d is beyond the end", max(id, end))
	}
	for i := range n {
		if v.owned[id+i] {
			return fmt.Errorf("page %d is used twice", id+i)
		}
		v.owned[id+i] = true
	}
	return nil
}

func (v *verifier) read(pos, n int64) ([]byte, error) {
	b := make([]byte, n)
	if _, err := v.file.ReadAt(b, pos); err != nil {
		return nil, fmt.Errorf("reading %d bytes at %d: %w", n, pos, err)
	}
	return b, nil
}
