package main

import (
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
)

// A progress is a bar on standard error for work that takes long. It is there only if
// a person looks.
type progress struct{ bar *progressbar.ProgressBar }

// worthABar is how many bytes take a moment to verify.
const worthABar = 4 << 20

// progress starts a bar of so many bytes; -1 stands for who knows how many.
func (a *app) progress(doing string, bytes int64) *progress {
	if a.out.json || bytes >= 0 && bytes < worthABar || !isTerminal(os.Stderr) {
		return &progress{}
	}
	return &progress{progressbar.NewOptions64(bytes,
		progressbar.OptionSetDescription(doing), progressbar.OptionSetWriter(os.Stderr), progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())}
}

// progressOf starts a bar of n things of one kind.
func (a *app) progressOf(doing string, n int) *progress {
	if a.out.json || !isTerminal(os.Stderr) {
		return &progress{}
	}
	return &progress{progressbar.NewOptions(n,
		progressbar.OptionSetDescription(doing), progressbar.OptionSetWriter(os.Stderr), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())}
}

func (p *progress) add(n int) {
	if p.bar != nil {
		_ = p.bar.Add(n) // a bar that cannot be drawn is no reason to stop
	}
}

// done takes the bar away.
func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}
