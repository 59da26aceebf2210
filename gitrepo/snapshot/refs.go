package snapshot

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// ref is a branch, a tag, or another name for a commit.
type ref struct {
	name   string
	id     string
	target string // of a symbolic one
}

const refFormat = "--format=%(objectname) %(refname) %(symref)"

// parseRefs reads what git prints in refFormat.
func parseRefs(text string) []ref {
	var refs []ref
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(fields) == 3 {
			refs = append(refs, ref{id: fields[0], name: fields[1], target: fields[2]})
		}
	}
	return refs
}

// refReader reads the refs of a repository from the files that git stores them in, because asking git takes a process.
type refReader struct {
	packedAt scan.Stamp
	packed   map[string]ref
}

// read lists the refs, sorted by name. It asks git if they are stored in another way, if they are too many, or if
// anything is unusual.
func (r *refReader) read(ctx context.Context, h home, repo *gitrepo.Repo) ([]ref, error) {
	if refs, ok := r.fromFiles(h); ok {
		return refs, nil
	}
	out, err := repo.Ask(ctx, "for-each-ref", refFormat)
	if err != nil {
		return nil, fmt.Errorf("read refs: %w", err)
	}
	return parseRefs(out), nil
}

func (r *refReader) fromFiles(h home) (refs []ref, ok bool) {
	if _, err := os.Lstat(filepath.Join(h.Common, "reftable")); err == nil {
		return nil, false
	}
	if !r.readPacked(filepath.Join(h.Common, "packed-refs")) {
		return nil, false
	}
	found := maps.Clone(r.packed)
	if !addLoose(found, h.Common, "refs") {
		return nil, false
	}
	_, err := os.Lstat(filepath.Join(h.GitDir, "refs"))
	if err == nil && h.linked() && !addLoose(found, h.GitDir, "refs") {
		return nil, false
	}
	for _, one := range found {
		if one.target != "" {
			one.id = found[one.target].id
		}
		if one.id == "" { // what it names is missing, or symbolic too
			return nil, false
		}
		refs = append(refs, one)
	}
	slices.SortFunc(refs, func(a, b ref) int { return strings.Compare(a.name, b.name) })
	return refs, true
}

// readPacked reads the file of packed refs, unless it is as it was.
func (r *refReader) readPacked(path string) bool {
	const largest = 64 << 20
	now := scan.StampAt(path)
	if r.packed != nil && now == r.packedAt {
		return true
	}
	packed := map[string]ref{}
	if now != (scan.Stamp{}) {
		text, ok := scan.Read(path, largest)
		if !ok {
			return false
		}
		for line := range strings.Lines(string(text)) {
			id, name, both := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			switch {
			case strings.HasPrefix(line, "#"), strings.HasPrefix(line, "^"): // a comment, or what a tag names
			case !both || !manifest.ID().MatchString(id) || !isPlainRef(name):
				return false
			default:
				packed[name] = ref{name: name, id: id}
			}
		}
	}
	r.packed, r.packedAt = packed, now
	return true
}

// addLoose adds the refs that have a file of their own in a folder below dir.
func addLoose(found map[string]ref, dir, folder string) bool {
	const most = 2_000
	files := 0
	err := filepath.WalkDir(filepath.Join(dir, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		name = filepath.ToSlash(name)
		content, known := scan.ReadSmall(path)
		if files++; err != nil || files > most || !known || !isPlainRef(name) {
			return fs.ErrInvalid
		}
		text := strings.TrimSuffix(string(content), "\n")
		target, symbolic := strings.CutPrefix(text, "ref: ")
		switch {
		case symbolic && isPlainRef(target):
			found[name] = ref{name: name, target: target}
		case manifest.ID().MatchString(text):
			found[name] = ref{name: name, id: text}
		default:
			return fs.ErrInvalid
		}
		return nil
	})
	return err == nil
}

var plainRef = regexp.MustCompile(`^refs(/[A-Za-z0-9_+@#=-][A-Za-z0-9_.+@#=-]*)+$`)

// isPlainRef reports whether git certainly accepts a name.
func isPlainRef(name string) bool {
	return plainRef.MatchString(name) && !strings.Contains(name, "..") && !strings.Contains(name, "@{") &&
		!strings.Contains(name+"/", ".lock/") && !strings.Contains(name+"/", "./")
}

// headOf returns the content of HEAD. Where refs are not stored in files, it asks git.
func headOf(ctx context.Context, r *gitrepo.Repo) (string, error) {
	text, known := scan.ReadSmall(filepath.Join(r.GitDir, "HEAD"))
	head := strings.TrimSpace(string(text))
	if known && head != "" && head != "ref: refs/heads/.invalid" {
		return head, nil
	}
	if name, err := r.Ask(ctx, "symbolic-ref", "-q", "HEAD"); err == nil {
		return "ref: " + strings.TrimSpace(name), nil
	}
	id, err := r.Ask(ctx, "rev-parse", "--verify", "HEAD")
	return strings.TrimSpace(id), err
}

// headID returns the commit of HEAD, or "" if there is none.
func (r repository) headID() string {
	name, symbolic := strings.CutPrefix(r.head, "ref: ")
	if !symbolic {
		return r.head
	}
	if i := slices.IndexFunc(r.refs, func(one ref) bool { return one.name == name }); i >= 0 {
		return r.refs[i].id
	}
	return ""
}
