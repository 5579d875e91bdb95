package relay_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// A raw connection speaks the websocket protocol as badly as a test wants.
type raw struct {
	testing.TB
	net.Conn
	in *bufio.Reader
}

// raw opens a websocket by hand.
func (p *person) raw() *raw {
	p.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(conn, "GET /v1/socket HTTP/1.1\r\nHost: relay\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Extensions: permessage-deflate\r\nAuthorization: Bearer %s\r\n\r\n", p.token)
	in := bufio.NewReader(conn)
	answer, err := http.ReadResponse(in, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		p.Fatalf("handshake: %v %v", answer, err)
	}
	if e := answer.Header.Get("Sec-Websocket-Extensions"); e != "" {
		p.Errorf("the relay negotiated %q", e)
	}
	return &raw{p, conn, in}
}

const (
	fin    = 0x80
	rsv1   = 0x40
	masked = 0x80
)

// frame makes a frame, with a mask of zeros if second has the bit for one.
func frame(first, second byte, payload string) []byte {
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, second|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, second|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, second|127), uint64(n))
	}
	if second&masked != 0 {
		b = append(b, 0, 0, 0, 0)
	}
	return append(b, payload...)
}

// closed reads until the relay closes, and returns the code it says, or 0.
func (r *raw) closed() int {
	r.Helper()
	for {
		first, err := r.in.ReadByte()
		if err != nil {
			return 0
		}
		second, err := r.in.ReadByte()
		if err != nil {
			return 0
		}
		n := int(second & 0x7f)
		if n == 126 {
			var b [2]byte
			if _, err := io.ReadFull(r.in, b[:]); err != nil {
				return 0
			}
			n = int(binary.BigEndian.Uint16(b[:]))
		}
		payload := make([]byte, n)
		if _, err := io.ReadFull(r.in, payload); err != nil {
			return 0
		}
		if first == fin|websocket.CloseMessage && n >= 2 {
			return int(binary.BigEndian.Uint16(payload))
		}
	}
}

