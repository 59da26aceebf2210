package snapshot_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

// BenchmarkSnapshot has one changed file among 20,000. Its ratio is that of a fingerprint
// and its snapshot to `git status` in the same repository; a fingerprint by itself, which
// is such a status, is 1 of it.
func BenchmarkSnapshot(b *testing.B) {
	w := gittest.NewRepo(b)
	for i := range 20_000 {
		name := fmt.Sprintf("pkg%03d/sub%d/file%d.go", i%200, i%7, i)
		w.Write(name, fmt.Sprintf("package p // %d\n", i))
		w.Age(name)
	}
	w.Commit()
	for _, committing := range []bool{false, true} {
		b.Run(fmt.Sprintf("committing=%v", committing), func(b *testing.B) {
			w := gittest.Workspace{TB: b, Dir: w.Dir}
			k, _ := newKeeper(w)
			began := time.Now()
			snapshotOf(w, k)
			first := time.Since(began)
			var status, fingerprint, ours time.Duration
			repo := w.Find()
			for i := 0; b.Loop(); i++ {
				w.Write("pkg007/sub0/file7.go", fmt.Sprintf("package p // %d\n", time.Now().UnixNano()))
				if committing {
					w.Git("commit", "-qam", "x")
				}
				began := time.Now()
				w.Git("status", "--porcelain")
				status += time.Since(began)
				began = time.Now()
				w.Fingerprint(repo, ralph.TreeInput{BaseHead: "HEAD"})
				fingerprint += time.Since(began)
				began = time.Now()
				w.Fingerprint(k, ralph.TreeInput{Run: "run", Iteration: i, BaseHead: "HEAD"})
				ours += time.Since(began)
			}
			b.ReportMetric(float64(status.Milliseconds())/float64(b.N), "ms-status")
			b.ReportMetric(float64(fingerprint.Milliseconds())/float64(b.N), "ms-fingerprint")
			b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "ms-kept")
			b.ReportMetric(float64(ours-fingerprint)/float64(status), "snapshot-ratio")
			b.ReportMetric(float64(first.Milliseconds()), "ms-first")
		})
	}
}
