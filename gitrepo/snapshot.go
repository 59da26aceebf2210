package gitrepo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph"
)

// ErrNoSnapshot says that there is no snapshot of that name, or none at all.
var ErrNoSnapshot = errors.New("there is no such snapshot")

// Snapshots is a git folder of the harness's own that holds copies of one workspace. A
// snapshot is named by the id of a commit in it. Reading them needs neither the workspace
// nor its repository.
//
// Nothing that the repository, the user or the system has configured counts there: no
// hook, filter, attribute or conversion. Files are kept byte by byte.
type Snapshots struct {
	dir  string
	git  Git
	home home

	listings listings
}

var _ ralph.Copies = (*Snapshots)(nil)

// home is whose copies these are, as the file homeFile in the folder tells.
type home struct {
	Top      string `json:"top"`
	Prefix   string `json:"prefix"`
	GitDir   string `json:"git_dir"`
	Common   string `json:"common_dir"`
	Format   string `json:"object_format"`
	DotGit   string `json:"dot_git,omitempty"` // what .git says where it is a file
	Excludes string `json:"excludes,omitempty"`
}

// workspace is the folder that the copies are of.
func (h home) workspace() string { return filepath.Join(h.Top, filepath.FromSlash(h.Prefix)) }

// linked reports whether the working tree shares its refs with another one.
func (h home) linked() bool { return h.Common != h.GitDir }

const (
	homeFile = "workspace.json"
	// history is the folder of the repository's own objects, apart from those that
	// snapshots are made of.
	history = "history"
	// snapshotTimeout bounds one git call on the snapshots: the first one reads every file.
	snapshotTimeout = 10 * time.Minute
)

// OpenSnapshots opens the snapshots in a folder that [Repo.Keep] has made. An error that
// wraps ErrNoSnapshot says that there are none.
func OpenSnapshots(git Git, gitDir string) (*Snapshots, error) {
	text, err := os.ReadFile(filepath.Join(gitDir, homeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open snapshots in %s: %w", gitDir, ErrNoSnapshot)
	}
	s := &Snapshots{dir: gitDir}
	if err == nil {
		err = json.Unmarshal(text, &s.home)
	}
	if err != nil {
		return nil, fmt.Errorf("open snapshots in %s: %w", gitDir, err)
	}
	if s.git, err = git.located(existing(s.home.Top)); err != nil {
		return nil, fmt.Errorf("open snapshots: %w", err)
	}
	if s.git.Timeout == 0 {
		s.git.Timeout = snapshotTimeout
	}
	return s, nil
}

// existing is the folder itself or the nearest one above that is there.
func existing(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// make lays the folder out, or brings one that is there up to date.
func (s *Snapshots) make() error {
	for _, folder := range []string{"", "objects/info", "objects/pack", "refs", "info", history + "/pack", "tmp"} {
		if err := os.MkdirAll(filepath.Join(s.dir, filepath.FromSlash(folder)), 0o700); err != nil {
			return err
		}
	}
	about, err := json.MarshalIndent(s.home, "", "  ")
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name string
		text []byte
	}{
		{"config", []byte(s.configuration())},
		{"info/attributes", []byte(exactBytes)},
		{"objects/info/alternates", []byte("../" + history + "\n")},
		{homeFile, append(about, '\n')},
	} {
		if err := s.write(file.name, file.text); err != nil {
			return err
		}
	}
	if text, err := os.ReadFile(s.path("HEAD")); err == nil && len(bytes.TrimSpace(text)) > 0 {
		return nil
	}
	return s.write("HEAD", []byte("ref: refs/ralph/none\n"))
}

func (s *Snapshots) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// write replaces a file of the folder, if it says something else.
func (s *Snapshots) write(name string, text []byte) error {
	path := s.path(name)
	if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, text) {
		return nil
	}
	return replaceFile(path, text, 0o600)
}

