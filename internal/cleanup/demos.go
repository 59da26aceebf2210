package cleanup

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralphloop/ralph/internal/atomicfile"
	"github.com/ralphloop/ralph/internal/diskuse"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/runlog"
)

// DemoFolders is the prefix of every demo's folder name, in the system's temporary folder.
const DemoFolders = "ralph-demo-"

// demoAge is how long a demo stays, so that its run can still be explained.
const demoAge = time.Hour

// demoProject matches the path of a demo's workspace.
var demoProject = text.LazyRegexp(`[/\\]` + DemoFolders + `[0-9]+[/\\]project$`)

// Demos lists the folders of earlier demos, and the records of their runs.
func Demos(stateDir string, now time.Time) []Item {
	var items []Item
	found, _ := os.ReadDir(os.TempDir()) // a folder that cannot be read has no demos
	for _, entry := range found {
		dir := filepath.Join(os.TempDir(), entry.Name())
		if strings.HasPrefix(entry.Name(), DemoFolders) && isDemo(dir) && isOld(dir, now, demoAge) &&
			!isHeld(stateDir, filepath.Join(dir, "project")) {
			items = append(items, demo(dir, "a demo of "+Days(now.Sub(diskuse.Of(dir).Written))+" ago"))
		}
	}
	entries, _ := os.ReadDir(stateDir) // a missing folder is empty
	for _, entry := range entries {
		dir := filepath.Join(stateDir, entry.Name())
		note, err := os.ReadFile(filepath.Join(dir, "workspace"))
		project := strings.TrimSuffix(string(note), "\n")
		if atomicfile.IsTemp(entry.Name()) && isOld(dir, now, demoAge) {
			items = append(items, leftover(dir))
			continue
		}
		if err != nil || !demoProject().MatchString(project) {
			continue
		}
		_, gone := os.Lstat(project)
		if (gone != nil || isOld(filepath.Dir(project), now, demoAge)) && !isHeld(stateDir, project) {
			items = append(items, demo(dir, "the record of a demo"))
		}
	}
	return items
}

func demo(dir, why string) Item {
	return Item{
		Kind: Demo, Path: dir, Bytes: diskuse.Of(dir).Bytes, Removable: true, Why: why,
		remove: func(context.Context) error { return atomicfile.Remove(dir) },
	}
}

// isDemo reports whether a folder contains what a demo writes and nothing else.
func isDemo(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 2 &&
		entries[0].Name() == "agent" && entries[1].Name() == "project" && entries[1].IsDir()
}

func isHeld(stateDir, project string) bool {
	store, err := runlog.Open(stateDir, project)
	if err != nil {
		return true
	}
	_, held := store.Holder()
	return held
}
