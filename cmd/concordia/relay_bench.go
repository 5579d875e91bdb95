package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/boltmail"
	"github.com/concordia-node/concordia/wire"
)

// A bench is what relay bench measures, and with what.
type bench struct {
	app         *app
	sessions    int
	messages    int
	size        int
	connections int
	dir         string
	profile     string

	keys []wire.PrivateKey // of the agents
	logs []*benchLog
	done atomic.Int64 // messages, in process and over the network
}

// A benchLog is one session of the bench: two agents, and what the first says.
type benchLog struct {
	id       wire.SessionID
	index    int
	from, to int      // agents
	frames   [][]byte // websocket frames with requests to append, made before
	starts   []int    // where the message begins in each
	ids      []string

	sent                 []atomic.Int64 // when each was written to the network
	answered, owned, got atomic.Int64   // how many were acknowledged, came back, came to the other
	until                int            // how many are sent in this round
}

// entry is the signed message in a request.
func (l *benchLog) entry(n int) []byte {
	f := l.frames[n]
	return f[l.starts[n] : len(f)-1]
}

// rounds is how often the two halves of the bench take turns, so that what else the
// machine does meets both.
const rounds = 4

func (a *app) relayBenchCommand() *cobra.Command {
	b := &bench{app: a}
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure how many messages a relay carries on this machine",
		Long: `bench runs a relay, its mail and its clients in one process and has them send signed
messages over websockets on this machine. Each message is acknowledged when it is on
disk, and delivered to the other party, which checks that each comes once, unchanged and
in its order. The clients do not verify signatures: that is their users' cost.

In turns with that it measures the bound: the same messages parsed, verified, hashed and
appended in process, on disk, without a network. What else the machine does bears on
both, so look at their ratio, and at the processor time of a message.

Exit codes: 0 measured, 1 a message was lost, doubled, changed or out of order, 2 wrong
usage, 3 it could not be run.`,
		Example: `  concordia relay bench
  concordia relay bench --sessions 512 --connections 1024 --messages 200000 --dir /mnt/disk --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case b.sessions < 1 || b.connections < 2 || b.connections%2 != 0:
				return cli.Usagef("--sessions: want 1 or more; --connections: an even number from 2")
			case b.messages < b.sessions*rounds:
				return cli.Usagef("--messages: want %d or more: %d for each session", b.sessions*rounds, rounds)
			case b.size < 600 || b.size > 200_000:
				return cli.Usagef("--size: want 600 to 200000 bytes")
			}
			return b.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.IntVar(&b.sessions, "sessions", 256, "sessions at once, each of two agents")
	f.IntVar(&b.messages, "messages", 100_000, "messages in all")
	f.IntVar(&b.size, "size", 1024, "bytes of a message")
	f.IntVar(&b.connections, "connections", 512, "websockets, each of an agent")
	f.StringVar(&b.dir, "dir", "", "`directory` for the mail, on the disk to measure (default: a temporary one, removed in the end)")
	f.StringVar(&b.profile, "cpuprofile", "", "write a profile of the part over the network to this `file`")
	return cmd
}

// A benchResult is what was measured, for programs.
type benchResult struct {
	Sessions     int     `json:"sessions"`
	Connections  int     `json:"connections"`
	Messages     int     `json:"messages"`
	Size         int     `json:"message_bytes"`
	Cores        int     `json:"cores"`
	Rate         float64 `json:"messages_per_second"`
	CPU          float64 `json:"cpu_us_per_message"`
	AckP50       float64 `json:"append_to_ack_ms_p50"`
	AckP99       float64 `json:"append_to_ack_ms_p99"`
	DeliveredP50 float64 `json:"append_to_delivery_ms_p50"`
	DeliveredP99 float64 `json:"append_to_delivery_ms_p99"`
	Bound        float64 `json:"bound_messages_per_second"`
	BoundCPU     float64 `json:"bound_cpu_us_per_message"`
	Ratio        float64 `json:"ratio"`
	CPURatio     float64 `json:"cpu_ratio"`
	FilePer      float64 `json:"file_bytes_per_message"`
}

func (b *bench) run(ctx context.Context) (err error) {
	dir := b.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "concordia-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	} else if err = os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	stop := b.bar(2 * b.messages)
	defer stop()
	if err := b.sign(); err != nil {
		return err
	}
	inProcess, err := b.openMail(ctx, filepath.Join(dir, "bench-bound.db"))
	if err != nil {
		return err
	}
	defer inProcess.close()
	served, err := b.openMail(ctx, filepath.Join(dir, "bench-served.db"))
	if err != nil {
		return err
	}
	defer served.close()
	net, err := b.connect(ctx, served)
	if err != nil {
		return err
	}
	defer net.close()

	var bound, carried phase
	for round := range rounds {
		if err := bound.measure(func() error { return b.append(ctx, inProcess, round) }); err != nil {
			return err
		}
		profile, err := b.profiled(round)
		if err != nil {
			return err
		}
		err = carried.measure(func() error { return net.carry(ctx, round) })
		if profile(); err != nil {
			return err
		}
	}
	stop()
	if err := net.check(); err != nil {
		return cli.Exit(cli.Rejected, err)
	}
	return b.report(&bound, &carried, net, served)
}

// A phase is the time that one half of the bench took.
type phase struct{ took, busy time.Duration }

func (p *phase) measure(do func() error) error {
	runtime.GC() // of what the other half left
	start, cpu := time.Now(), processorTime()
	err := do()
	p.took, p.busy = p.took+time.Since(start), p.busy+processorTime()-cpu
	return err
}

func (b *bench) report(bound, carried *phase, net *benchNet, served *benchMail) error {
	n := len(b.logs) * len(b.logs[0].frames)
	r := benchResult{
		Sessions: b.sessions, Connections: b.connections, Messages: n, Size: len(b.logs[0].entry(0)), Cores: runtime.GOMAXPROCS(0),
		Rate: float64(n) / carried.took.Seconds(), CPU: micros(carried.busy) / float64(n),
		Bound: float64(n) / bound.took.Seconds(), BoundCPU: micros(bound.busy) / float64(n),
	}
	r.Ratio = r.Rate / r.Bound
	if r.CPU > 0 {
		r.CPURatio = r.BoundCPU / r.CPU
	}
	acks, deliveries := net.latencies()
	r.AckP50, r.AckP99 = quantile(acks, 0.5), quantile(acks, 0.99)
	r.DeliveredP50, r.DeliveredP99 = quantile(deliveries, 0.5), quantile(deliveries, 0.99)
	if used, _ := served.mail.Size(); used > 0 {
		r.FilePer = float64(used) / float64(n)
	}
	out := b.app.out
	out.printf("%d messages of %d bytes, %d sessions, %d connections, %d cores\n", r.Messages, r.Size, r.Sessions, r.Connections, r.Cores)
	out.table([][]string{
		{"accepted and delivered", fmt.Sprintf("%.0f messages/s", r.Rate), fmt.Sprintf("%.0f µs of processor time each, the clients' with it", r.CPU)},
		{"bound, in process", fmt.Sprintf("%.0f messages/s", r.Bound), fmt.Sprintf("%.0f µs of processor time each", r.BoundCPU)},
		{"ratio", fmt.Sprintf("%.2f", r.Ratio), fmt.Sprintf("%.2f in processor time", r.CPURatio)},
		{"append to answer", fmt.Sprintf("p50 %.1f ms", r.AckP50), fmt.Sprintf("p99 %.1f ms", r.AckP99)},
		{"append to delivery", fmt.Sprintf("p50 %.1f ms", r.DeliveredP50), fmt.Sprintf("p99 %.1f ms", r.DeliveredP99)},
		{"file", fmt.Sprintf("%.0f bytes for each message", r.FilePer)},
	})
	return out.value(r)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// quantile returns a quantile of times, in milliseconds.
func quantile(all []time.Duration, q float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return float64(all[int(q*float64(len(all)-1))]) / float64(time.Millisecond)
}

// profiled writes a profile of the last round.
func (b *bench) profiled(round int) (stop func(), err error) {
	if b.profile == "" || round != rounds-1 {
		return func() {}, nil
	}
	f, err := os.Create(b.profile)
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	return func() { pprof.StopCPUProfile(); f.Close() }, err
}

// bar shows how far the bench is.
func (b *bench) bar(total int) (stop func()) {
	p := b.app.progressOf("measuring", total)
	tick, done := time.NewTicker(200*time.Millisecond), make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		defer tick.Stop()
		for shown := int64(0); ; {
			select {
			case <-done:
				p.done()
				return
			case <-tick.C:
				now := b.done.Load()
				p.add(int(now - shown))
				shown = now
			}
		}
	})
	return sync.OnceFunc(func() { close(done); work.Wait() })
}

// benchHead is how the request for a message of a session begins.
func benchHead(session int) string { return fmt.Sprintf(`{"op":"append","ref":"%d","entry":`, session) }

// sign makes the agents and what they say.
func (b *bench) sign() error {
	for range b.connections {
		key, err := wire.GenerateKey(b.app.rand)
		if err != nil {
			return err
		}
		b.keys = append(b.keys, key)
	}
	faults := make([]error, b.sessions)
	b.logs = make([]*benchLog, b.sessions)
	each := b.messages / b.sessions
	now := b.app.now()
	for i := range b.logs {
		id, err := wire.NewID[wire.SessionID]("ses_", b.app.rand)
		if err != nil {
			return err
		}
		b.logs[i] = &benchLog{id: id, index: i, from: 2 * i % b.connections, to: (2*i + 1) % b.connections, sent: make([]atomic.Int64, each)}
	}
	parallel(b.sessions, func(i int) { faults[i] = b.logs[i].sign(b, each, now) })
	return errors.Join(faults...)
}

func (b *bench) agent(i int) wire.AgentID { return wire.DIDKey(b.keys[i].Public()) }

func (l *benchLog) sign(b *bench, each int, now time.Time) error {
	var tip wire.Hash
	pad := 0
	for range each {
		id, err := wire.NewID[wire.MessageID]("msg_", b.app.rand)
		if err != nil {
			return err
		}
		var m *wire.Message
		for { // once more for the first, whose length says how much there has to be
			body, err := wire.Encode(wire.M{"flexibility": wire.M{"note": strings.Repeat("x", pad)}})
			if err != nil {
				return err
			}
			m, err = wire.Sign(wire.Envelope{
				Type: wire.TypeSignal, ID: id, Session: l.id, Time: now, From: b.agent(l.from), PrevHash: tip, Body: body,
			}, b.keys[l.from])
			if err != nil {
				return err
			}
			size := len(m.Value().Canonical())
			if pad > 0 || size >= b.size {
				break
			}
			pad = b.size - size
		}
		tip = m.Hash()
		l.ids = append(l.ids, string(id))
		request := benchHead(l.index) + m.Value().Canonical() + "}"
		frame := textFrame(request)
		l.frames, l.starts = append(l.frames, frame), append(l.starts, len(frame)-len(request)+len(benchHead(l.index)))
	}
	return nil
}

// A benchMail is a relay's mail in which the agents have met.
type benchMail struct {
	mail   *boltmail.Mail
	boxes  *relay.Mailboxes
	agents []relay.Agent
	tokens []string
	path   string
}

// benchLimits do not stand in the way.
func benchLimits() relay.Limits {
	const many = 1 << 40
	return relay.Limits{
		LivePerInitiator: many, Live: many, Invitations: many, InvitationsSender: many, Undelivered: many, UndeliveredSender: many,
		Entries: many, SessionSize: many, InitiatorSize: many, Agents: many, AppendsPerSecond: 1 << 30, AppendBurst: 1 << 30,
		CallsPerSecond: 1 << 30, CallBurst: 1 << 30, Connections: many, ConnectionsAgent: many, ConnectionsPlace: many, FreeSpace: 1,
	}
}

func (b *bench) openMail(ctx context.Context, path string) (*benchMail, error) {
	if _, err := os.Stat(path); err == nil {
		return nil, cli.Usagef("%s is there: of an earlier bench? Delete it, or give another --dir", path)
	}
	mail, err := boltmail.Open(path)
	if err != nil {
		return nil, err
	}
	m := &benchMail{mail: mail, agents: make([]relay.Agent, b.connections), tokens: make([]string, b.connections), path: path}
	if m.boxes, err = relay.NewMailboxes(ctx, mail, relay.Options{Limits: benchLimits(), Now: b.app.now, Random: b.app.rand}); err == nil {
		err = together(b.connections, func(i int) error { return m.register(ctx, b, i) })
	}
	if err == nil {
		err = together(b.sessions, func(i int) error {
			l := b.logs[i]
			_, err := m.boxes.Create(ctx, m.agents[l.from].ID, relay.Reservation{Session: l.id, To: []wire.AgentID{m.agents[l.to].ID}})
			if err == nil {
				_, err = m.boxes.Join(ctx, m.agents[l.to].ID, l.id)
			}
			return err
		})
	}
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *benchMail) register(ctx context.Context, b *bench, i int) error {
	c, err := m.boxes.Challenge()
	if err != nil {
		return err
	}
	v, err := c.Registration(b.agent(i), b.keys[i], b.app.now())
	if err != nil {
		return err
	}
	if _, m.tokens[i], err = m.boxes.Register(ctx, v); err != nil {
		return err
	}
	m.agents[i], err = m.boxes.Authenticate(ctx, m.tokens[i])
	return err
}

// close closes the mail and removes it.
func (m *benchMail) close() {
	_ = m.mail.Close()
	_ = os.Remove(m.path)
}

// together runs do(0) to do(n-1) at the same time.
func together(n int, do func(i int) error) error {
	faults := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { faults[i] = do(i) })
	}
	all.Wait()
	return errors.Join(faults...)
}

// append appends the messages of a round in process.
func (b *bench) append(ctx context.Context, m *benchMail, round int) error {
	return together(b.sessions, func(i int) error {
		l := b.logs[i]
		for n := len(l.frames) * round / rounds; n < len(l.frames)*(round+1)/rounds; n++ {
			v, err := wire.Parse(l.entry(n), wire.DocumentLimits)
			if err == nil {
				_, err = m.boxes.Append(ctx, m.agents[l.from], v)
			}
			if err != nil {
				return fmt.Errorf("appending message %d in process: %w", n, err)
			}
			b.done.Add(1)
		}
		return nil
	})
}
