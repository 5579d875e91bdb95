package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// Foreign is another implementation, run as a program (SPEC §12.6). It is asked
// one question a line and answers one line each. A Foreign asks one question at a
// time; run several for several jobs.
type Foreign struct {
	Context context.Context // ends the program; nil: only Close does
	Command []string        // program and arguments
	Timeout time.Duration   // for one answer
	Stderr  io.Writer       // what the program says besides; nil: nobody listens

	running *foreignProcess
}

type foreignProcess struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan answerLine
	stop  context.CancelFunc
}

type answerLine struct {
	text []byte
	err  error
}

// maxAnswer bounds a line of an answer.
const maxAnswer = 64 << 10

var (
	errCrashed = errors.New("the verifier ended without an answer")
	errLong    = errors.New("the answer is longer than 64 KiB")
	errSlow    = errors.New("the verifier gave no answer in time")
	errUnasked = errors.New("the verifier said something that it was not asked, or ended")
	errAnswer  = errors.New("the answer is not a JSON object with a verdict")
)

// Judge implements [Judge]. A program that does not answer in time, ends, or
// answers something else is ended, and started again for the next question.
func (f *Foreign) Judge(q Question) (string, wire.Class, error) {
	if f.running == nil {
		if err := f.start(); err != nil {
			return "", "", err
		}
	}
	verdict, reason, err := f.ask(q)
	if err != nil {
		f.kill()
	}
	return verdict, reason, err
}

func (f *Foreign) start() error {
	ctx := f.Context
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, stop := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, f.Command[0], f.Command[1:]...)
	cmd.Stderr = f.Stderr
	killAll(cmd)
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		stop()
		return fmt.Errorf("starting the verifier: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		stop()
		return fmt.Errorf("starting the verifier: %w", err)
	}
	if err := cmd.Start(); err != nil {
		stop()
		return fmt.Errorf("starting the verifier: %w", err)
	}
	p := &foreignProcess{cmd: cmd, in: in, stop: stop, lines: make(chan answerLine, 1)}
	go p.read(ctx, out)
	f.running = p
	return nil
}

// read passes lines on until the program ends or is ended.
func (p *foreignProcess) read(ctx context.Context, out io.Reader) {
	s := bufio.NewScanner(out)
	s.Buffer(nil, maxAnswer)
	for s.Scan() {
		select {
		case p.lines <- answerLine{text: bytes.Clone(s.Bytes())}:
		case <-ctx.Done():
			return
		}
	}
	err := s.Err()
	switch {
	case err == nil:
		err = errCrashed
	case errors.Is(err, bufio.ErrTooLong):
		err = errLong
	}
	select {
	case p.lines <- answerLine{err: err}:
	case <-ctx.Done():
	}
}

// question is what a foreign verifier is told.
type question struct {
	Profile string          `json:"verification_profile"`
	Input   json.RawMessage `json:"input"`
	Context json.RawMessage `json:"context"`
}

// ruleAnswer is the shape of an answer; other members are ignored.
var ruleAnswer = &wire.Rule{Section: "12.6", Name: "answer", Class: wire.ClassSchema, Text: "an answer has a verdict and perhaps one of the seven classes as its reason"}

func readAnswer(line []byte) (verdict string, reason wire.Class, err error) {
	v, err := wire.Parse(line, wire.Limits{Size: maxAnswer, Depth: wire.MaxDepth})
	if err != nil {
		return "", "", err
	}
	r := wire.Read(v, "", ruleAnswer)
	r.Open("verdict", "reason")
	verdict = r.OneOf("verdict", "accept", "reject")
	if r = r.WithoutNulls(); r.Has("reason") {
		reason = wire.Class(r.OneOf("reason", reasonClasses...))
	}
	return verdict, reason, r.Err()
}

func (f *Foreign) ask(q Question) (string, wire.Class, error) {
	p := f.running
	var line bytes.Buffer // ends in the line's end
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(question{q.Profile, q.raw, json.RawMessage(q.Context.Canonical())}); err != nil {
		return "", "", fmt.Errorf("writing a question: %w", err)
	}
	select {
	case <-p.lines:
		return "", "", errUnasked
	default:
	}
	timer := time.NewTimer(f.Timeout)
	defer timer.Stop()
	sent := make(chan error, 1)
	go func() {
		_, err := p.in.Write(line.Bytes())
		sent <- err
	}()
	select {
	case got := <-p.lines:
		if got.err != nil {
			return "", "", got.err
		}
		verdict, reason, err := readAnswer(got.text)
		if err != nil {
			return "", "", fmt.Errorf("%w: %w", errAnswer, err)
		}
		// An answer before the whole question was read is no answer to it.
		select {
		case err := <-sent:
			if err != nil {
				return "", "", fmt.Errorf("asking the verifier: %w", err)
			}
		case <-timer.C:
			return "", "", errSlow
		}
		return verdict, reason, nil
	case <-timer.C:
		return "", "", errSlow
	}
}

// Close lets the program end: it sees the end of its input and has the time of one
// answer left. It returns an error if the program says something then, for it has
// answered more than it was asked and its answers may belong to other questions.
func (f *Foreign) Close() error {
	p := f.running
	if p == nil {
		return nil
	}
	p.in.Close()
	timer := time.NewTimer(f.Timeout)
	defer timer.Stop()
	var err error
	select {
	case last := <-p.lines:
		if last.err == nil {
			err = errUnasked
		}
	case <-timer.C:
	}
	f.kill()
	return err
}

// kill ends the program at once.
func (f *Foreign) kill() {
	p := f.running
	f.running = nil
	p.in.Close()
	p.stop()
	p.cmd.Wait() // it was killed: that it says so is no news
}
