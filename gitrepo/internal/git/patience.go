package git

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/textfile"
)

const (
	pipesAfter = time.Second // a call that takes this long may wait for a pipe
	pipesAgain = 20 * time.Millisecond
	slowAfter  = 5 * time.Second // then the user is told
)

// watch looks after a call until the returned function is called: it ends pipes that git waits for,
// and reports a call that takes long.
func (g Program) watch(what, tree string) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		g.lookAfter(done, what, tree)
	}()
	return func() {
		close(done)
		<-ended
	}
}

// pipes are those that earlier calls waited for.
type pipes struct {
	mu    sync.Mutex
	known map[string][]string // by working tree
}

func (p *pipes) of(tree string) []string {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[tree]
}

func (p *pipes) keep(tree string, found []string) {
	if p == nil || len(found) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[string][]string{}
	}
	p.known[tree] = found
}

func (g Program) lookAfter(done <-chan struct{}, what, tree string) {
	found, looked := g.pipes.of(tree), false
	wait := pipesAfter
	if len(found) > 0 {
		wait = pipesAgain
	}
	begin := time.Now()
	pipes, slow := time.NewTimer(wait), time.NewTimer(slowAfter)
	defer pipes.Stop()
	defer slow.Stop()
	for {
		select {
		case <-done:
			return
		case <-slow.C:
			if g.Slow != nil {
				g.Slow(fmt.Sprintf("git %s takes longer than %s in %s", what, slowAfter, tree))
			}
		case <-pipes.C:
			if !looked && time.Since(begin) >= pipesAfter {
				found, looked = findPipes(done, tree), true
				g.pipes.keep(tree, found)
			}
			for _, name := range found {
				endPipe(name)
			}
			if len(found) > 0 { // git may open the next one, or the same again
				pipes.Reset(pipesAgain)
			}
		}
	}
}

// treeOf returns the working tree of a call.
func treeOf(spec process.Spec) string {
	for _, entry := range slices.Backward(spec.Env) {
		if tree, ok := strings.CutPrefix(entry, "GIT_WORK_TREE="); ok {
			return tree
		}
	}
	return workingTree(spec.Dir)
}

// findPipes returns the pipes below top under names that git opens to read them.
func findPipes(done <-chan struct{}, top string) []string {
	var found []string
	_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		select {
		case <-done:
			return fs.SkipAll
		default:
		}
		switch {
		case err != nil:
			return nil
		case entry.IsDir() && entry.Name() == "objects" && filepath.Base(filepath.Dir(path)) == ".git":
			return fs.SkipDir
		case entry.Type()&fs.ModeNamedPipe != 0 && isGitName(path):
			found = append(found, path)
		}
		return nil
	})
	return found
}

// isGitName reports whether git reads a file of this name: its own files in a working tree, and
// everything in its folder.
func isGitName(path string) bool {
	name := filepath.Base(path)
	inFolder := string(filepath.Separator) + ".git" + string(filepath.Separator)
	return strings.HasPrefix(name, ".git") || name == ".mailmap" || strings.Contains(path, inFolder)
}

// endPipe ends a pipe for the process that waits to read from it, which then finds it empty. Without
// such a process it does nothing.
func endPipe(path string) {
	file, err := os.OpenFile(path, os.O_WRONLY|textfile.NonBlocking, 0)
	if err != nil {
		return
	}
	_ = file.Close()
}
