package cli_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	tokenVariable = "CANARY_TOKEN"
	canaryToken   = `ct/7Qm+4?7Lz="Yw<9`
	canaryPass    = "p4ss/phrase+of=file"
)

// encodings returns a secret in every form in which programs print it.
func encodings(secret string) []string {
	quoted, err := json.Marshal(secret)
	if err != nil {
		panic(err)
	}
	all := []string{
		secret, string(quoted[1 : len(quoted)-1]), strings.ReplaceAll(secret, `"`, `\"`), url.QueryEscape(secret),
		url.PathEscape(secret), hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))),
	}
	for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		for before := range 3 {
			all = append(all, alphabet.EncodeToString([]byte("xyz"[:before]+secret)))
		}
	}
	return all
}

// traces returns what must not appear anywhere: base64 without what depends on the bytes around the secret, all else as
// it is.
func traces(secret string) []string {
	all := encodings(secret)
	for i, text := range all[len(all)-6:] {
		all[len(all)-6+i] = text[4 : len(text)-4]
	}
	return all
}

// leak prints the secrets of a test in every encoding, some of them in two writes.
func leak() {
	for _, secret := range []string{os.Getenv(tokenVariable), canaryPass} {
		for _, text := range encodings(secret) {
			for _, out := range []*os.File{os.Stdout, os.Stderr} {
				fmt.Fprint(out, "leak ", text[:len(text)/2])
			}
			time.Sleep(time.Millisecond)
			for _, out := range []*os.File{os.Stdout, os.Stderr} {
				fmt.Fprintln(out, text[len(text)/2:])
			}
		}
		fmt.Printf("<ralph-learning>the secret is %s</ralph-learning>\n", secret)
	}
}

const leakingWorker = `{"s": {"conversations": [[
  {"tools": [{"shell": "leak"}, {"shell": "leak >leaked"}]},
  {"tools": [{"name": "read_file", "input": {"path": "leaked"}}, {"name": "grep", "input": {"pattern": "leak"}}]},
  {"tools": [{"shell": "rm leaked; touch seen"}]},
  {"tools": [{"name": "submit_case", "input": {
    "summary": "seen",
    "ac_coverage": [{"criterion": "it is seen", "addressed_by": "seen:1"}]
  }}]}
]]}}`

// TestNoSecretLeavesTheProcess runs agents and checks that print a secret variable and a secret file in every
// encoding. Nothing that the run writes, prints or sends has them.
func TestNoSecretLeavesTheProcess(t *testing.T) {
	bodies, base := recordingModel(t, leakingWorker)
	for name, args := range map[string][]string{
		"command": {"--agent-cmd", "cat; leak; touch seen; echo '<promise>COMPLETE</promise>'"},
		"worker": {"--agent", "worker", "--model", "gpt-5", "--set", "worker.provider=openai",
			"--set", "worker.base_url=" + base + "/s/v1"},
	} {
		t.Run(name, func(t *testing.T) {
			work, state, home := t.TempDir(), t.TempDir(), t.TempDir()
			if out, err := exec.Command("git", "init", "-q", work).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			file := filepath.Join(t.TempDir(), ".env")
			if err := os.WriteFile(file, []byte("DB_PASS="+canaryPass+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			env := []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + home, "RALPH_STATE_DIR=" + state, "GORACE=" + raceOptions,
				"OPENAI_API_KEY=sk-0123456789abcdef", tokenVariable + "=" + canaryToken,
			}
			ralph := func(args ...string) []byte {
				cmd := exec.Command("ralph", args...)
				cmd.Dir, cmd.Env = work, env
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("ralph %s: %v\n%s", args, err, out)
				}
				return out
			}
			texts := [][]byte{ralph(append([]string{
				"run", "print " + canaryToken, "--check", "leak; echo '" + canaryToken + "'; test -f seen",
				"--set", "agent.env=" + tokenVariable, "--set", "secrets.files=" + file, "--set", "hooks.post_iteration=leak",
				"--set", "hooks.on_stop=cat >>" + filepath.Join(home, "hooks"),
			}, args...)...)}
			for _, command := range []string{"status", "logs", "explain", "report", "config show"} {
				texts = append(texts, ralph(strings.Fields(command)...))
			}
			texts = append(texts, bodies()...)
			checkPrivate(t, state)
			for _, folder := range []string{state, home, filepath.Join(work, ".ralph")} {
				texts = append(texts, filesBelow(t, folder)...)
			}
			for _, secret := range []string{canaryToken, canaryPass} {
				for _, form := range traces(secret) {
					for _, text := range texts {
						if at := bytes.Index(text, []byte(form)); at >= 0 {
							t.Errorf("%s is in %q", form, text[max(0, at-100):min(len(text), at+len(form)+50)])
						}
					}
				}
			}
			if all := bytes.Join(texts, nil); !bytes.Contains(all, []byte("leak [masked:"+tokenVariable+"]")) ||
				!bytes.Contains(all, []byte("[masked:.env:1]")) {
				t.Error("the secrets were not printed at all")
			}
		})
	}
}

// checkPrivate checks that only the user can read what is below a folder.
func checkPrivate(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// filesBelow returns the content of the files below a folder, apart from copies of the tree.
func filesBelow(t *testing.T, folder string) (texts [][]byte) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "snapshots.git" {
			return filepath.SkipDir
		}
		if entry.Type().IsRegular() {
			text, err := os.ReadFile(path)
			texts = append(texts, text)
			return err
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return texts
}
