package tools

import (
	"os"
	"strings"
	"testing"
	"time"
)

// placeWithOutputs is a workspace whose long outputs are kept in a folder outside of it.
func placeWithOutputs(t *testing.T) (p place, folder string) {
	t.Helper()
	folder = t.TempDir()
	outputs, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { outputs.Close() })
	return placeIn(t, t.TempDir(), nil, Options{Outputs: outputs}), folder
}

// What does not fit in an answer is in a file that the model can read in parts and search, and that is not in the
// workspace. (real-agents: more than 8,000 characters of output)
func TestLongOutputIsKept(t *testing.T) {
	p, folder := placeWithOutputs(t)
	p.call("bash", fields{"command": "echo short"})
	got := p.call("bash", fields{"command": "seq 100000; exit 1"})
	const note = "[ralph-output/2.txt has all of the output; read_file and grep can read it]\n[exit code 1]\n"
	if !got.Failed || !got.Cut || !strings.HasPrefix(got.Text, "1\n2\n") ||
		!strings.HasSuffix(got.Text, "99999\n100000\n"+note) || len(got.Text) > bashLimit+10 {
		t.Errorf("got %d bytes, %s … %s", len(got.Text), got.Text[:20], got.Text[len(got.Text)-150:])
	}
	got = p.call("read_file", fields{"path": "ralph-output/2.txt", "offset": 50_000, "limit": 2})
	if got.Failed || !strings.Contains(got.Text, "50000\t50000\n") || !strings.Contains(got.Text, "50001\t50001\n") {
		t.Errorf("read %+v", got)
	}
	for _, path := range []string{"ralph-output/2.txt", "./ralph-output", "ralph-output/"} {
		got = p.call("grep", fields{"path": path, "pattern": "^7777$"})
		if got.Failed || !strings.Contains(got.Text, "ralph-output/2.txt:7777: 7777") {
			t.Errorf("found %+v in %s", got, path)
		}
	}
	for _, path := range []string{"ralph-output/1.txt", "ralph-output/3.txt", "ralph-output/../../x"} {
		if got = p.call("read_file", fields{"path": path}); !got.Failed {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if entries, err := os.ReadDir(p.dir); err != nil || len(entries) > 0 {
		t.Errorf("the workspace has %v (%v)", entries, err)
	}
	for range maxKept {
		p.call("bash", fields{"command": "seq 3000"})
	}
	entries, err := os.ReadDir(folder + "/" + outputFolder)
	if err != nil || len(entries) != maxKept {
		t.Errorf("%d outputs are kept (%v)", len(entries), err)
	}
}

// Of an output beyond the limit, the file has the beginning and the end.
func TestEndlessOutputIsLimited(t *testing.T) {
	p, folder := placeWithOutputs(t)
	got := p.call("bash", fields{"command": "head -c 20000000 /dev/zero | tr '\\0' 'x'; echo; echo last"})
	const note = "last\n[ralph-output/1.txt has the first and the last 4 MB of the output; read_file and grep can read " +
		"it]\n"
	if !strings.Contains(got.Text, note) {
		t.Errorf("got … %s", got.Text[max(0, len(got.Text)-300):])
	}
	info, err := os.Stat(folder + "/ralph-output/1.txt")
	if err != nil || info.Size() > keptLimit+1000 {
		t.Errorf("%v, %v", info, err)
	}
	if got = p.call("grep", fields{"path": "ralph-output", "pattern": "^last$"}); !strings.Contains(got.Text, "last") {
		t.Errorf("found %+v", got)
	}
}

// The user decides how long a command may take at most. (real-agents: commands over 600 s)
func TestLongestCommand(t *testing.T) {
	p := placeIn(t, t.TempDir(), nil, Options{MaxBashTimeout: 3 * time.Hour})
	got := p.call("bash", fields{"command": "echo done", "timeout_seconds": 10_800})
	if got.Text != "done\n[exit code 0]\n" {
		t.Errorf("got %+v", got)
	}
	if page := p.tools["bash"].Spec().Description; !strings.Contains(page, "at most 120 seconds") ||
		!strings.Contains(page, "up to 10800:") {
		t.Errorf("described as %q", page)
	}
	p = placeIn(t, t.TempDir(), nil, Options{MaxBashTimeout: time.Second})
	got = p.call("bash", fields{"command": "sleep 1000"})
	const want = "[the command did not finish within 1 seconds and was killed; this is its output until then]\n"
	if got.Text != want || !got.Failed {
		t.Errorf("got %+v", got)
	}
}
