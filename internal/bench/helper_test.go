//go:build linux

package bench

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/internal/process/inside"
)

// helperStart measures the cost of the process in which a view of the tree is created, before it
// mounts anything.
func (b *bench) helperStart() {
	program := b.ralph
	if !*full {
		program = self(b.T) // a script in place of ralph could not pass on the name
	}
	var cpu, cpuFloor []float64
	for range b.starts * 4 {
		trivial := exec.Command(b.stamp)
		trivial.Env = plainEnv()
		if err := trivial.Run(); err != nil {
			b.Fatal(err)
		}
		cpuFloor = append(cpuFloor, milliseconds(trivial.ProcessState.UserTime()+trivial.ProcessState.SystemTime()))
		helper, _ := startHelper(b.T, program, plainEnv())
		cpu = append(cpu, milliseconds(helper.UserTime()+helper.SystemTime()))
	}
	b.add(row{
		What: "helper process for views (CPU)", Unit: "ms", Value: median(cpu), Floor: median(cpuFloor),
		Of: "the smallest Go program", Aim: aim{ratioAtMost, 2},
		Note: "from its start to its orders, which are empty here",
	})
}

// startHelper starts a program as the helper process for views, with orders that it cannot carry
// out.
func startHelper(t *testing.T, program string, env []string) (helper *os.ProcessState, stderr string) {
	t.Helper()
	orders, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer orders.Close()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	var complaints bytes.Buffer
	command := &exec.Cmd{
		Path: program, Args: []string{inside.Name, "program"}, Env: env, Stderr: &complaints,
		ExtraFiles: []*os.File{orders, write},
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	text, _ := io.ReadAll(read)
	_ = command.Wait() // it fails, as it should
	want := inside.Report{Failed: inside.MakeEnclosure, Text: "read orders: not understood"}
	if report, err := inside.DecodeReport(text); err != nil || report != want {
		t.Fatalf("the helper reported %q, want %+v\n%s", text, want, complaints.String())
	}
	return command.ProcessState, complaints.String()
}

// Packages that import reflect, and everything else that is heavy, must be initialized after the
// helper process has taken over. Package inside explains how.
func TestHelperComesBeforeTheProgram(t *testing.T) {
	_, trace := startHelper(t, self(t), append(plainEnv(), "GODEBUG=inittrace=1"))
	var seen []string
	for line := range strings.Lines(trace) {
		if name, ok := strings.CutPrefix(line, "init "); ok {
			seen = append(seen, strings.Fields(name)[0])
		}
	}
	if len(seen) == 0 {
		t.Fatalf("no trace: %q", trace)
	}
	for _, name := range seen {
		if name == "reflect" || strings.HasPrefix(name, "github.com/ralphloop/") {
			t.Errorf("%s is initialized before the helper process takes over, after %q", name, seen)
		}
	}
}
