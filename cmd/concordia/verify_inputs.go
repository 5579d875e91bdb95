package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
)

// An input is one artifact to verify, or what is in its place.
type input struct {
	name   string // the file, and which of its artifacts
	value  wire.Value
	err    error // its text was refused
	unread error // it could not be read
	many   bool  // one of a file, or of a directory, of many
}

// inputs yields the artifacts in files: a file with one, with an array of them or with
// one a line, a directory with such files, and standard input for "-". read is told
// how many bytes were read.
func inputs(paths []string, read func(n int)) iter.Seq[input] {
	return func(yield func(input) bool) {
		for _, path := range paths {
			info, err := os.Stat(path)
			if path == "-" || err != nil || !info.IsDir() {
				if !artifactsIn(path, false, read, yield) {
					return
				}
				continue
			}
			files, err := filesBelow(path)
			if err != nil {
				if !yield(input{name: path, unread: err}) {
					return
				}
				continue
			}
			for _, file := range files {
				if !artifactsIn(file, true, read, yield) {
					return
				}
			}
		}
	}
}

// maxFiles bounds how many files of a directory are verified.
const maxFiles = 1 << 20

var artifactFiles = []string{".json", ".jsonl", ".ndjson"}

var errNoFiles = errors.New("no .json, .jsonl or .ndjson file in it")

// filesBelow returns the files of a directory that may hold artifacts, sorted. Hidden
// ones are left out, and so are links, which lead elsewhere.
func filesBelow(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != dir && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type().IsRegular() && slices.Contains(artifactFiles, strings.ToLower(filepath.Ext(path))):
			if files = append(files, path); len(files) > maxFiles {
				return fmt.Errorf("more than %d files", maxFiles)
			}
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = errNoFiles
	}
	if err != nil {
		return nil, unreadable(dir, err)
	}
	return files, nil
}

var errTooLarge = fmt.Errorf("larger than %d bytes", wire.MaxDocumentSize)

// unreadable says that a file could not be read. Its name may be a stranger's.
func unreadable(path string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok && p.Path == path {
		err = p.Err
	}
	return fmt.Errorf("reading %s: %w", cli.Printable(path), err)
}

// artifactsIn yields the artifacts of one file, and false if the caller has enough.
func artifactsIn(path string, many bool, read func(int), yield func(input) bool) bool {
	var in io.Reader = os.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return yield(input{name: path, unread: unreadable(path, err), many: many})
		}
		defer f.Close()
		in = f
	}
	in = &counted{in, read}
	data, err := io.ReadAll(io.LimitReader(in, wire.MaxDocumentSize+1))
	switch {
	case err != nil:
		return yield(input{name: path, unread: unreadable(path, err), many: many})
	case len(data) > wire.MaxDocumentSize:
		if first, _, _ := bytes.Cut(data, []byte("\n")); len(first) == len(data) || !isArtifact(first) {
			return yield(input{name: path, unread: unreadable(path, errTooLarge), many: many})
		}
		return linesIn(path, io.MultiReader(bytes.NewReader(data), in), yield)
	}
	v, err := wire.Parse(data, wire.DocumentLimits)
	if errors.Is(err, wire.RuleSyntax) {
		if first, rest, _ := bytes.Cut(data, []byte("\n")); len(bytes.TrimSpace(rest)) > 0 && isArtifact(first) {
			return linesIn(path, bytes.NewReader(data), yield)
		}
		v, err = parseDocument(data) // messages, one a line
	}
	if err != nil || v.Kind() != wire.Array || conformance.KindOf(v) != "" || v.Len() == 0 {
		return yield(input{name: path, value: v, err: err, many: many})
	}
	for i, e := range v.Elems() {
		if !yield(input{name: fmt.Sprintf("%s#/%d", path, i), value: e, many: true}) {
			return false
		}
	}
	return true
}

// isArtifact reports whether a line is an artifact by itself. Messages, one a line,
// are one transcript.
func isArtifact(line []byte) bool {
	v, err := wire.Parse(line, wire.DocumentLimits)
	kind := conformance.KindOf(v)
	return err == nil && v.Kind() == wire.Object && kind != "message"
}

// maxLine bounds one line of a file of many: a bundle of a thousand receipts fits.
const maxLine = 16 << 20

// linesIn yields the artifacts of a file that has one a line.
func linesIn(path string, in io.Reader, yield func(input) bool) bool {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	n := 0
	for ; lines.Scan(); n++ {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		v, err := wire.Parse(text, wire.DocumentLimits)
		if !yield(input{name: fmt.Sprintf("%s:%d", path, n+1), value: v, err: err, many: true}) {
			return false
		}
	}
	if err := lines.Err(); err != nil {
		return yield(input{name: fmt.Sprintf("%s:%d", path, n+1), unread: unreadable(fmt.Sprintf("%s:%d", path, n+1), err), many: true})
	}
	return true
}

// counted tells how much of a reader was read.
type counted struct {
	in   io.Reader
	read func(int)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.read(n)
	return n, err
}

// sizeOf returns how many bytes there are to read, or -1 if that is not known.
func sizeOf(paths []string) int64 {
	var total int64
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case path == "-" || err != nil:
			return -1
		case info.IsDir():
			files, err := filesBelow(path)
			if err != nil {
				return -1
			}
			total += max(0, sizeOf(files))
		case info.Mode().IsRegular():
			total += info.Size()
		default:
			return -1
		}
	}
	return total
}
