package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/internal/atomicfile"
)

// Give writes the contents with git cat-file --batch.
func (s *Store) Give(ctx context.Context, ids []string, to io.Writer) error {
	_, err := s.feed(ctx, s.call, strings.Join(ids, "\n")+"\n", git.Call{Args: []string{"cat-file", "--batch"}, Out: to})
	return err
}

// ErrNoSnapshot means that there is no snapshot of that name, or none at all.
var ErrNoSnapshot = manifest.ErrNoSnapshot

// Store is a git folder of the harness that contains snapshots of one workspace. A snapshot is
// named by the ID of its commit. Reading them needs neither the workspace nor its repository.
//
// All configuration of the repository, the user and the system is ignored there: hooks, filters,
// attributes and conversions. Files are stored byte by byte.
type Store struct {
	dir  string
	git  git.Program
	home home

	listings manifest.Listings

	folders sync.Mutex // held while a folder of loose objects is created or removed

	commitTexts textCache // of packed commits
}

var _ ralph.Snapshots = (*Store)(nil)

// home identifies the workspace of the snapshots. It is stored in homeFile.
type home struct {
	Top      string `json:"top"`
	Prefix   string `json:"prefix"`
	GitDir   string `json:"git_dir"`
	Common   string `json:"common_dir"`
	Format   string `json:"object_format"`
	DotGit   string `json:"dot_git,omitempty"` // the content of .git if it is a file
	Excludes string `json:"excludes,omitempty"`
}

// workspace returns the folder that the snapshots are of.
func (h home) workspace() string { return filepath.Join(h.Top, filepath.FromSlash(h.Prefix)) }

// linked reports whether the working tree shares its refs with another one.
func (h home) linked() bool { return h.Common != h.GitDir }

const (
	homeFile  = "workspace.json"
	snapshots = "objects" // the folder of the objects of snapshots
	// history is the folder of the repository's own objects, separate from those of snapshots.
	history = "history"
	// snapshotTimeout limits one git call on the snapshots: the first one reads every file.
	snapshotTimeout = 10 * time.Minute
)

