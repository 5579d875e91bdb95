package conformance

import (
	"fmt"
	"io"
	"sync"

	"github.com/concordia-node/concordia/wire"
)

// A Judge answers questions of a suite: this implementation, or another program.
type Judge interface {
	// Judge returns "accept" or "reject" and, if the judge says so, why. An error
	// is a failure of the judge, not a verdict.
	Judge(q Question) (verdict string, reason wire.Class, err error)
}

// Own is this implementation.
type Own struct{}

// Judge implements [Judge].
func (Own) Judge(q Question) (string, wire.Class, error) {
	report := q.Answer()
	return Verdict(report), Reason(report), nil
}

// A Result is what became of one vector.
type Result struct {
	Entry          Entry
	ID             string // the entry's path if the vector could not be read
	Profile        string
	Expected       string // "" if the vector could not be read
	Got            string // "" if the judge failed
	ExpectedReason wire.Class
	Reason         wire.Class
	Err            error // why there is no verdict
}

// OK reports whether the verdict was the expected one. The reason decides nothing.
func (r Result) OK() bool { return r.Err == nil && r.Got == r.Expected }

// OtherReason reports whether an expected rejection was given for another reason
// than the vector says.
func (r Result) OtherReason() bool {
	return r.OK() && r.Got == "reject" && r.Reason != "" && r.ExpectedReason != "" && r.Reason != r.ExpectedReason
}

// A Summary counts the results of a run.
type Summary struct {
	Positive, Mutation, Canary int // entries of each section
	OK, Fail                   int
	OtherReasons               int
}

// A Run is a run of a suite.
type Run struct {
	Suite   *Suite
	Judges  []Judge // each judges one vector at a time; empty: one Own
	Profile string  // the only profile to run; all if empty
}

// Do judges each vector, closes the judges that can be closed, and returns the
// results in the order of the suite. The
// problems of the suite, those found by reading the vectors included, count as
// failures in the summary.
func (r Run) Do() ([]Result, Summary) {
	judges := r.Judges
	if len(judges) == 0 {
		judges = []Judge{Own{}}
	}
	all := make([]*Result, len(r.Suite.Entries))
	next := make(chan int)
	var group sync.WaitGroup
	for _, judge := range judges {
		group.Go(func() {
			for i := range next {
				all[i] = r.one(judge, r.Suite.Entries[i])
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	group.Wait()
	for _, judge := range judges {
		if c, ok := judge.(io.Closer); ok {
			if err := c.Close(); err != nil {
				r.Suite.problem("after the last question: %v", err)
			}
		}
	}
	return r.sum(all)
}

// one judges one vector, or returns nil if it is of another profile.
func (r Run) one(judge Judge, e Entry) *Result {
	v, err := r.Suite.Read(e)
	if err != nil {
		return &Result{Entry: e, ID: e.Path, Err: err}
	}
	if r.Profile != "" && v.Question.Profile != r.Profile {
		return nil
	}
	result := &Result{Entry: e, ID: v.ID, Profile: v.Question.Profile, Expected: v.Expected, ExpectedReason: v.ExpectedReason}
	result.Got, result.Reason, result.Err = judge.Judge(v.Question)
	return result
}

func (r Run) sum(all []*Result) ([]Result, Summary) {
	var results []Result
	var s Summary
	seen := make(map[string]string)
	for _, result := range all {
		if result == nil {
			continue
		}
		switch result.Entry.Section {
		case Positive:
			s.Positive++
		case Mutation:
			s.Mutation++
		case Canary:
			s.Canary++
		}
		if earlier, ok := seen[result.ID]; ok {
			r.Suite.problem("%s has the id of %s", result.Entry.Path, earlier)
		}
		seen[result.ID] = result.Entry.Path
		if result.OK() {
			s.OK++
		} else {
			s.Fail++
		}
		if result.OtherReason() {
			s.OtherReasons++
		}
		results = append(results, *result)
	}
	s.Fail += len(r.Suite.Problems)
	return results, s
}

// String returns the line by which runs of any implementation are compared.
func (s Summary) String() string {
	return fmt.Sprintf("[SUMMARY] positive=%d mutation=%d canary=%d ok=%d fail=%d", s.Positive, s.Mutation, s.Canary, s.OK, s.Fail)
}
