package gitrepo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/internal/process"
)

// busy is a repository of 2,000 files with 40 dirty and 20 untracked ones.
func busy(b *testing.B) gittest.Workspace {
	b.Helper()
	w := gittest.NewRepo(b)
	for i := range 2000 {
		name := fmt.Sprintf("pkg%02d/file%d.go", i%50, i)
		w.Write(name, fmt.Sprintf("package p // %d\n", i))
		w.Age(name) // git reads files again that are as young as its index
	}
	w.Commit()
	for i := range 40 {
		w.Write(fmt.Sprintf("pkg%02d/file%d.go", i%50, i), "package q\n")
		w.Write(fmt.Sprintf("new/%d.go", i/2), "package new // TODO\n")
	}
	return w
}

func BenchmarkFingerprint(b *testing.B) {
	w := busy(b)
	repo, _, err := gitrepo.Find(b.Context(), gittest.Program(), w.Dir)
	if err != nil {
		b.Fatal(err)
	}
	for name, in := range map[string]ralph.TreeInput{"plain": {BaseHead: "HEAD"},
		"claimed": {BaseHead: "HEAD", Claimed: true}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := repo.Fingerprint(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStatus is what Fingerprint is to be compared with.
func BenchmarkStatus(b *testing.B) {
	w := busy(b)
	for b.Loop() {
		ended, err := process.Run(b.Context(), process.Spec{
			Argv: []string{"git", "status", "--porcelain"}, Dir: w.Dir, Env: gittest.Environment(), Timeout: time.Minute,
		})
		if err != nil || ended.ExitCode != 0 {
			b.Fatal(err)
		}
	}
}
