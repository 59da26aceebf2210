package agent

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/promise"
)

var update = flag.Bool("update", false, "write the golden files anew")

// testNow is the clock of all reader tests.
var testNow = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// transcript is one recorded run of a real CLI: testdata/transcripts/CLI/NAME.txtar, with its
// output (stdout, stderr), how it ended (meta.json) and the outcome that is read from it
// (outcome.json, written by -update).
type transcript struct {
	cli, name      string
	stdout, stderr []byte
	outcome        string
	Ended          string `json:"ended"`
	ExitCode       int    `json:"exit_code"`
}

// unended comes in the comment of an archive before the names of files without a newline at their
// end, because txtar adds one.
const unended = "no newline at the end of: "

func (tr transcript) path() string {
	return filepath.Join("testdata", "transcripts", tr.cli, tr.name+".txtar")
}

func loadTranscript(t testing.TB, cli, name string) transcript {
	t.Helper()
	tr := transcript{cli: cli, name: name}
	archive, err := txtar.ParseFile(tr.path())
	if err != nil {
		t.Fatal(err)
	}
	without := strings.Fields(strings.TrimPrefix(string(archive.Comment), unended))
	files := map[string][]byte{}
	for _, f := range archive.Files {
		if slices.Contains(without, f.Name) {
			f.Data = bytes.TrimSuffix(f.Data, []byte("\n"))
		}
		files[f.Name] = f.Data
	}
	if err := json.Unmarshal(files["meta.json"], &tr); err != nil {
		t.Fatal(err)
	}
	tr.stdout, tr.stderr, tr.outcome = files["stdout"], files["stderr"], string(files["outcome.json"])
	return tr
}

// writeOutcome adds or replaces the outcome in the archive.
func (tr transcript) writeOutcome(t *testing.T, outcome string) {
	t.Helper()
	archive, err := txtar.ParseFile(tr.path())
	if err != nil {
		t.Fatal(err)
	}
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "outcome.json" })
	archive.Files = append(archive.Files, txtar.File{Name: "outcome.json", Data: []byte(outcome)})
	if err := os.WriteFile(tr.path(), txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

func allTranscripts(t testing.TB) []transcript {
	t.Helper()
	files, err := filepath.Glob("testdata/transcripts/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	var all []transcript
	for _, file := range files {
		cli, name := filepath.Base(filepath.Dir(file)), strings.TrimSuffix(filepath.Base(file), ".txtar")
		all = append(all, loadTranscript(t, cli, name))
	}
	return all
}

// end returns what the harness would have seen of the process: the recorder's time limit stands for
// the harness's own.
func (tr transcript) end() ended {
	e := ended{Result: process.Result{State: process.Exited, ExitCode: tr.ExitCode}, program: tr.cli, timeout: time.Minute}
	if strings.HasPrefix(tr.Ended, "timeout") {
		e.State = process.TimedOut
	}
	switch tr.ExitCode {
	case -2:
		e.ExitCode, e.Signal = 130, "interrupt"
	case -9:
		e.ExitCode, e.Signal = 137, "killed"
	case -15:
		e.ExitCode, e.Signal = 143, "terminated"
	}
	lines := strings.Split(strings.TrimSpace(string(tr.stderr)), "\n")
	e.complaint, e.stderr = promise.OneLine(lines[0], stream.SentenceSize), promise.OneLine(
		lines[len(lines)-1], stream.SentenceSize,
	)
	return e
}

// listen feeds output to a dialect's reader in pieces of the given size and returns the outcome.
func listen(name string, stdout []byte, piece int, e ended) ralph.AgentOutcome {
	outcome, _ := listenLive(name, stdout, piece, e)
	return outcome
}

func listenLive(name string, stdout []byte, piece int, e ended) (ralph.AgentOutcome, []ralph.Activity) {
	d, _ := Find(name)
	c := New(Options{Dialect: d, Now: func() time.Time { return testNow }})
	var live []ralph.Activity
	in := ralph.AgentInput{Prompt: "the prompt", Live: func(a ralph.Activity) { live = append(live, a) }}
	r := c.newReading(in)
	reader := d.newReader(r)
	r.Hear(in)
	e.StdoutBytes = int64(len(stdout))
	for rest := stdout; len(rest) > 0; {
		n := min(piece, len(rest))
		// a copy, because readers must not keep the slice
		_, _ = reader.Write(append([]byte(nil), rest[:n]...))
		rest = rest[n:]
	}
	reader.Close()
	return c.outcome(r, e), live
}

const whole = 1 << 30

// exited is an agent that exited by itself.
func exited(status int) ended {
	return ended{Result: process.Result{State: process.Exited, ExitCode: status}, program: "agent"}
}

func TestTranscripts(t *testing.T) {
	for _, tr := range allTranscripts(t) {
		t.Run(tr.cli+"/"+tr.name, func(t *testing.T) {
			got := listen(tr.cli, tr.stdout, 1000, tr.end())
			text, err := json.MarshalIndent(struct {
				Class ralph.ErrorClass `json:"class"`
				ralph.AgentOutcome
			}{got.Class(), got}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				tr.writeOutcome(t, string(text)+"\n")
				tr = loadTranscript(t, tr.cli, tr.name)
			}
			if diff := cmp.Diff(tr.outcome, string(text)+"\n"); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(got, listen(tr.cli, tr.stdout, whole, tr.end())); diff != "" {
				t.Errorf("in one piece it reads differently (-pieces +whole):\n%s", diff)
			}
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
