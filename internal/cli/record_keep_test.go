package cli_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// recordedDir holds the recordings and what the program printed about them.
const recordedDir = "testdata/recorded"

// recordedTrees are the scripts whose snapshots are kept as well, for ralph diff.
var recordedTrees = []string{
	"tasks_failed_work_is_set_aside", "worker_three_tasks", "worktree_resume", "tasks_given_up",
}

// loggedRun is the log of one run that a script left behind.
type loggedRun struct {
	script, workspace, state, dir, run string
	size                               int
	features                           map[string]bool
}

// keepRecordings packs what the scripts left behind, one archive per script.
func keepRecordings(t *testing.T, at string, scripts []string) {
	t.Helper()
	var all []loggedRun
	for _, script := range scripts {
		all = append(all, findLoggedRuns(t, filepath.Join(at, "script-"+script), script)...)
	}
	chosen := chooseRuns(all)
	t.Logf("%d of %d runs are to be read in full", len(chosen), len(all))
	for _, script := range scripts {
		files := map[string][]byte{}
		work := filepath.Join(at, "script-"+script)
		for _, workspace := range workspacesOf(t, work, all, script) {
			packWorkspace(t, files, workspace, chosen)
		}
		addFiles(t, files, "home", filepath.Join(work,
			"home"), func(name string) bool { return name == ".config/ralph/config.yaml" })
		if len(files) > 0 {
			writeArchive(t, filepath.Join(recordedDir, script+".tar.gz"), files)
		}
	}
}

// findLoggedRuns finds the runs below a script's folder, oldest first.
func findLoggedRuns(t *testing.T, work, script string) []loggedRun {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(work, "state", "*", "runs", "*", "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var found []loggedRun
	for _, log := range logs {
		dir := filepath.Dir(log)
		state := filepath.Dir(filepath.Dir(dir))
		note, err := os.ReadFile(filepath.Join(state, "workspace"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, loggedRun{
			script: script, workspace: strings.TrimSpace(string(note)), state: state, dir: dir, run: filepath.Base(dir),
			size: len(text), features: featuresOf(text),
		})
	}
	slices.SortFunc(found, func(a, b loggedRun) int { return strings.Compare(a.run, b.run) })
	return found
}

// minNewFeatures is how many features a run must have that no other run has, to be read in full.
const minNewFeatures = 3

// chooseRuns selects few and short runs that together have nearly every feature of all runs, and at
// least one of every script.
func chooseRuns(all []loggedRun) map[string]bool {
	missing, chosen, scripts := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range all {
		for f := range r.features {
			missing[f] = true
		}
	}
	take := func(r loggedRun) {
		chosen[r.run], scripts[r.script] = true, true
		for f := range r.features {
			delete(missing, f)
		}
	}
	for {
		best, worth := loggedRun{}, 0.0
		for _, r := range all {
			fresh := 0
			for f := range r.features {
				if missing[f] {
					fresh++
				}
			}
			if w := float64(fresh) / float64(4000+r.size); fresh >= minNewFeatures && w > worth {
				best, worth = r, w
			}
		}
		if worth == 0 {
			break
		}
		take(best)
	}
	for _, r := range all {
		if !scripts[r.script] {
			take(r)
		}
	}
	return chosen
}

var isWord = regexp.MustCompile(`^[a-z_:]{1,40}$`)

// featuresOf returns the features of a log: the fields of its events, the words in them, and the
// event that it ends with.
func featuresOf(log []byte) map[string]bool {
	features := map[string]bool{}
	before := ""
	for line := range bytes.Lines(log) {
		var event struct {
			Type string
			Data any
		}
		if json.Unmarshal(line, &event) != nil {
			features["not an event"] = true
			continue
		}
		before = event.Type
		addFeatures(features, event.Type, event.Data)
	}
	features["ends with "+before] = true
	return features
}

func addFeatures(features map[string]bool, at string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			addFeatures(features, at+"."+name, inner)
		}
	case []any:
		features[fmt.Sprintf("%s has %d", at, min(len(v), 2))] = true
		for _, inner := range v {
			addFeatures(features, at+"[]", inner)
		}
	case string:
		if !isWord.MatchString(v) {
			v = fmt.Sprint("text ", v != "")
		}
		features[at+" is "+v] = true
	case float64:
		if !strings.HasSuffix(at, ".row") {
			features[fmt.Sprint(at, " is zero ", v == 0)] = true
			return
		}
		features[fmt.Sprint(at, " is ", v)] = true
	default:
		features[fmt.Sprint(at, " is ", v)] = true
	}
}

