//go:build long && linux

package transcript_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Under strace, every acknowledgement follows an fdatasync that completed after
// the message was written to the file.
func TestLongSyncBeforeAcknowledging(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	dir := t.TempDir()
	trace := filepath.Join(dir, "trace")
	cmd := exec.CommandContext(t.Context(), strace, "-f", "-s", "1000000", "-e", "trace=pwrite64,fdatasync,write", "-o", trace, os.Args[0])
	cmd.Env = append(os.Environ(), crashEnv+"="+filepath.Join(dir, "t.db"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; n < 150 && lines.Scan(); n++ {
	}
	cmd.Process.Kill()
	cmd.Wait()

	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]int{} // message -> line at which a write with it was complete
	synced := 0                 // line of the last completed fdatasync
	begun := map[string]int{}   // thread -> line at which its fdatasync began
	acks := 0
	message := regexp.MustCompile(`\\"id\\":\\"(m\d+)\\".{0,400}?\\"session_id\\":\\"(ses_\d+)\\"`)
	ack := regexp.MustCompile(`write\(1, "ack (ses_\d+) (\d+) `)
	started := 0 // line at which the last completed fdatasync began
	for i, line := range bytes.Split(text, []byte("\n")) {
		thread, call, _ := strings.Cut(string(line), " ")
		switch {
		case strings.Contains(call, "pwrite64("):
			for _, m := range message.FindAllStringSubmatch(call, -1) {
				if name := m[2] + " " + m[1]; written[name] == 0 {
					written[name] = i + 1
				}
			}
		case strings.Contains(call, "fdatasync("):
			if begun[thread] = i + 1; strings.HasSuffix(strings.TrimSpace(call), "= 0") {
				synced, started = i+1, i+1
			}
		case strings.Contains(call, "fdatasync resumed") && strings.HasSuffix(strings.TrimSpace(call), "= 0"):
			synced, started = i+1, begun[thread]
		default:
			m := ack.FindStringSubmatch(call)
			if m == nil {
				continue
			}
			acks++
			var n int
			fmt.Sscan(m[2], &n)
			at := written[fmt.Sprintf("%s m%d", m[1], n-1)]
			if at == 0 || started < at || synced > i+1 {
				t.Errorf("line %d: %s %d acknowledged; written at line %d, last fdatasync from %d to %d", i+1, m[1], n, at, started, synced)
			}
		}
	}
	if acks < 100 {
		t.Fatalf("only %d acknowledgements in the trace", acks)
	}
	t.Logf("%d acknowledgements, each after its fdatasync", acks)
}
