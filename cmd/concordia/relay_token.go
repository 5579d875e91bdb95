package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// A tokenFile keeps the token by which a relay knows an agent, and the relay's id, so
// that the agent registers with no other. Only its owner reads it.
//
//	{"relay": ID, "token": TOKEN}
//
// It implements [relay.Tokens].
type tokenFile struct {
	path  string
	relay func() string // the id of the relay, when it has told it
}

type tokenRecord struct {
	Relay string `json:"relay"`
	Token string `json:"token"`
}

// hostOf is the host and port of a URL as a part of a file's name.
func hostOf(relayURL string) string {
	u, err := url.Parse(relayURL)
	if err != nil {
		return "relay" // NewClient says what is wrong
	}
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, strings.ToLower(u.Host))
}

func (t *tokenFile) read() (r tokenRecord, err error) {
	info, err := os.Stat(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, nil
	case err != nil:
		return r, err
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0:
		return r, fmt.Errorf("reading the token in %s: others may read the file: chmod 600 it, or delete it to register anew", t.path)
	}
	text, err := readFile(t.path)
	if err != nil {
		return r, err
	}
	if json.Unmarshal(text, &r) != nil || r.Relay == "" || r.Token == "" { // the error could show the token
		return tokenRecord{}, fmt.Errorf("reading the token in %s: it is no file of a token: delete it to register anew", t.path)
	}
	return r, nil
}

// Token implements [relay.Tokens].
func (t *tokenFile) Token(context.Context) (string, error) {
	r, err := t.read()
	return r.Token, err
}

// SetToken implements [relay.Tokens].
func (t *tokenFile) SetToken(_ context.Context, token string) error {
	if token == "" {
		if err := os.Remove(t.path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.Marshal(tokenRecord{t.relay(), token})
	if err != nil {
		return err
	}
	return replaceFile(t.path, append(text, '\n'))
}

// replaceFile puts a file that only its owner reads in the place of another, whole.
func replaceFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// A positionFile keeps how far an agent has come in the logs of its sessions. It
// implements [relay.Cursors].
//
//	{SESSION: {"number": N, "messages": N, "tip": HASH, "clock": INSTANT}, …}
type positionFile struct {
	path string
	mu   sync.Mutex // guards what follows
	at   map[wire.SessionID]positionRecord
}

type positionRecord struct {
	Number   uint64 `json:"number"`
	Messages int    `json:"messages"`
	Tip      string `json:"tip"`
	Clock    string `json:"clock,omitempty"`
}

func openPositions(path string) (*positionFile, error) {
	p := &positionFile{path: path, at: map[wire.SessionID]positionRecord{}}
	text, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, nil
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(text, &p.at); err != nil {
		return nil, fmt.Errorf("reading positions in %s: %w; delete it to begin anew", path, err)
	}
	if p.at == nil { // null
		p.at = map[wire.SessionID]positionRecord{}
	}
	for session := range p.at {
		if _, err := p.Position(context.Background(), session); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Position implements [relay.Cursors].
func (p *positionFile) Position(_ context.Context, session wire.SessionID) (at relay.Position, err error) {
	p.mu.Lock()
	r, known := p.at[session]
	p.mu.Unlock()
	at.Tip.Session = session
	if !known {
		return at, nil
	}
	at.Number, at.Tip.Len = r.Number, r.Messages
	at.Tip.Hash, err = wire.ParseHash(r.Tip)
	if err == nil && r.Clock != "" {
		at.Tip.Clock, err = wire.ParseTime(r.Clock)
	}
	if err == nil && (r.Messages < 0 || uint64(r.Messages) > r.Number) {
		err = errors.New("it has more messages than entries, or fewer than none")
	}
	if err != nil {
		return relay.Position{}, fmt.Errorf("reading positions in %s: session %q: %w; delete it to begin anew", p.path, session, err)
	}
	return at, nil
}

// SetPosition implements [relay.Cursors].
func (p *positionFile) SetPosition(_ context.Context, session wire.SessionID, at relay.Position) error {
	r := positionRecord{Number: at.Number, Messages: at.Tip.Len, Tip: at.Tip.Hash.String()}
	if !at.Tip.Clock.IsZero() {
		r.Clock = wire.FormatTime(at.Tip.Clock)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at[session] = r
	text, err := json.Marshal(p.at)
	if err != nil {
		return err
	}
	return replaceFile(p.path, append(text, '\n'))
}
