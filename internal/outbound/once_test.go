package outbound_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concordia-node/concordia/internal/outbound"
)

func TestOnceAsksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var once outbound.Once[string]
		var asked atomic.Int32
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				name := fmt.Sprint(i % 2)
				got, err := once.Ask(name, func() (string, error) {
					asked.Add(1)
					time.Sleep(time.Minute) // the others come meanwhile
					return "answer " + name, nil
				})
				if got != "answer "+name || err != nil {
					t.Errorf("Ask(%s) = %q, %v", name, got, err)
				}
			})
		}
		group.Wait()
		if n := asked.Load(); n != 2 {
			t.Errorf("two questions were asked %d times", n)
		}
	})
}

func TestOnceIsBounded(t *testing.T) {
	once := outbound.Once[int]{Most: 2}
	broken := errors.New("no answer")
	ask := func(answer int, err error) func() (int, error) { return func() (int, error) { return answer, err } }
	for _, test := range []struct {
		question string
		ask      func() (int, error)
		want     int
		err      string
	}{
		{"a", ask(0, broken), 0, "no answer"},
		{"a", ask(1, nil), 0, "no answer"}, // it stays so
		{"b", ask(2, nil), 2, ""},
		{"c", ask(3, nil), 0, "not asked: this verification asks at most 2 others"},
		{"b", ask(4, nil), 2, ""},
	} {
		got, err := once.Ask(test.question, test.ask)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if got != test.want || said != test.err {
			t.Errorf("Ask(%s) = %d, %q, want %d, %q", test.question, got, said, test.want, test.err)
		}
	}
}
