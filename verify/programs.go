package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
)

// Programs records the programs that checks run, as they were when a run began: where PATH led to,
// and what was there.
type Programs struct {
	env  []string
	dir  string
	list []knownProgram
}

type knownProgram struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Size int64  `json:"size"`
	Time int64  `json:"time"`
	// Digest is set for scripts only: package managers rewrite them unchanged, which alters their
	// times. Larger programs have a Stamp, which changes with their content, whatever their times say.
	Digest string `json:"digest,omitempty"`
	Stamp  string `json:"stamp,omitempty"`
}

// runners are programs that checks start indirectly: from a script, a Makefile or a shebang.
var runners = []string{
	"bash", "bun", "bundle", "cargo", "env", "git", "go", "gradle", "java", "make", "mvn", "node", "npm", "npx",
	"pnpm", "poetry", "pytest", "python",
	"python3", "rake", "rspec", "ruby", "rustc", "tox", "uv", "yarn",
}

// scriptLimit is the largest size of a program that is compared by content.
const scriptLimit = 1 << 20

// RememberPrograms records the programs of the checks, or reads the record that an earlier process
// wrote. env is the environment of checks. Programs inside the workspace dir are ignored.
func RememberPrograms(file string, env []string, dir string, checks []string) (*Programs, error) {
	p := &Programs{env: env, dir: dir}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &p.list)
		return p, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read programs: %w", err)
	}
	names := slices.Clone(runners)
	for _, check := range checks {
		word, certain := firstWord(check, func(string) (string, bool) { return "", false })
		if certain && word != "" && filepath.Base(word) == word {
			names = append(names, word)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if known, ok := p.lookUp(name); ok {
			p.list = append(p.list, known)
		}
	}
	text, err = json.Marshal(p.list)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("remember programs: %w", err)
	}
	return p, nil
}

func (p *Programs) lookUp(name string) (knownProgram, bool) {
	path, err := process.Locate(name, p.env, func(path string) bool {
		return isInside(path, p.dir) || isInside(resolveLinks(path), resolveLinks(p.dir))
	})
	if err != nil {
		return knownProgram{}, false
	}
	info, err := os.Stat(path)
	if err != nil {
		return knownProgram{}, false
	}
	known := knownProgram{Name: name, Path: path, Size: info.Size(), Time: info.ModTime().UnixNano()}
	if info.Size() <= scriptLimit {
		known.Digest = digestOf(path)
	} else if stamp, ok := fileStampOf(resolveLinks(path)); ok {
		known.Stamp = stamp.String()
	}
	return known, true
}

func digestOf(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, io.LimitReader(file, scriptLimit)); err != nil {
		return ""
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// isSame reports whether nobody wrote to a program. Records of earlier versions have no stamp.
func (p knownProgram) isSame(then knownProgram) bool {
	if then.Stamp == "" {
		p.Stamp = ""
	}
	return p == then
}

// Changed lists the programs that changed, and those whose names now lead elsewhere.
func (p *Programs) Changed() []ralph.FileChange {
	var changed []ralph.FileChange
	for _, then := range p.list {
		now, ok := p.lookUp(then.Name)
		switch {
		case !ok:
			changed = append(changed, ralph.FileChange{Name: then.Path, Kind: ralph.FileDeleted})
		case now.Path != then.Path:
			changed = append(changed, ralph.FileChange{Name: now.Path, Kind: ralph.FileAdded})
		case then.Digest != "" && now.Digest == then.Digest:
		case !now.isSame(then):
			changed = append(changed, ralph.FileChange{Name: now.Path, Kind: ralph.FileChanged})
		}
	}
	return changed
}

// libraryFolders are folders, beside that of a program or below home, that have one entry for each installed library.
var libraryFolders = []string{
	"lib/python*/site-packages", "lib/python*/dist-packages", "lib/node_modules", "lib/ruby/gems/*/gems",
}

// Identity identifies the programs, and the libraries that are installed for them.
func (p *Programs) Identity() string {
	sum := sha256.New()
	roots := []string{"/usr", "/usr/local"}
	home, _ := Shell{Env: p.env}.variable("HOME")
	roots = append(roots, filepath.Join(home, ".local"))
	for _, known := range p.list {
		fmt.Fprintf(sum, "%#v\n", known)
		for _, path := range []string{known.Path, resolveLinks(known.Path)} {
			roots = append(roots, filepath.Dir(filepath.Dir(path)))
		}
	}
	slices.Sort(roots)
	for _, root := range slices.Compact(roots) {
		for _, pattern := range libraryFolders {
			folders, _ := filepath.Glob(filepath.Join(root, pattern))
			for _, folder := range folders {
				if info, err := os.Stat(folder); err == nil {
					fmt.Fprintf(sum, "%q %d\n", folder, info.ModTime().UnixNano())
				}
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