// bomb is a gigabyte of zeros, deflated.
func bomb(t testing.TB) string {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	first := 0
	for range 2 {
		first = b.Len()
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String() + strings.Repeat(b.String()[first:], 1022) // each more of the same
}

func TestBadFrames(t *testing.T) {
	s := listen(t, setting{limits: relay.Limits{ConnectionsAgent: 100, CallBurst: 10_000}})
	bad, good := s.person("bad"), s.person("good").dial()
	const text, binaryFrame, ping, more = fin | websocket.TextMessage, fin | websocket.BinaryMessage, fin | websocket.PingMessage, 0
	request := `{"op":"sessions","ref":"1"}`
	for _, c := range []struct {
		name string
		send []byte
		want int
	}{
		{"no mask", frame(text, 0, request), websocket.CloseProtocolError},
		{"a reserved bit", frame(text|rsv1, masked, request), websocket.CloseProtocolError},
		{"all reserved bits", frame(text|0x70, masked, request), websocket.CloseProtocolError},
		{"a deflated bomb", frame(text|rsv1, masked, bomb(t)), websocket.CloseProtocolError},
		{"an unknown kind", frame(fin|0x3, masked, request), websocket.CloseProtocolError},
		{"a ping in fragments", frame(websocket.PingMessage, masked, "x"), websocket.CloseProtocolError},
		{"a long ping", frame(ping, masked, strings.Repeat("x", 126)), websocket.CloseProtocolError},
		{"an end without a beginning", frame(fin|more, masked, request), websocket.CloseProtocolError},
		{"two beginnings", append(frame(websocket.TextMessage, masked, "{"), frame(text, masked, request)...), websocket.CloseProtocolError},
		{"binary", frame(binaryFrame, masked, request), websocket.CloseUnsupportedData},
		{"not UTF-8", frame(text, masked, "{\"op\":\"\xff\"}"), websocket.CloseInvalidFramePayloadData},
		{"empty", frame(text, masked, ""), websocket.ClosePolicyViolation},
		{"not JSON", frame(text, masked, "{"), websocket.ClosePolicyViolation},
		{"two values", frame(text, masked, request+request), websocket.ClosePolicyViolation},
		{"an array", frame(text, masked, "["+request+"]"), websocket.ClosePolicyViolation},
		{"a member twice", frame(text, masked, `{"op":"sessions","ref":"1","ref":"2"}`), websocket.ClosePolicyViolation},
		{"a lone surrogate", frame(text, masked, `{"op":"sessions","ref":"\ud800"}`), websocket.ClosePolicyViolation},
		{"deep", frame(text, masked, `{"op":"append","ref":"1","entry":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+"}"), websocket.ClosePolicyViolation},
		{"no ref", frame(text, masked, `{"op":"sessions"}`), websocket.ClosePolicyViolation},
		{"a ref that is a number", frame(text, masked, `{"op":"sessions","ref":1}`), websocket.ClosePolicyViolation},
		{"a long ref", frame(text, masked, `{"op":"sessions","ref":"`+strings.Repeat("x", 65)+`"}`), websocket.ClosePolicyViolation},
		{"too large", frame(text, masked, strings.Repeat(" ", 256<<10+4097)), websocket.CloseMessageTooBig},
		{"a length of 2^62", append([]byte{text, masked | 127}, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), websocket.CloseMessageTooBig},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := bad.raw()
			go r.Write(c.send) // which may fail when the relay closes
			if got := r.closed(); got != c.want {
				t.Errorf("closed with %d, want %d", got, c.want)
			}
			if v := good.call("sessions", wire.M{}); v.Canonical() != `{"sessions":[]}` {
				t.Errorf("another client: %v", v)
			}
		})
	}
}

// TestBadRequestsOnAGoodConnection are refused and leave the connection open.
func TestBadRequestsOnAGoodConnection(t *testing.T) {
	s := listen(t, setting{})
	l := s.person("seller").dial()
	for _, c := range []struct {
		op   string
		body wire.M
	}{
		{"nothing", wire.M{}}, {"transcript", wire.M{"session_id": "ses_1"}}, {"sessions", wire.M{"more": 1}},
		{"read", wire.M{"session_id": "ses_1", "from": "1"}}, {"ack", wire.M{"session_id": "ses_1", "number": -1}},
		{"session", wire.M{"session_id": "ses\n1"}},
		{"session", wire.M{"session_id": strings.Repeat("x", 257)}},
	} {
		if v := l.call(c.op, c.body); text(v, "code") != "bad_request" {
			t.Errorf("%s %v: %v", c.op, c.body, v)
		}
	}
}

func TestBadHTTP(t *testing.T) {
	const origin = "https://listed.example"
	s := listen(t, setting{options: relay.ServerOptions{Origins: []string{origin}}, limits: relay.Limits{CallBurst: 10_000}})
	p := s.person("seller")
	const json = "Content-Type: application/json"
	large := `{"session_id":"` + strings.Repeat("x", 300_000) + `"}`
	for _, c := range []struct {
		name, token, method, path, body string
		headers                         []string
		want                            string
	}{
		{"fine", p.token, "POST", "/v1/sessions", "{}", []string{json}, "200"},
		{"fine, with a charset", p.token, "POST", "/v1/sessions", "{}", []string{"Content-Type: application/json; charset=utf-8"}, "200"},
		{"fine, from a listed Origin", p.token, "POST", "/v1/sessions", "{}", []string{json, "Origin: " + origin}, "200"},
		{"a foreign Origin", p.token, "POST", "/v1/sessions", "{}", []string{json, "Origin: https://other.example"}, "400 bad_request"},
		{"an Origin of null", p.token, "POST", "/v1/sessions", "{}", []string{json, "Origin: null"}, "400 bad_request"},
		{"two Origins", p.token, "POST", "/v1/sessions", "{}", []string{json, "Origin: " + origin, "Origin: https://other.example"}, "400 bad_request"},
		{"a foreign Origin at the socket", p.token, "GET", "/v1/socket", "", []string{"Origin: https://other.example", "Connection: Upgrade", "Upgrade: websocket"}, "400 bad_request"},
		{"a question before a request", p.token, "OPTIONS", "/v1/sessions", "", []string{"Origin: " + origin}, "400 bad_request"},
		{"GET", p.token, "GET", "/v1/sessions", "", nil, "400 bad_request"},
		{"no websocket", p.token, "GET", "/v1/socket", "", nil, "400 bad_request"},
		{"a form", p.token, "POST", "/v1/sessions", "{}", []string{"Content-Type: text/plain"}, "400 bad_request"},
		{"no type", p.token, "POST", "/v1/sessions", "{}", nil, "400 bad_request"},
		{"no token", "", "POST", "/v1/sessions", "{}", []string{json}, "401 unauthenticated"},
		{"another token", "x" + p.token[1:], "POST", "/v1/sessions", "{}", []string{json}, "401 unauthenticated"},
		{"two tokens", p.token, "POST", "/v1/sessions", "{}", []string{json, "Authorization: Bearer x"}, "401 unauthenticated"},
		{"another scheme", "", "POST", "/v1/sessions", "{}", []string{json, "Authorization: Basic " + p.token}, "401 unauthenticated"},
		{"no token at the socket", "", "GET", "/v1/socket", "", []string{"Connection: Upgrade", "Upgrade: websocket"}, "401 unauthenticated"},
		{"no JSON", p.token, "POST", "/v1/sessions", "{", []string{json}, "400 bad_request"},
		{"nothing", p.token, "POST", "/v1/sessions", "", []string{json}, "400 bad_request"},
		{"two values", p.token, "POST", "/v1/sessions", "{}{}", []string{json}, "400 bad_request"},
		{"a member twice", p.token, "POST", "/v1/session", `{"session_id":"a","session_id":"b"}`, []string{json}, "400 bad_request"},
		{"a member in other case", p.token, "POST", "/v1/session", `{"Session_id":"a"}`, []string{json}, "400 bad_request"},
		{"deep", p.token, "POST", "/v1/append", `{"entry":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}", []string{json}, "400 bad_request"},
		{"deeper than a message", p.token, "POST", "/v1/append", `{"entry":{"concordia_enclosure":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}}", []string{json}, "422 rejected"},
		{"large", p.token, "POST", "/v1/session", large, []string{json}, "400 bad_request"},
		{"an operation for websockets", p.token, "POST", "/v1/resume", `{"session_id":"ses_1","number":0}`, []string{json}, "400 bad_request"},
		{"no operation", p.token, "POST", "/v1/nothing", "{}", []string{json}, "400 bad_request"},
		{"no operation at all", p.token, "POST", "/v1/", "{}", []string{json}, "400 bad_request"},
		{"elsewhere", p.token, "GET", "/v2", "", nil, "404 not_found"},
		{"metrics through a proxy", p.token, "GET", "/metrics", "", []string{"X-Forwarded-For: 127.0.0.1"}, "404 not_found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, answer := s.send(c.token, c.method, c.path, c.body, c.headers...)
			got := fmt.Sprint(code)
			if v, err := wire.Parse([]byte(answer), wire.DocumentLimits); err != nil {
				t.Errorf("answer %q: %v", answer, err)
			} else if _, ok := v.Get("error"); ok {
				got += " " + text(v, "error", "code")
			}
			if got != c.want {
				t.Errorf("%s, want %s: %s", got, c.want, answer)
			}
		})
	}
	t.Run("large and of unknown length", func(t *testing.T) {
		r, err := http.NewRequest("POST", s.url+"/v1/session", io.MultiReader(strings.NewReader(large)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+p.token)
		r.Header.Set("Content-Type", "application/json")
		answer, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if answer.StatusCode != 400 {
			t.Errorf("%s", answer.Status)
		}
	})
}

// TestOthersToken shows that a token serves for its agent only.
func TestOthersToken(t *testing.T) {
	s := listen(t, setting{})
	seller, buyer, thief := s.person("seller"), s.person("buyer"), s.person("thief")
	seller.meet("ses_1", buyer)
	m := seller.chain("ses_1", 1, wire.M{"signal": "hello"})[0]
	v := buyer.refused("rejected", "append", wire.M{"entry": m.Value()})
	if text(v, "rule") != "key-unknown" {
		t.Errorf("%v", v)
	}
	thief.refused("rejected", "append", wire.M{"entry": m.Value()})
	own := thief.chain("ses_1", 1, wire.M{"signal": "me, too"})[0]
	thief.refused("not_found", "append", wire.M{"entry": own.Value()})
	if v := seller.do("session", wire.M{"session_id": "ses_1"}); text(v, "length") != "0" {
		t.Errorf("a refused append left something: %v", v)
	}
	if l := thief.dial(); text(l.call("resume", wire.M{"session_id": "ses_1", "number": 0}), "code") != "not_found" {
		t.Error("resume of another's session")
	}
}

// TestRegistrationBounds crosses each bound of a registration by a second.
func TestRegistrationBounds(t *testing.T) {
	clock := newClock()
	s := listen(t, setting{mail: relay.Options{Now: clock.now}})
	owner := s.person("seller")
	for _, c := range []struct {
		name         string
		waits, skew  time.Duration
		relay, nonce string
		key          string
		want         string
	}{
		{"at once", 0, 0, "", "", "", ""},
		{"just in time", 59 * time.Second, 0, "", "", "", ""},
		{"too late", 60 * time.Second, 0, "", "", "", "challenge"},
		{"a clock that is late", 0, -120 * time.Second, "", "", "", ""},
		{"a clock that is too late", 0, -121 * time.Second, "", "", "", "challenge"},
		{"a clock that is early", 0, 120 * time.Second, "", "", "", ""},
		{"a clock that is too early", 0, 121 * time.Second, "", "", "", "challenge"},
		{"of another relay", 0, 0, "relay_other", "", "", "challenge"},
		{"no challenge", 0, 0, "", "AAAA", "", "challenge"},
		{"another key", 0, 0, "", "", "thief", "key_conflict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, v := s.post("", "challenge", wire.M{})
			ch := relay.Challenge{Relay: text(v, "relay"), Nonce: text(v, "nonce")}
			if c.relay != "" {
				ch.Relay = c.relay
			}
			if c.nonce != "" {
				ch.Nonce = c.nonce
			}
			key := owner.key
			if c.key != "" {
				key = newKey(t, c.key)
			}
			clock.wait(c.waits)
			r, err := ch.Registration(owner.id, key, clock.now().Add(c.skew))
			if err != nil {
				t.Fatal(err)
			}
			if _, v = s.post("", "register", r); c.want == "" && text(v, "token") == "" || c.want != "" && text(v, "error", "code") != c.want {
				t.Errorf("%v, want %q", v, c.want)
			}
			if _, v = s.post("", "register", r); c.want == "" && text(v, "error", "code") != "challenge" {
				t.Errorf("once more: %v", v)
			}
		})
	}
}

// TestSlowloris sends headers and bodies one byte after the other: the relay does not
// wait for long.
func TestSlowloris(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		s := serve(t, p, setting{})
		start := time.Now()
		for _, c := range []struct {
			begin string
			want  time.Duration
		}{
			{"GET /v1/socket HTTP/1.1\r\nHost: relay\r\nX-Header: ", 10 * time.Second},
			{"POST /v1/challenge HTTP/1.1\r\nHost: relay\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n", 30 * time.Second},
		} {
			conn, err := p.dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			var sender sync.WaitGroup
			sender.Go(func() {
				if _, err := io.WriteString(conn, c.begin); err != nil {
					return
				}
				for {
					if _, err := conn.Write([]byte("x")); err != nil {
						return
					}
					time.Sleep(time.Second / 2)
				}
			})
			_, _ = io.Copy(io.Discard, conn) // until the relay closes
			if took := time.Since(start); took > c.want+time.Second {
				t.Errorf("%.20q…: closed after %v, want %v", c.begin, took, c.want)
			}
			conn.Close()
			sender.Wait()
		}
		if code, _ := s.send("", "GET", "/.well-known/concordia-relay", ""); code != 200 {
			t.Errorf("others: %d after %v", code, time.Since(start))
		}
	})
}

// TestManyStrangers opens 10,000 connections that say nothing, and asks 10,000 times for
// a websocket without a token: the first are closed beyond a bound, the others refused,
// and who has a token at another address is served.
func TestManyStrangers(t *testing.T) {
	if testing.Short() {
		t.Skip("10,000 connections")
	}
	s := listen(t, setting{})
	friend := s.person("friend").dial()
	before := heap()
	address := strings.TrimPrefix(s.url, "http://")
	stranger := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	if c, err := stranger.Dial("tcp", address); err != nil {
		t.Skipf("needs a second address on this machine: %v", err)
	} else {
		c.Close()
	}
	var open, closed atomic.Int64
	var all sync.WaitGroup
	var mu sync.Mutex
	var kept []net.Conn
	for range 50 {
		all.Go(func() {
			for range 200 {
				c, err := stranger.Dial("tcp", address)
				if err != nil {
					closed.Add(1)
					continue
				}
				_ = c.SetReadDeadline(time.Now().Add(250 * time.Millisecond))
				if _, err := c.Read(make([]byte, 1)); isTimeout(err) {
					mu.Lock()
					kept = append(kept, c)
					mu.Unlock()
					continue
				}
				closed.Add(1)
				c.Close()
			}
		})
	}
	all.Wait()
	for _, c := range kept { // on a busy machine some are closed later
		all.Go(func() {
			defer c.Close()
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
			if _, err := c.Read(make([]byte, 1)); isTimeout(err) {
				open.Add(1)
			} else {
				closed.Add(1)
			}
		})
	}
	all.Wait()
	if most := int64(2 * relay.DefaultLimits().ConnectionsPlace); open.Load() > most || closed.Load() < 9000 {
		t.Errorf("%d are open and %d were closed, want at most %d open", open.Load(), closed.Load(), most)
	}
	if grown := heap() - before; grown > 32<<20 {
		t.Errorf("they cost %d MiB", grown>>20)
	}
	codes := map[string]int{}
	for range 10_000 {
		r, err := http.NewRequest("GET", s.url+"/v1/socket", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		v, err := wire.Parse(body, wire.DocumentLimits)
		if err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		codes[text(v, "error", "code")]++
	}
	if codes["rate"] < 9000 || codes["unauthenticated"] < 150 || len(codes) != 2 {
		t.Errorf("answers %v", codes)
	}
	if v := friend.call("sessions", wire.M{}); v.Canonical() != `{"sessions":[]}` {
		t.Errorf("a friend: %v", v)
	}
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// heap returns the bytes in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
