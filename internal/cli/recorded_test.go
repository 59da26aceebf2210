package cli_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ralphloop/ralph/internal/cli"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/runlog"
)

var (
	recordedWith = flag.String("recorded-with", "",
		"compare with what this ralph `program` says of the recordings, in full, and not with the golden files")
	recordedTexts = flag.String("recorded-texts", "",
		"write every text, also those of which only the hash is kept, below this `folder`")
	recordedUpdate = flag.Bool("recorded-update", false,
		"write what the program of -recorded-with says into the golden files of the recordings")
)

// TestRecorded reads logs, results and configurations that an earlier program wrote, with every
// command that reads, and folds them. The result must be the same as that program's.
// testdata/recorded/README.md says what to do if it is not.
func TestRecorded(t *testing.T) {
	if *recordedUpdate && *recordedWith == "" {
		t.Fatal("-recorded-update needs -recorded-with PROGRAM: the golden files are what the program that wrote the " +
			"recordings said")
	}
	zone := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = zone })
	archives, err := filepath.Glob(filepath.Join(recordedDir, "*.tar.gz"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".tar.gz")
		t.Run(name, func(t *testing.T) {
			r := unpackRecording(t, archive)
			compareRecorded(t, name, func(ask commandRunner) []commandOutput { return r.read(t, ask) })
		})
	}
	t.Run("settings", func(t *testing.T) {
		r := &recording{root: scratch(t)}
		compareRecorded(t, "settings", func(ask commandRunner) []commandOutput { return r.readSettings(t, ask) })
	})
}

// commandOutput is the output of one command, or the result of a fold.
type commandOutput struct {
	name string
	text string
	full bool // the golden file holds the text, not only its hash
}

// commandRunner runs one ralph command.
type commandRunner func(env []string, args ...string) (stdout, stderr string, code int)

// compareRecorded compares what is read now with what was read then.
func compareRecorded(t *testing.T, name string, read func(commandRunner) []commandOutput) {
	t.Helper()
	golden := filepath.Join(recordedDir, name+".txtar")
	if *recordedUpdate {
		if err := os.WriteFile(golden, txtar.Format(packOutputs(t, read(runProgram))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := read(runInProcess)
	if *recordedTexts != "" {
		writeTexts(t, filepath.Join(*recordedTexts, name), got)
	}
	want := map[string]string{}
	if *recordedWith != "" && !*recordedUpdate {
		for i, s := range read(runProgram) {
			want[s.name], got[i].full = s.text, true
		}
	} else {
		archive, err := txtar.ParseFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.Files {
			want[file.Name] = string(file.Data)
		}
	}
	for _, s := range got {
		text := s.text
		if !s.full {
			text = hashLine(text)
		}
		expected, ok := want[s.name]
		delete(want, s.name)
		if diff := cmp.Diff(strings.Split(expected, "\n"), strings.Split(text, "\n")); diff != "" || !ok {
			t.Errorf("%s: %s (-then +now); testdata/recorded/README.md says how to see a text of which only the hash is "+
				"kept:\n%s", name, s.name, diff)
		}
	}
	for missing := range want {
		t.Errorf("%s: %s was not asked", name, missing)
	}
}

// writeTexts writes every text to a separate file, so that two versions of the code can be compared
// with diff -r.
func writeTexts(t *testing.T, dir string, all []commandOutput) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(s.name, "/", "_")), []byte(s.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func packOutputs(t *testing.T, all []commandOutput) *txtar.Archive {
	t.Helper()
	archive := &txtar.Archive{}
	for _, s := range all {
		text := s.text
		if !s.full {
			text = hashLine(text)
		}
		if txtar.NeedsQuote([]byte(text)) {
			t.Fatalf("%s has a line that looks like the name of a file", s.name)
		}
		archive.Files = append(archive.Files, txtar.File{Name: s.name, Data: []byte(text)})
	}
	return archive
}

func hashLine(text string) string {
	return fmt.Sprintf("%d bytes, sha256 %x\n", len(text), sha256.Sum256([]byte(text)))
}

// runInProcess runs a command of the code under test.
func runInProcess(env []string, args ...string) (string, string, int) {
	var stdout, stderr bytes.Buffer
	code := cli.Main(context.Background(), cli.Streams{
		Args: args, In: strings.NewReader(""), Out: &stdout, Err: &stderr, Width: func() int { return 80 },
		Env: config.NewEnv(env), Dir: string(filepath.Separator), Self: "ralph",
	})
	return stdout.String(), stderr.String(), code
}

// runProgram runs a command of the program that the golden files come from.
func runProgram(env []string, args ...string) (string, string, int) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(*recordedWith, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, string(filepath.Separator), &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return "", err.Error(), -1
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// recording is what one script left behind, unpacked.
type recording struct {
	root       string
	workspaces []string
	brief      map[string]bool // runs with nothing new: a few hashes are enough
}

// scratch is a folder under its real path.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (r *recording) workspace(name string) string { return filepath.Join(r.root, "work", name) }
func (r *recording) stateDir() string             { return filepath.Join(r.root, "state") }

// unpackRecording puts the state of every workspace where a program that runs there looks for it.
func unpackRecording(t *testing.T, file string) *recording {
	t.Helper()
	r := &recording{root: scratch(t), brief: map[string]bool{}}
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(zip)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return r
		}
		if err != nil {
			t.Fatal(err)
		}
		r.unpack(t, header.Name, archive)
	}
}

func (r *recording) unpack(t *testing.T, name string, data io.Reader) {
	t.Helper()
	first, rest, _ := strings.Cut(name, "/")
	target := filepath.Join(r.root, name)
	if first != "home" {
		if _, err := os.Stat(r.workspace(first)); errors.Is(err, fs.ErrNotExist) {
			r.workspaces = append(r.workspaces, first)
			if err := os.MkdirAll(r.workspace(first), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		part, rest, _ := strings.Cut(rest, "/")
		switch part {
		case "workspace":
			target = filepath.Join(r.workspace(first), filepath.FromSlash(rest))
		case "brief":
			r.brief[rest] = true
			return
		case "state":
			target = filepath.Join(r.stateDir(), runlog.WorkspaceID(r.workspace(first)), filepath.FromSlash(rest))
		}
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(target, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// env returns the whole environment of a command. git is on PATH only for commands that need it:
// starting it takes most of the time.
func (r *recording) env(git string, more ...string) []string {
	env := []string{
		"HOME=" + filepath.Join(r.root, "home"), "PATH=" + git, "RALPH_STATE_DIR=" + r.stateDir(), "TZ=UTC", "LC_ALL=C",
		"RALPH_SANDBOX__MODE=none",
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CEILING_DIRECTORIES=" + r.root,
	}
	return append(env, more...)
}
