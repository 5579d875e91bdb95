package outbound

import (
	"fmt"
	"sync"
)

// DefaultMaxQuestions is how many questions a [Once] asks.
const DefaultMaxQuestions = 64

// A Once asks each question once, however many want to know at the same time, and a
// bounded number of them. It remembers failures as well: one verification gets one
// answer. The zero Once is ready.
type Once[Answer any] struct {
	Most int // questions; 0: DefaultMaxQuestions

	mu    sync.Mutex
	asked map[string]*reply[Answer]
}

type reply[Answer any] struct {
	done   chan struct{} // closed once the rest is set
	answer Answer
	err    error
}

// Ask returns the answer to a question, which ask finds out.
func (o *Once[Answer]) Ask(question string, ask func() (Answer, error)) (Answer, error) {
	r, first, err := o.reply(question)
	switch {
	case err != nil:
		var none Answer
		return none, err
	case first:
		defer close(r.done)
		r.answer, r.err = ask()
	default:
		<-r.done
	}
	return r.answer, r.err
}

// reply returns the reply to a question, and whether the caller is the first to ask.
func (o *Once[Answer]) reply(question string) (r *reply[Answer], first bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r, ok := o.asked[question]; ok {
		return r, false, nil
	}
	most := o.Most
	if most == 0 {
		most = DefaultMaxQuestions
	}
	if len(o.asked) >= most {
		return nil, false, fmt.Errorf("not asked: this verification asks at most %d others", most)
	}
	if o.asked == nil {
		o.asked = make(map[string]*reply[Answer])
	}
	r = &reply[Answer]{done: make(chan struct{})}
	o.asked[question] = r
	return r, true, nil
}
