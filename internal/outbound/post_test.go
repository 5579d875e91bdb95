package outbound_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/internal/outbound"
)

// Post hands over a document as it is, and returns what is answered.
func TestPost(t *testing.T) {
	const document = `{"a":"ü"}`
	var asked *http.Request
	var got []byte
	s, c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r
		got, _ = io.ReadAll(r.Body)
		io.WriteString(w, "thanks")
	})
	answer, err := c.Post(t.Context(), s.URL+"/inbox", []byte(document))
	if err != nil || string(answer) != "thanks" {
		t.Fatalf("Post = %q, %v", answer, err)
	}
	if asked.Method != http.MethodPost || asked.URL.Path != "/inbox" || asked.Header.Get("Content-Type") != "application/json" ||
		asked.ContentLength != int64(len(document)) || string(got) != document {
		t.Errorf("it asked %s %s with %v and %q", asked.Method, asked.RequestURI, asked.Header, got)
	}
}

// Post asks nobody whom Get would not, does not hand the document on where it is sent,
// and takes no more than Get.
func TestPostRefuses(t *testing.T) {
	s, c, connected := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case "/elsewhere":
			t.Error("the document was handed on")
		case "/full":
			w.WriteHeader(http.StatusTooManyRequests)
		case "/created":
			w.WriteHeader(http.StatusCreated)
		case "/large":
			io.WriteString(w, strings.Repeat("x", outbound.DefaultMaxBody+1))
		case "/compressed":
			w.Header().Set("Content-Encoding", "gzip")
		}
	})
	strict := &outbound.Client{Roots: c.Roots, HighPorts: true}
	plain := httptest.NewServer(says("secret"))
	defer plain.Close()
	for _, test := range []struct {
		name, url string
		by        *outbound.Client
		want      error
	}{
		{"this machine", s.URL, strict, outbound.ErrAddress},
		{"in the clear", plain.URL, c, outbound.ErrURL},
		{"a redirect", s.URL + "/away", c, outbound.ErrRedirect},
		{"a refusal", s.URL + "/full", c, outbound.ErrStatus},
		{"another success", s.URL + "/created", c, outbound.ErrStatus},
		{"a large answer", s.URL + "/large", c, outbound.ErrTooLarge},
		{"a compressed answer", s.URL + "/compressed", c, outbound.ErrEncoding},
	} {
		before := connected.Load()
		answer, err := test.by.Post(t.Context(), test.url, []byte(`{"secret":1}`))
		if !errors.Is(err, test.want) {
			t.Errorf("%s: Post = %q, %v, want %v", test.name, answer, err, test.want)
		}
		status := map[error]int{outbound.ErrRedirect: http.StatusTemporaryRedirect, outbound.ErrStatus: http.StatusTooManyRequests}[test.want]
		if test.name == "another success" {
			status = http.StatusCreated
		}
		if e, ok := errors.AsType[*outbound.Error](err); !ok || e.Status != status {
			t.Errorf("%s: %#v, want status %d", test.name, err, status)
		}
		if test.by == strict && connected.Load() != before {
			t.Errorf("%s: it was connected to", test.name)
		}
	}
	// To this machine in the clear, where that is allowed, and nowhere else so.
	lax := &outbound.Client{Plain: true, Allow: local, HighPorts: true}
	if answer, err := lax.Post(t.Context(), plain.URL, []byte("{}")); err != nil || string(answer) != "secret" {
		t.Errorf("Post in the clear = %q, %v", answer, err)
	}
	if _, err := lax.Post(t.Context(), "http://relay.example", []byte("{}")); !errors.Is(err, outbound.ErrURL) {
		t.Errorf("Post elsewhere in the clear = %v", err)
	}
}

// Dial admits the addresses that Get does.
func TestDial(t *testing.T) {
	s, c, connected := serve(t, says(""))
	at := strings.TrimPrefix(s.URL, "https://")
	if conn, err := (&outbound.Client{}).Dial(t.Context(), "tcp", at); !errors.Is(err, outbound.ErrAddress) {
		t.Errorf("Dial of this machine = %v, %v", conn, err)
	}
	if connected.Load() != 0 {
		t.Error("it was connected to")
	}
	conn, err := c.Dial(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}
