//go:build unix

package runlog

import (
	"os"
	"syscall"
	"testing"

	"github.com/ralphloop/ralph/fold"
)

func BenchmarkAppend(b *testing.B) {
	benchmarkAppend(b, func(*Log) error { return nil })
}

func BenchmarkAppendSync(b *testing.B) { benchmarkAppend(b, (*Log).Sync) }

func benchmarkAppend(b *testing.B, after func(*Log) error) {
	log, err := openStore(b).Create(sampleRun)
	if err != nil {
		b.Fatal(err)
	}
	sample := &script{run: sampleRun}
	sample.iteration(1)
	b.ReportAllocs()
	for i := range b.N {
		e := sample.events[i%len(sample.events)]
		e.Seq = int64(i + 1)
		if err := log.Append(e); err != nil {
			b.Fatal(err)
		}
		if err := after(log); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkState folds the log of a run of 10,000 iterations, as resume does.
func BenchmarkState(b *testing.B) {
	s, sample := openStore(b), &script{run: sampleRun}
	sample.start()
	for n := range 10_000 {
		sample.iteration(n + 1)
	}
	record(b, s, sampleRun, sample.events)
	info, err := os.Stat(s.logPath(sampleRun))
	if err != nil {
		b.Fatal(err)
	}
	sample.events = nil
	b.SetBytes(info.Size())
	b.ReportAllocs()
	before := cpuTime()
	for b.Loop() {
		if _, err := stateOf(s, sampleRun); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpuTime()-before)/1e6/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(info.Size())/1e6, "MB")
}

// BenchmarkApply is the part of BenchmarkState that is not this package's.
func BenchmarkApply(b *testing.B) {
	sample := &script{run: sampleRun}
	sample.start()
	for n := range 10_000 {
		sample.iteration(n + 1)
	}
	for b.Loop() {
		var state fold.State
		for _, e := range sample.events {
			if err := state.Apply(e); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func cpuTime() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
