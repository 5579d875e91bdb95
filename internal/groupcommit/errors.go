package groupcommit

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

var (
	// ErrClosed is returned by calls on a DB after Close.
	ErrClosed = errors.New("database is closed")

	// ErrLocked is returned by Open if the file stayed locked.
	ErrLocked = errors.New("database is in use, by another process or another Open in this one")

	// ErrFailed is returned by Commit after a transaction could not be
	// committed. The operation that gets it has not been run. It is returned by
	// View and Close too after bbolt panicked in possession of its locks.
	ErrFailed = errors.New("database has failed and must be reopened")
)

// CorruptError reports a file whose content makes no sense.
type CorruptError struct {
	Path string
	Err  error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("database %s is corrupt: %v", e.Path, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// PanicError is what Commit returns for an operation that panicked.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic in operation: %v", e.Value) }

// Unwrap returns the panic value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// panicError makes an error of the panic value v: a *CorruptError if the file is
// to blame, else a *PanicError. Only a deferred function may call it, for the
// stack of the panic has to be there still.
func panicError(path string, v any) error {
	if !blamesFile(v) {
		return &PanicError{v, debug.Stack()}
	}
	err, ok := v.(error)
	if !ok {
		err = fmt.Errorf("%v", v)
	}
	return &CorruptError{path, err}
}

// rescue sets *err if there is a panic that the file is to blame for. Any other
// panic continues. Callers have debug.SetPanicOnFault on, without which a fault
// in the mapped file kills the process.
func rescue(path string, err *error) {
	if v := recover(); v != nil {
		e := panicError(path, v)
		if _, ok := e.(*CorruptError); !ok {
			panic(v)
		}
		*err = e
	}
}

// blamesFile reports whether the panic value v comes of reading a corrupt file:
// a fault at an address, or whatever bbolt itself panics with, except for the nil
// dereference that a caller causes by using a bucket that does not exist.
func blamesFile(v any) bool {
	if e, ok := v.(runtime.Error); ok {
		if _, ok := e.(interface{ Addr() uintptr }); ok {
			return true
		}
		if strings.Contains(e.Error(), "nil pointer dereference") {
			return false
		}
	}
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	panicking := false
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			panicking = true
		case panicking && !strings.HasPrefix(frame.Function, "runtime."):
			return strings.HasPrefix(frame.Function, "go.etcd.io/bbolt")
		}
		if !more {
			return false
		}
	}
}