// recordedWorkspace is a folder that a script worked in.
type recordedWorkspace struct {
	name, dir string
	script    string
	runs      []loggedRun
}

// workspacesOf lists the folders in which a script ran ralph, and those that hold a configuration,
// each under a unique name.
func workspacesOf(t *testing.T, work string, all []loggedRun, script string) []recordedWorkspace {
	t.Helper()
	var found []recordedWorkspace
	add := func(dir string) *recordedWorkspace {
		for i := range found {
			if found[i].dir == dir {
				return &found[i]
			}
		}
		name := filepath.Base(dir)
		for n := 2; slices.ContainsFunc(found, func(w recordedWorkspace) bool { return w.name == name }); n++ {
			name = fmt.Sprintf("%s-%d", filepath.Base(dir), n)
		}
		found = append(found, recordedWorkspace{name: name, dir: dir, script: script})
		return &found[len(found)-1]
	}
	for _, r := range all {
		if r.script == script {
			w := add(r.workspace)
			w.runs = append(w.runs, r)
		}
	}
	configs, err := filepath.Glob(filepath.Join(work, "*", ".ralph", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range configs {
		add(filepath.Dir(filepath.Dir(config)))
	}
	return found
}

// packWorkspace adds what the reading commands read: configuration and task lists of the workspace,
// and the state of its runs. Runs that were not chosen are marked: reading them briefly is enough.
func packWorkspace(t *testing.T, files map[string][]byte, w recordedWorkspace, chosen map[string]bool) {
	t.Helper()
	addFiles(t, files, path.Join(w.name, "workspace"), w.dir, func(name string) bool {
		if strings.HasPrefix(name, ".ralph/") || strings.HasPrefix(name, ".agent/") {
			return path.Base(name) != "progress.md" && path.Base(name) != ".gitignore"
		}
		return !strings.Contains(name, "/") && slices.Contains([]string{".md", ".json", ".mod"}, path.Ext(name))
	})
	for _, r := range w.runs {
		if !chosen[r.run] {
			files[path.Join(w.name, "brief", r.run)] = nil
		}
		addFiles(t, files, path.Join(w.name, "state/runs", r.run), r.dir, func(name string) bool {
			return name == "events.jsonl" || name == "result.json" || strings.HasPrefix(name, "ledger/")
		})
		if slices.Contains(recordedTrees, w.script) {
			addFiles(t, files, path.Join(w.name, "state"), r.state, func(name string) bool {
				return strings.HasPrefix(name, "snapshots.git/") ||
					strings.HasPrefix(name, "worktrees/") && strings.Contains(name, ".snapshots.git/")
			})
		}
	}
}

// addFiles adds the files below a folder that the filter selects.
func addFiles(t *testing.T, files map[string][]byte, under, dir string, wanted func(name string) bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && entry.Name() == ".git" && file != dir {
			return skipMissing(err)
		}
		name, err := filepath.Rel(dir, file)
		if err != nil || !entry.Type().IsRegular() || !wanted(filepath.ToSlash(name)) {
			return err
		}
		files[path.Join(under, filepath.ToSlash(name))], err = os.ReadFile(file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func skipMissing(err error) error {
	if err == nil || os.IsNotExist(err) {
		return fs.SkipDir
	}
	return err
}

// writeArchive packs files so that the same files always give the same bytes.
func writeArchive(t *testing.T, file string, files map[string][]byte) {
	t.Helper()
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(zip)
	for _, name := range sortedKeys(files) {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
