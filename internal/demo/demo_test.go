package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// checkSample runs the sample's own check and returns its exit status.
func checkSample(t *testing.T) int {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	err = exec.Command(sh, "-c", Check).Run()
	var status *exec.ExitError
	if errors.As(err, &status) {
		return status.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0
}

// heard is the result of one iteration of the scripted agent.
type heard struct {
	Tools []string
	Claim string
	Green bool // whether the check passes afterwards
}

// play runs one iteration in the current folder.
func play(t *testing.T, s Scenario) heard {
	t.Helper()
	var out bytes.Buffer
	if err := Play(s, strings.NewReader("the prompt"), &out, 0); err != nil {
		t.Fatal(err)
	}
	var h heard
	said := promise.NewScanner(promise.Options{})
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for _, line := range lines {
		var event struct {
			Type    string
			Message struct {
				Content []struct{ Type, Text, Name string }
			}
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		for _, block := range event.Message.Content {
			if block.Type == "tool_use" {
				h.Tools = append(h.Tools, block.Name)
			}
			said.WriteString(block.Text + "\n")
			said.EndMessage()
		}
	}
	if first, last := lines[0], lines[len(lines)-1]; !strings.Contains(first, `"init"`) ||
		!strings.Contains(last, `"result"`) {
		t.Errorf("the stream begins with %s and ends with %s", first, last)
	}
	switch report := said.Report(); {
	case report.Complete:
		h.Claim = "COMPLETE"
	case report.Blocked != nil:
		h.Claim = "BLOCKED:" + *report.Blocked
	case report.Decide != nil:
		h.Claim = "DECIDE:" + *report.Decide
	}
	h.Green = checkSample(t) == 0
	return h
}

func TestScenariosWorkOnTheSample(t *testing.T) {
	read, edit := []string{"Read"}, []string{"Read", "Edit"}
	want := map[string][]heard{
		// The point of the product: the first claim is refused by the check.
		"complete": {{edit, "COMPLETE", false}, {edit, "", false}, {edit, "COMPLETE", true}},
		"blocked": {{edit, "", false},
			{read, "BLOCKED:Missing credentials for the server that lists reserved slugs", false}},
		"decide":  {{edit, "", false}, {read, `DECIDE:Should "Café" become cafe or café?`, false}},
		"stalled": {{read, "", false}, {read, "", false}, {read, "", false}, {read, "", false}},
		"budget":  {{edit, "", false}, {edit, "", false}, {edit, "", false}},
	}
	got := map[string][]heard{}
	for _, s := range Scenarios() {
		t.Chdir(t.TempDir())
		if err := WriteProject("."); err != nil {
			t.Fatal(err)
		}
		if checkSample(t) == 0 {
			t.Error("the sample is green before anybody worked on it")
		}
		for range want[s.Name] {
			got[s.Name] = append(got[s.Name], play(t, s))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scenarios (-want +got):\n%s", diff)
	}
}

func TestScenariosNameRealExitCodes(t *testing.T) {
	codes := map[int]bool{}
	for _, kind := range ralph.Outcomes() {
		codes[kind.Code] = true
	}
	for _, s := range Scenarios() {
		found, ok := Find(s.Name)
		if !ok || found.About != s.About || !codes[s.ExitCode] || s.About == "" {
			t.Errorf("scenario %+v", s)
		}
	}
	if _, ok := Find("none"); ok {
		t.Error("a scenario that does not exist was found")
	}
}

// broken fails after some bytes.
type broken struct{ left int }

func (b *broken) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("closed")
	}
	return len(p), nil
}

func TestPlayTellsWhatWentWrong(t *testing.T) {
	t.Chdir(t.TempDir())
	s, _ := Find("complete")
	if err := Play(s, strings.NewReader(""), &bytes.Buffer{},
		0); err == nil || !strings.HasPrefix(err.Error(), "read project: ") {
		t.Errorf("without a project: %v", err)
	}
	if err := WriteProject("."); err != nil {
		t.Fatal(err)
	}
	if err := Play(s, strings.NewReader(""), &broken{left: 100}, 0); err == nil || err.Error() != "closed" {
		t.Errorf("with an output that breaks: %v", err)
	}
	if err := WriteProject("no/such/folder"); err == nil || !strings.HasPrefix(err.Error(), "write sample: ") {
		t.Errorf("into no folder: %v", err)
	}
}