// replaceFile writes a file so that it is the old or the new one, whatever happens.
func replaceFile(path string, text []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// exactBytes outranks every .gitattributes of the tree. An encoding has to be taken back,
// git accepts no "no"; so has the kind of diff, which could hide changes.
const exactBytes = "* -text !eol !crlf !ident !filter !working-tree-encoding !diff !merge !whitespace\n"

// configuration is the whole configuration of the folder. Git does not collect garbage
// there, and does not clean up on its own.
func (s *Snapshots) configuration() string {
	version, extensions := 0, ""
	if s.home.Format != "sha1" {
		version, extensions = 1, "[extensions]\n\tobjectFormat = "+s.home.Format+"\n"
	}
	text := fmt.Sprintf(`[core]
	repositoryFormatVersion = %d
	bare = true
	fileMode = true
	symlinks = true
	ignoreCase = false
	trustCtime = true
	checkStat = default
	precomposeUnicode = false
	autocrlf = false
	safecrlf = false
	untrackedCache = false
	splitIndex = false
	logAllRefUpdates = false
	sharedRepository = 0600
	attributesFile = %s
	fsync = loose-object
	fsyncMethod = batch
%s[gc]
	auto = 0
[maintenance]
	auto = false
`, version, strings.ReplaceAll(os.DevNull, `\`, `\\`), extensions)
	if runtime.GOOS != "windows" && runtime.GOOS != "darwin" {
		// Names that are special elsewhere only, such as git~1, are names like any other.
		text += "[core]\n\tprotectNTFS = false\n\tprotectHFS = false\n"
	}
	return text
}

// apart is the environment in which nothing but the folder's own configuration counts.
// The index is refreshed, other than in the user's repository.
func (s *Snapshots) apart() []string {
	return []string{
		"GIT_DIR=" + s.dir, "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=0",
		"GIT_ATTR_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=1",
	}
}

// run runs git on what is kept.
func (s *Snapshots) run(ctx context.Context, c call) error {
	c.dir = s.dir
	c.env = append(s.apart(), c.env...)
	return s.git.run(ctx, c)
}

// inTree runs git on the working tree, with what is kept as its repository.
func (s *Snapshots) inTree(ctx context.Context, c call) error { return s.in(ctx, s.home.Top, c) }

// in runs git on a folder as if it were the working tree.
func (s *Snapshots) in(ctx context.Context, top string, c call) error {
	c.dir = top
	c.env = append(s.apart(), "GIT_WORK_TREE="+top)
	c.args = append([]string{"-c", "core.excludesFile=" + s.home.Excludes}, c.args...)
	return s.git.run(ctx, c)
}

// feed puts text into a file for git to read.
func (s *Snapshots) feed(text []byte, use func(file string) error) error {
	f, err := os.CreateTemp(s.path("tmp"), "in-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return use(f.Name())
}

var snapshotID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`) })

// Has reports whether there is a snapshot of that name.
func (s *Snapshots) Has(ctx context.Context, id string) bool {
	_, err := s.read(ctx, id)
	return err == nil
}

const snapshotTitle = "Snapshot of a workspace"

// copied is what a snapshot says about itself.
type copied struct {
	id         string
	tree       string
	run        string
	prefix     string // of the workspace below the top
	repository string // the commit that holds what was recorded of the repository; "" if nothing
}

func (s *Snapshots) read(ctx context.Context, id string) (copied, error) {
	if !snapshotID().MatchString(id) {
		return copied{}, fmt.Errorf("read snapshot %q: %w", id, ErrNoSnapshot)
	}
	text, known := s.loose("commit", id)
	if !known {
		out := limited{limit: 1 << 20}
		err := s.run(ctx, call{args: []string{"cat-file", "commit", id}, out: &out})
		if failed, ok := errors.AsType[*failure](err); ok {
			return copied{}, fmt.Errorf("read snapshot %s: %w: %w", id, ErrNoSnapshot, failed)
		}
		if err != nil {
			return copied{}, fmt.Errorf("read snapshot %s: %w", id, err)
		}
		text = out.text.String()
	}
	c := copied{id: id}
	if !strings.Contains(text, "\n\n"+snapshotTitle) { // a commit of the user's
		return copied{}, fmt.Errorf("read snapshot %s: %w", id, ErrNoSnapshot)
	}
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "tree":
			c.tree = rest
		case "repository":
			c.repository = rest
		case "run":
			c.run = rest
		case "below":
			c.prefix, _ = strconv.Unquote(rest)
		}
	}
	return c, nil
}

// entry is one file of a snapshot.
type entry struct {
	mode string
	id   string
	name string // below the top, with slashes
}

const (
	modeProgram = "100755"
	modeLink    = "120000"
)

// files lists a snapshot's files.
func (s *Snapshots) files(ctx context.Context, tree string) ([]entry, error) {
	out := limited{limit: statusLimit}
	if err := s.run(ctx, call{args: []string{"ls-tree", "-r", "-z", "--full-tree", tree}, out: &out}); err != nil {
		return nil, fmt.Errorf("list snapshot: %w", err)
	}
	var files []entry
	for record := range strings.SplitSeq(out.text.String(), "\x00") {
		about, name, ok := strings.Cut(record, "\t")
		fields := strings.Fields(about)
		if ok && len(fields) == 3 && fields[1] == "blob" {
			files = append(files, entry{mode: fields[0], id: fields[2], name: name})
		}
	}
	return files, nil
}
