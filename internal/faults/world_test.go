//go:build linux && amd64

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience is how long one command may take.
const patience = 5 * time.Minute

// world is a scratch project with its user: a home, a state folder, and an agent that follows a script.
type world struct {
	s     scenario
	ralph string
	dir   string
}

func (w *world) project() string { return filepath.Join(w.dir, "project") }
func (w *world) state() string   { return filepath.Join(w.dir, "state") }

func (w *world) environ() []string {
	return []string{
		"HOME=" + filepath.Join(w.dir, "home"), "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TZ=UTC", "SHELL=/bin/sh",
		"TMPDIR=" + filepath.Join(w.dir, "tmp"), "RALPH_STATE_DIR=" + w.state(), "GIT_CONFIG_NOSYSTEM=1",
		"RALPH_SANDBOX__MODE=none", "RALPH_AGENT__ENV=*",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
}

// ended is a program that has ended.
type ended struct {
	code           int // -1 after a signal or a timeout
	stdout, stderr string
}

func (e ended) output() string { return e.stdout + e.stderr }

// start runs a program to its end.
func (w *world) start(dir string, argv ...string) ended {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, w.environ(), &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		fmt.Fprintln(&stderr, err)
		return ended{-1, stdout.String(), stderr.String()}
	}
	return ended{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func (w *world) command(args ...string) ended {
	return w.start(w.project(), append([]string{w.ralph}, args...)...)
}

// traced runs `ralph run` with a fault at a call, or without one.
func (w *world) traced(f fault, at string) (traced, ended, error) {
	var files [2]*os.File
	for i, name := range []string{"stdout", "stderr"} {
		file, err := os.Create(filepath.Join(w.dir, outputFolder, name))
		if err != nil {
			return traced{}, ended{}, err
		}
		defer file.Close()
		files[i] = file
	}
	run, err := trace(order{
		Argv: append([]string{w.ralph}, w.arguments()...), Env: w.environ(), Dir: w.project(), World: w.dir,
		Fault: f, At: at, Limit: patience, out: files[0], error: files[1],
	})
	stdout, _ := os.ReadFile(files[0].Name())
	stderr, _ := os.ReadFile(files[1].Name())
	return run, ended{run.Code, string(stdout), string(stderr)}, err
}

// result is the part of a result that matters here.
type result struct {
	RunID      string `json:"run_id"`
	Status     string `json:"status"`
	StopReason string `json:"stop_reason"`
	ExitCode   *int   `json:"exit_code"`
	Verified   bool   `json:"verified"`
	Reason     string `json:"reason"`
	Worktree   string `json:"worktree_path"`
	Tasks      struct{ Done, Open int }
	Iterations []struct {
		Counted  bool     `json:"counted"`
		Refusals []string `json:"refusals"`
	} `json:"iterations"`
}

// refusals returns the refusals of each iteration that was judged.
func (r result) refusals() [][]string {
	all := [][]string{}
	for _, iteration := range r.Iterations {
		if iteration.Counted {
			all = append(all, append([]string{}, iteration.Refusals...))
		}
	}
	return all
}

func readResult(text string) (result, error) {
	var r result
	err := json.Unmarshal([]byte(text), &r)
	return r, err
}

// runs returns the run folders, oldest first.
func (w *world) runs() []string {
	folders, _ := filepath.Glob(filepath.Join(w.state(), "*", "runs", "*"))
	return folders
}

// ageLocks makes locks older than a lock of a living process, as if the user came back later.
func (w *world) ageLocks() {
	old := time.Now().Add(-time.Hour)
	_ = filepath.WalkDir(filepath.Join(w.project(), ".git"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".lock") {
			return os.Chtimes(path, old, old)
		}
		return err
	})
}

// notice is a notice or a warning of a run.
type notice struct{ Code, Text string }

// notices returns the notices and warnings of the newest run.
func (w *world) notices() []notice {
	folders := w.runs()
	if len(folders) == 0 {
		return nil
	}
	text, _ := os.ReadFile(filepath.Join(folders[len(folders)-1], "events.jsonl"))
	var found []notice
	for line := range bytes.Lines(text) {
		var event struct {
			Type string
			Data notice
		}
		if json.Unmarshal(line, &event) == nil && (event.Type == "notice" || event.Type == "warning") {
			found = append(found, event.Data)
		}
	}
	return found
}

// files returns the files of a folder with their content and mode, without git's.
func files(dir string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == ".git" {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		name, _ := filepath.Rel(dir, path)
		info, err := entry.Info()
		if err != nil || entry.IsDir() {
			all[name] = "folder"
			return err
		}
		text, err := os.ReadFile(path)
		all[name] = info.Mode().String() + " " + string(text)
		return err
	})
	return all, err
}

// processes returns the processes that belong to this world.
func (w *world) processes() map[int]string {
	found := map[int]string{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if strings.Contains(string(environ), w.dir+"/") {
			line, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
			found[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return found
}

// remove kills what is left of this world and deletes it.
func (w *world) remove() error {
	for pid := range w.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return os.RemoveAll(w.dir)
}
