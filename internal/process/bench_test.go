//go:build unix

package process

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// BenchmarkRun is one trivial command with both streams on disk, to be compared
// with BenchmarkBareExec. cpu-µs/op counts this process and its children.
func BenchmarkRun(b *testing.B) { benchmarkRun(b, Spec{}) }

// BenchmarkRunGuarded is the same with a guard.
func BenchmarkRunGuarded(b *testing.B) { benchmarkRun(b, Spec{Guarded: true}) }

func benchmarkRun(b *testing.B, kind Spec) {
	dir := b.TempDir()
	spec := Spec{
		Guarded: kind.Guarded,
		Argv:    []string{"/bin/sh", "-c", "true"},
		Env:     os.Environ(),
		Stdout:  Sink{Path: filepath.Join(dir, "stdout"), Limit: 1 << 20},
		Stderr:  Sink{Path: filepath.Join(dir, "stderr"), Limit: 1 << 20},
	}
	measureCPU(b, func() {
		if r, err := Run(b.Context(), spec); err != nil || r.ExitCode != 0 {
			b.Fatalf("Run = %+v, %v", r, err)
		}
	})
}

func BenchmarkBareExec(b *testing.B) {
	measureCPU(b, func() {
		cmd := exec.Command("/bin/sh", "-c", "true")
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, out); err != nil {
			b.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
	})
}

func measureCPU(b *testing.B, op func()) {
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		op()
	}
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

func cpuTime(b *testing.B) time.Duration {
	var total int64
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			b.Fatal(err)
		}
		total += usage.Utime.Nano() + usage.Stime.Nano()
	}
	return time.Duration(total)
}
