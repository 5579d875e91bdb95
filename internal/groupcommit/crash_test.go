package groupcommit

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// appendChild appends for ever and prints what has been acknowledged.
func appendChild(path string) error {
	db, err := Open(path, nil)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := db.Commit(ctx, Op{Apply: createBucket}); err != nil {
		return err
	}
	var n atomic.Uint64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for err == nil {
				value := fmt.Sprintf("%d-%d", os.Getpid(), n.Add(1))
				if err := db.Commit(ctx, put(value)); err != nil {
					fmt.Println("error:", err)
					return
				}
				os.Stdout.WriteString(value + "\n")
			}
		})
	}
	wg.Wait()
	return nil
}

// child starts the test binary as the named child.
func child(t *testing.T, name, path string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(out)
}

func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	var acked []string
	for range 10 {
		cmd, out := child(t, "append", path)
		// The kill falls anywhere in the transactions of the others.
		lines := 1 + rand.IntN(300)
		for n := 0; ; n++ {
			line, err := out.ReadString('\n')
			if err == io.EOF {
				break // an unfinished line is not an acknowledgement
			}
			if err != nil {
				t.Fatal(err)
			}
			acked = append(acked, strings.TrimSpace(line))
			if n == lines {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()

		db := open(t, path, nil)
		stored := make(map[string]bool)
		for _, v := range values(t, db) {
			if stored[v] {
				t.Errorf("%s is stored twice", v)
			}
			stored[v] = true
		}
		for _, v := range acked {
			if !stored[v] {
				t.Errorf("%s was acknowledged and is lost", v)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("killed after %d: %d acknowledged, %d stored", lines, len(acked), len(stored))
	}
}
