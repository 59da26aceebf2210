package process

import (
	"os"
	"testing"
)

// BenchmarkRunLibrary is what an embedding program pays, which cannot prove with
// one system call that no process is left and reads /proc instead.
func BenchmarkRunLibrary(b *testing.B) {
	ownsOrphans.Store(false)
	defer ownsOrphans.Store(true)
	benchmarkRun(b, Spec{})
}

// BenchmarkCensus is one look at all processes.
func BenchmarkCensus(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := takeCensus(nil); err != nil {
			b.Fatal(err)
		}
	}
	names, err := os.ReadDir("/proc")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(len(names)), "processes")
}
