package snapshot_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/plain"
)

// BenchmarkCopies has two copies of 5,000 files, of which three differ. Everything but
// "all" and "join" is done after every iteration.
func BenchmarkCopies(b *testing.B) {
	for _, how := range []string{"git", "without git"} {
		b.Run(how, func(b *testing.B) {
			w := gittest.NewFolder(b)
			var tree copier
			if how == "git" {
				w.Git("init", "-q", "-b", "main")
				tree, _ = newKeeper(w)
			} else {
				plain, err := (&plain.Tree{Dir: w.Dir}).Keep(filepath.Join(gittest.NewFolder(b).Dir, "copies"))
				w.Must(err)
				tree = plain
			}
			for i := range 5_000 {
				w.Write(fmt.Sprintf("pkg%03d/file%d.go", i%200, i), fmt.Sprintf("package p // %d\n", i))
			}
			from := w.Fingerprint(tree, input).Snapshot
			w.Sh("echo x >pkg000/file0.go; rm pkg001/file1.go; echo x >new.go")
			to := w.Fingerprint(tree, input).Snapshot
			for what, do := range map[string]func() error{
				"changes": func() error { _, err := tree.Changes(b.Context(), from, to); return err },
				"read":    func() error { _, err := tree.Read(b.Context(), from, "pkg001/file1.go", 1<<10); return err },
				"some": func() error {
					return tree.Extract(b.Context(), from, b.TempDir(), []string{"pkg000/file0.go", "pkg001/file1.go"})
				},
				"all":         func() error { return tree.Extract(b.Context(), from, b.TempDir(), nil) },
				"join":        func() error { _, err := tree.Join(b.Context(), from, from, to); return err },
				"fingerprint": func() error { _, err := tree.Fingerprint(b.Context(), input); return err },
			} {
				b.Run(what, func(b *testing.B) {
					for b.Loop() {
						w.Must(do())
					}
				})
			}
		})
	}
}
