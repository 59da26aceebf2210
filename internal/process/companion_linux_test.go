package process

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func init() { roles["accompanied"] = accompanied }

// accompanied is a harness with a companion. It runs a command that leaves a daemon behind, says what it saw,
// and stays until its input ends; then it stops the companion and stays until it is killed.
func accompanied(args []string) int {
	tag, up := args[0], args[1]
	if err := OwnOrphans(); err != nil {
		return 1
	}
	began := time.Now()
	stop, err := Accompany(Shell("echo >"+up+"; read -r end # "+tag), os.Environ())
	took := time.Since(began)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for {
		if _, err := os.Lstat(up); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	report := companionReport{Took: took, Childless: childless()}
	daemon := play("detach-bare", play("linger", "of the tree")...)
	result, err := runEither(testContext(), Spec{Argv: daemon, Env: os.Environ()})
	if err != nil {
		return 1
	}
	report.Survivors = result.Survivors
	if _, err := Accompany(Shell("true"), nil); err != nil {
		return 1
	}
	if json.NewEncoder(os.Stdout).Encode(report) != nil {
		return 1
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	stop()
	time.Sleep(time.Hour)
	return 0
}

type companionReport struct {
	Took      time.Duration
	Childless bool // as if there were no companion
	Survivors int  // of the tree
}

func TestACompanionEndsWithItsHarness(t *testing.T) {
	for _, how := range []string{"stopped", "killed"} {
		t.Run(how, func(t *testing.T) {
			tag := newTag()
			argv := play("accompanied", tag, filepath.Join(t.TempDir(), "up"))
			harness := exec.Command(argv[0], argv[1:]...)
			input, err := harness.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			output, err := harness.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			harness.Stderr = os.Stderr
			if err := harness.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = harness.Process.Kill(), harness.Wait() }()
			var report companionReport
			if err := json.NewDecoder(output).Decode(&report); err != nil {
				t.Fatal(err)
			}
			t.Logf("it took %s", report.Took)
			if !report.Childless || report.Survivors != 1 {
				t.Errorf("got %+v; want no other children, and the daemon of the tree", report)
			}
			companion := func() bool {
				for _, bearer := range bearers(t, tag) {
					if strings.Contains(bearer, "read -r end") {
						return true
					}
				}
				return false
			}
			if !companion() {
				t.Fatal("the companion did not survive the end of a tree")
			}
			if how == "killed" {
				err = harness.Process.Kill()
			} else {
				err = input.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "the companion ends", func() bool { return !companion() })
		})
	}
}
