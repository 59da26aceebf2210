package tools

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/text"
)

const (
	// fileLimit is the maximum number of files of a folder to look at.
	fileLimit = 200_000
	// listTimeout limits git; if it does not answer, the folder is walked.
	listTimeout = 20 * time.Second
	// hitLimit is the maximum number of hits of glob and grep, in at most resultLimit characters.
	hitLimit, resultLimit = 200, 50_000
)

// listing is the files below a folder, relative to it and sorted.
type listing struct {
	names []string
	cut   bool // there are more
}

// files lists a folder without files that git ignores. If git does not know the folder, or ignores
// all of it, everything except .git is listed. Links are listed but not followed.
func (w *workspace) files(ctx context.Context, folder string) (listing, error) {
	found, err := w.gitFiles(ctx, folder)
	if err != nil || len(found.names) == 0 {
		found = listing{}
		if err := w.walk(ctx, folder, "", &found); err != nil {
			return listing{}, err
		}
	}
	slices.Sort(found.names)
	found.names = slices.Compact(found.names)
	return found, ctx.Err()
}

func (w *workspace) gitFiles(ctx context.Context, folder string) (listing, error) {
	// A git program inside the workspace is not trusted: it could do anything.
	git, err := process.Locate("git", w.Env, func(path string) bool {
		_, err := w.inside(path)
		return err == nil
	})
	if err != nil {
		return listing{}, err
	}
	var names nameSplitter
	// Git would start the file monitor that the project's settings name.
	spec := w.spec(
		folder, git, "-c", "core.fsmonitor=false", "ls-files", "--cached", "--others", "--exclude-standard", "-z",
	)
	spec.Env = append(slices.Clip(spec.Env), "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0")
	spec.Stdout, spec.Timeout = process.Sink{Tap: &names}, listTimeout
	ended, err := process.Run(ctx, w.entered(spec))
	if err != nil {
		return listing{}, err
	}
	if ended.State != process.Exited || ended.ExitCode != 0 {
		return listing{}, errors.New("git does not know the folder")
	}
	return w.present(ctx, folder, names.listing)
}

// present drops files that are only in the index, and looks into nested repositories, which git
// lists as folders.
func (w *workspace) present(ctx context.Context, folder string, known listing) (listing, error) {
	found := listing{cut: known.cut}
	for _, name := range known.names {
		info, err := w.Root.Lstat(filepath.Join(folder, filepath.FromSlash(name)))
		switch {
		case err != nil:
		case info.IsDir():
			if err := w.walk(ctx, folder, strings.TrimSuffix(name, "/"), &found); err != nil {
				return listing{}, err
			}
		default:
			found.add(name)
		}
	}
	return found, ctx.Err()
}

// walk lists what is below a name in a folder.
func (w *workspace) walk(ctx context.Context, folder, name string, found *listing) error {
	base := filepath.ToSlash(folder)
	start := path.Join(base, name)
	return fs.WalkDir(w.Root.FS(), start, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && at == start:
			return reason(err)
		case err != nil:
			return nil // skip a folder that cannot be read
		case entry.Name() == ".git" && at != start:
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		if base != "." {
			at = strings.TrimPrefix(at, base+"/")
		}
		if !found.add(at) {
			return fs.SkipAll
		}
		return nil
	})
}

func (l *listing) add(name string) bool {
	if len(l.names) >= fileLimit {
		l.cut = true
		return false
	}
	l.names = append(l.names, name)
	return true
}

// nameSplitter splits names that end with NUL.
type nameSplitter struct {
	listing
	rest []byte
}

func (s *nameSplitter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, 0)
		if i < 0 {
			s.rest = append(s.rest, p...)
			return n, nil
		}
		s.add(string(append(s.rest, p[:i]...)))
		s.rest = s.rest[:0]
		p = p[i+1:]
	}
}

// folder returns the folder in which a search begins; default: the workspace. If the path leads to
// a file, file is its name.
func (w *workspace) folder(path string) (folder, file string, err error) {
	path = cmp.Or(path, ".")
	name, err := w.find(path)
	if err != nil {
		return "", "", err
	}
	info, err := w.Root.Lstat(name)
	switch {
	case err != nil:
		return "", "", &missing{path}
	case info.IsDir():
		return name, "", nil
	}
	return filepath.Dir(name), filepath.Base(name), nil
}

// shown returns the name of a file for the model, relative to the workspace.
func shown(folder, name string) string {
	return path.Join(filepath.ToSlash(folder), name)
}

// hits gathers what a search found.
type hits struct {
	sum  sum
	more int // hits that did not fit
}

func newHits() *hits { return &hits{sum: sum{left: resultLimit - noteRoom}} }

// add adds a hit, or counts it if it does not fit.
func (h *hits) add(line string) {
	if h.sum.lines == hitLimit || h.more > 0 || !h.sum.add(line) {
		h.more++
	}
}

func (h *hits) full() bool { return h.more > 0 }

// output also says what is missing.
func (h *hits) output(nothing, more string, files listing) Output {
	shown, cut := h.sum.text.String(), h.more > 0
	if h.sum.lines == 0 && h.more == 0 {
		shown = nothing + "\n"
	}
	if cut {
		shown += "[" + more + "]\n"
	}
	if files.cut {
		shown += "[only the first " + text.Count(fileLimit, "file") + " were searched; name a folder in path]\n"
	}
	return Output{Text: shown, Cut: cut || files.cut}
}
