package verify_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/verify"
)

func TestProgramsThatChecksRun(t *testing.T) {
	first, second, workspace := t.TempDir(), t.TempDir(), t.TempDir()
	env := []string{"PATH=" + workspace + ":" + first + ":" + second}
	write(t, 0o755, filepath.Join(second, "runner"), "#!/bin/sh\n")
	write(t, 0o755, filepath.Join(second, "make"), "#!/bin/sh\nmake\n")
	file := filepath.Join(t.TempDir(), "programs")
	remember := func() *verify.Programs {
		p, err := verify.RememberPrograms(file, env, workspace, []string{"X=1 runner --all", "./script", "$(odd)"})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	steps := []struct {
		name string
		do   func()
		want []ralph.FileChange
	}{
		{"nothing happened", func() {}, nil},
		{"a script that was written anew is the same", func() {
			write(t, 0o755, filepath.Join(second, "runner"), "#!/bin/sh\n")
			if err := os.Chtimes(filepath.Join(second, "runner"), time.Time{}, time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}, nil},
		{
			"what lies in the workspace is not in the checks' PATH",
			func() { write(t, 0o755, filepath.Join(workspace, "runner"), "exit 0") }, nil,
		},
		{"another program has the name", func() { write(t, 0o755, filepath.Join(first, "runner"), "#!/bin/sh\nexit 0\n") },
			[]ralph.FileChange{{Name: filepath.Join(first, "runner"), Kind: ralph.FileAdded}}},
		{"one that no check names was changed, and one is gone", func() {
			write(t, 0o755, filepath.Join(second, "make"), "#!/bin/sh\nexit 0\n")
			for _, dir := range []string{first, second} {
				if err := os.Remove(filepath.Join(dir, "runner")); err != nil {
					t.Fatal(err)
				}
			}
		}, []ralph.FileChange{{Name: filepath.Join(second, "make"), Kind: ralph.FileChanged}, {
			Name: filepath.Join(second, "runner"), Kind: ralph.FileDeleted,
		}}},
	}
	remember()
	for _, step := range steps {
		step.do()
		if diff := cmp.Diff(step.want, remember().Changed()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

// A program over 1 MiB was known by its size and time only, which anyone can set.
func TestALargeProgramThatKeepsItsSizeAndTime(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells when a file was last changed")
	}
	folder, workspace := t.TempDir(), t.TempDir()
	path := filepath.Join(folder, "runner")
	fill := func(with byte) {
		write(t, 0o755, path, strings.Repeat(string(with), 2<<20))
		if err := os.Chtimes(path, time.Time{}, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	fill('a')
	programs, err := verify.RememberPrograms(
		filepath.Join(t.TempDir(), "programs"), []string{"PATH=" + folder}, workspace, []string{"runner"},
	)
	if err != nil {
		t.Fatal(err)
	}
	if changed := programs.Changed(); changed != nil {
		t.Errorf("changed before anyone wrote: %v", changed)
	}
	fill('b')
	want := []ralph.FileChange{{Name: path, Kind: ralph.FileChanged}}
	if diff := cmp.Diff(want, programs.Changed()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
