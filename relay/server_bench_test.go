package relay_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/concordia-node/concordia/wire"
)

// BenchmarkServer appends messages of 1 KB in 256 sessions at once, each over a websocket
// of its own, and takes them at the other end: an operation is one message, accepted
// after fsync and delivered.
func BenchmarkServer(b *testing.B) {
	const sessions = 256
	limits := roomy()
	limits.LivePerInitiator, limits.Entries, limits.SessionSize = 1000, 1e9, 1<<40
	s := listen(b, setting{limits: limits})
	each := b.N/sessions + 1
	type pair struct {
		seller, buyer *websocket.Conn
		session       string
		frames        [][]byte
	}
	var pairs []*pair
	for i := range sessions {
		seller, buyer := s.person(fmt.Sprintf("seller%d", i)), s.person(fmt.Sprintf("buyer%d", i))
		p := &pair{session: fmt.Sprintf("ses_%d", i)}
		seller.meet(p.session, buyer)
		for _, m := range seller.chain(p.session, each, wire.M{"signal": strings.Repeat("x", 650)}) {
			p.frames = append(p.frames, []byte(`{"op":"append","ref":"1","entry":`+m.Value().Canonical()+"}"))
		}
		p.seller, p.buyer = seller.dial().ws, buyer.dial().ws
		pairs = append(pairs, p)
	}
	b.SetBytes(int64(len(pairs[0].frames[0])))
	b.ResetTimer()
	var all sync.WaitGroup
	for _, p := range pairs {
		ack := func(ws *websocket.Conn, n int) {
			if n%64 == 0 {
				if err := ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"op":"ack","ref":"ack","session_id":%q,"number":%d}`, p.session, n)); err != nil {
					b.Error(err)
				}
			}
		}
		all.Go(func() {
			own := 0
			for _, frame := range p.frames {
				if err := p.seller.WriteMessage(websocket.TextMessage, frame); err != nil {
					b.Error(err)
					return
				}
				for {
					_, got, err := p.seller.ReadMessage()
					if err != nil || bytes.Contains(got, []byte(`"error"`)) {
						b.Errorf("%v %s", err, got)
						return
					}
					if bytes.HasPrefix(got, []byte(`{"ref":"1"`)) {
						break
					}
					if bytes.HasPrefix(got, []byte(`{"push":"entry"`)) {
						own++
						ack(p.seller, own)
					}
				}
			}
		})
		all.Go(func() {
			for n := 0; n < each; {
				_, got, err := p.buyer.ReadMessage()
				if err != nil {
					b.Error(err)
					return
				}
				if bytes.HasPrefix(got, []byte(`{"push":"entry"`)) {
					n++
					ack(p.buyer, n)
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(each*sessions)/b.Elapsed().Seconds(), "messages/s")
}