// Open opens the snapshots in a folder that [New] created. An error that wraps ErrNoSnapshot means
// that there are none.
func Open(git git.Program, gitDir string) (*Store, error) {
	text, err := os.ReadFile(filepath.Join(gitDir, homeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open snapshots in %s: %w", gitDir, ErrNoSnapshot)
	}
	s := &Store{dir: gitDir}
	if err == nil {
		err = json.Unmarshal(text, &s.home)
	}
	if err != nil {
		return nil, fmt.Errorf("open snapshots in %s: %w", gitDir, err)
	}
	if s.git, err = git.Locate(existing(s.home.Top)); err != nil {
		return nil, fmt.Errorf("open snapshots: %w", err)
	}
	s.git.Timeout = cmp.Or(s.git.Timeout, snapshotTimeout)
	return s, nil
}

// existing returns the folder itself or its nearest existing parent.
func existing(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// make creates the files of the folder, or updates them.
func (s *Store) make() error {
	for _, folder := range []string{"", "objects/info", "objects/pack", "refs", "info", history + "/pack", "tmp"} {
		if err := os.MkdirAll(filepath.Join(s.dir, filepath.FromSlash(folder)), 0o700); err != nil {
			return err
		}
	}
	about, err := json.MarshalIndent(s.home, "", "  ")
	if err != nil {
		return err
	}
	for _, file := range []named{
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

func (s *Store) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// write replaces a file of the folder if its content differs.
func (s *Store) write(name string, text []byte) error {
	path := s.path(name)
	if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, text) {
		return nil
	}
	return atomicfile.Swap(path, text, 0o600)
}

// exactBytes overrides every .gitattributes of the tree. An encoding must be unset with "!",
// because git accepts no "-" for it. So must the diff driver, which could hide changes.
const exactBytes = "* -text !eol !crlf !ident !filter !working-tree-encoding !diff !merge !whitespace\n"

// configuration returns the whole configuration of the folder. It disables git's garbage collection
// and maintenance.
func (s *Store) configuration() string {
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
		// Allow names that are special only on other systems, such as git~1.
		text += "[core]\n\tprotectNTFS = false\n\tprotectHFS = false\n"
	}
	return text
}

// environment makes git use only the folder's own configuration. Unlike in the user's repository,
// git refreshes the index.
func (s *Store) environment() []string {
	return []string{
		"GIT_DIR=" + s.dir,
		"GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_CONFIG_SYSTEM=" + os.DevNull,
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=0",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_OPTIONAL_LOCKS=1",
	}
}

// run runs git on the snapshots.
func (s *Store) run(ctx context.Context, args ...string) (string, error) {
	return s.call(ctx, git.Call{Args: args})
}

func (s *Store) call(ctx context.Context, c git.Call) (string, error) {
	c.Dir = s.dir
	c.Env = append(s.environment(), c.Env...)
	return s.git.Run(ctx, c)
}

// inTree runs git on the working tree, or on another folder in its place, with the snapshots as its
// repository.
func (s *Store) inTree(ctx context.Context, c git.Call) (string, error) {
	c.Dir = cmp.Or(c.Dir, s.home.Top)
	c.Env = append(append(s.environment(), "GIT_WORK_TREE="+c.Dir), c.Env...)
	c.Args = append([]string{"-c", "core.excludesFile=" + s.home.Excludes}, c.Args...)
	return s.git.Run(ctx, c)
}

// feed runs git with text on stdin.
func (s *Store) feed(ctx context.Context, run git.Runner, text string, c git.Call) (string, error) {
	f, err := os.CreateTemp(s.path("tmp"), "in-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	c.Stdin = f.Name()
	return run(ctx, c)
}

const snapshotTitle = "Snapshot of a workspace"

// header is the metadata of a snapshot.
type header struct {
	id         string
	tree       string
	run        string
	prefix     string // of the workspace below the top
	repository string // the commit with the record of the repository; "" if there is none
	left       manifest.Hashes
}

func (s *Store) read(ctx context.Context, id string) (header, error) {
	if !manifest.ID().MatchString(id) {
		return header{}, fmt.Errorf("read snapshot %q: %w", id, ErrNoSnapshot)
	}
	text, known := s.loose("commit", id)
	if !known {
		var err error
		text, err = s.commitTexts.get(id, func() (string, error) { return s.run(ctx, "cat-file", "commit", id) })
		if git.Failed(err) {
			err = fmt.Errorf("%w: %w", ErrNoSnapshot, err)
		}
		if err != nil {
			return header{}, fmt.Errorf("read snapshot %s: %w", id, err)
		}
	}
	c := header{id: id}
	if !strings.Contains(text, "\n\n"+snapshotTitle) { // one of the user's commits
		return header{}, fmt.Errorf("read snapshot %s: %w", id, ErrNoSnapshot)
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
		case "left":
			c.left.Parse(rest)
		case "below":
			c.prefix, _ = strconv.Unquote(rest)
		}
	}
	return c, nil
}

// textCache keeps the texts of some commits: a run asks for its base again and again.
type textCache struct {
	mu    sync.Mutex
	texts map[string]string
}

// get returns the text of a commit, and calls read if it is not cached.
func (c *textCache) get(id string, read func() (string, error)) (string, error) {
	const most = 64
	c.mu.Lock()
	defer c.mu.Unlock()
	if text, known := c.texts[id]; known {
		return text, nil
	}
	text, err := read()
	if err != nil {
		return "", err
	}
	if c.texts == nil || len(c.texts) == most {
		c.texts = map[string]string{}
	}
	c.texts[id] = text
	return text, nil
}

// files lists the files of a snapshot's tree.
func (s *Store) files(ctx context.Context, tree string) ([]manifest.Entry, error) {
	out, err := s.run(ctx, "ls-tree", "-r", "-z", "--full-tree", tree)
	if err != nil {
		return nil, fmt.Errorf("list snapshot: %w", err)
	}
	var files []manifest.Entry
	for record := range strings.SplitSeq(out, "\x00") {
		about, name, ok := strings.Cut(record, "\t")
		fields := strings.Fields(about)
		if ok && len(fields) == 3 && fields[1] == "blob" {
			files = append(files, manifest.Entry{Mode: fields[0], ID: fields[2], Name: name})
		}
	}
	return files, nil
}
