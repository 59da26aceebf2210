package gitrepo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/shell"
)

// Configured is something that git's configuration starts programs for: a filter, such as Git LFS,
// through which files go on their way into a commit and back, or the signing of commits.
type Configured struct {
	Name     string   // "filter lfs", or "signing"
	Settings []string // as "filter.lfs.clean=git-lfs clean -- %f"
	ID       string   // of the settings and of the files that they start
	Agreed   bool     // the user agreed to this ID
}

// Signs reports whether it is the signing of commits.
func (c Configured) Signs() bool { return c.Name == signing }

const (
	signing      = "signing"
	filterPrefix = "filter "

	verifySignatures = "merge.verifysignatures"

	// Regular expressions.
	hookKeys    = `hook\..*\.(command|event|enabled)`
	signingKeys = `gpg\.(.*\.)?(program|defaultkeycommand)`
)

// configured is what the user's git would start, and Ralph's own git does not unless the user agreed
// to it: the configuration may be the agent's, or that of an agent of an earlier run. It is listed
// again whenever a file of the configuration, or a program that the user agreed to, changed.
type configured struct {
	listed  bool
	seen    configuration
	list    []Configured
	files   map[string]scan.Stamp // that it starts
	drivers []string              // names of merge drivers, which never run
	hooks   []string              // names of hooks in settings, which git has since version 2.54
	signs   bool                  // commits are signed
	checks  bool                  // merges need a signature
	atFind  []string              // names that were listed first
	agreed  []string              // IDs, in addition to those that [git.Program] knows
	links   map[string]links      // by git folder
	hashes  map[string]hashed     // of files under a filter that does not run
}

// clone returns what is known, for a Repo that another goroutine uses.
func (c *configured) clone() configured {
	alone := *c
	alone.links, alone.hashes = maps.Clone(c.links), maps.Clone(c.hashes)
	return alone
}

// elsewhere returns what is known, for another working tree of the repository. Conditions of its settings, and
// relative names of programs, lead to other programs there.
func (c *configured) elsewhere() configured {
	there := c.clone()
	there.seen.unknown = true // list them again
	return there
}

// refresh lists the programs again if anything about them may have changed.
func (c *configured) refresh(ctx context.Context, at checkout) error {
	now, err := at.configuration(ctx, c)
	if err != nil {
		return err
	}
	if c.listed && now.same(c.seen) && c.filesAreSame() {
		return nil
	}
	all, err := ownedSettings(ctx, append([]checkout{at}, now.submodules...))
	if err != nil {
		return err
	}
	c.hooks = nil
	c.files, c.drivers, c.list, c.signs, c.checks = map[string]scan.Stamp{}, nil, nil, false, false
	byName := map[string][]owned{}
	for _, s := range all {
		name := s.program()
		switch {
		case strings.HasPrefix(s.key, "merge.") && s.key != verifySignatures:
			c.drivers = append(c.drivers, strings.TrimSuffix(s.key, ".driver"))
		case strings.HasPrefix(s.key, "hook."):
			c.hooks = append(c.hooks, s.key[:strings.LastIndexByte(s.key, '.')])
		case s.foreign && (name == signing || name == ""): // Ralph makes no commits in submodules
		case s.key == "commit.gpgsign":
			c.signs = s.isTrue()
		case s.key == verifySignatures:
			c.checks = s.isTrue()
		case name != "" && !slices.Contains(byName[name], s):
			byName[name] = append(byName[name], s)
		}
	}
	common, _ := at.shared()
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		one := Configured{Name: name, ID: c.identify(at.git, byName[name])}
		for _, s := range byName[name] {
			if !slices.Contains(one.Settings, s.String()) {
				one.Settings = append(one.Settings, s.String())
			}
		}
		one.Agreed = slices.Contains(c.agreed, one.ID) || at.git.Agreed != nil && at.git.Agreed(common, one.ID)
		c.list = append(c.list, one)
	}
	if !c.listed {
		for _, one := range c.list {
			c.atFind = append(c.atFind, one.Name)
		}
	}
	c.listed, c.seen = true, now
	return nil
}

func (c *configured) filesAreSame() bool {
	for file, stamp := range c.files {
		if scan.StampAt(file) != stamp {
			return false
		}
	}
	return true
}

// programLimit is the largest program that is read to recognize it. A larger one is known by its name.
const programLimit = 256 << 20

// identify returns the ID of settings and of the files that they start, and remembers these
// files. A program that these start in turn is not recognized.
func (c *configured) identify(program git.Program, settings []owned) string {
	sum := sha256.New()
	known := map[string]bool{}
	for _, one := range settings {
		put := func(parts ...string) {
			if key := one.String() + "\x00" + parts[0]; !known[key] {
				known[key] = true
				scan.Put(sum, parts...)
			}
		}
		put(one.String())
		for _, words := range shell.Loose(one.value) {
			for i, word := range words {
				file := filepath.Join(one.top, word) // where git starts the program
				switch {
				case filepath.IsAbs(word):
					file = word
				case i == 0 && !strings.ContainsRune(word, '/'):
					file, _ = process.Locate(word, program.Env, func(string) bool { return false })
				}
				if content, ok := scan.Read(file, programLimit); ok && len(content) > 0 {
					hash := sha256.Sum256(content)
					put(file, string(hash[:]))
					c.files[file] = scan.StampAt(file)
				}
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// refused lists the names of filters that do not run, and were configured when the Repo was found.
func (c *configured) refused() (names []string) {
	for _, one := range c.list {
		if name, ok := strings.CutPrefix(one.Name, filterPrefix); ok && !one.Agreed && slices.Contains(c.atFind, one.Name) {
			names = append(names, name)
		}
	}
	return names
}

// refusedSigning returns the programs that sign commits, if the user has not agreed to them.
func (c *configured) refusedSigning() []string {
	if !c.signs {
		return nil
	}
	return c.unagreedSigners()
}

// unagreedSigners returns the programs that make and verify signatures, if the user has not agreed to them.
func (c *configured) unagreedSigners() []string {
	for _, one := range c.list {
		if one.Name == signing && !one.Agreed {
			return one.Settings
		}
	}
	return nil
}

// disableHooks is disable for a call that runs no hooks. core.hooksPath does not concern those in settings.
func (c *configured) disableHooks(env []string) []string {
	settings := make([]setting, 0, len(c.hooks))
	for _, name := range slices.Compact(slices.Clone(c.hooks)) {
		settings = append(settings, setting{name + ".enabled", "false"})
	}
	return c.disable(env, settings...)
}

// disable returns environment variables that disable all programs that the user did not agree to, with more
// settings. An agent chose their names, which may contain an equals sign that -c cannot pass on.
func (c *configured) disable(env []string, more ...setting) []string {
	var added []string
	count := 0
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "GIT_CONFIG_COUNT="); ok {
			count, _ = strconv.Atoi(value)
		}
	}
	set := func(key, value string) {
		added = append(added,
			fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", count, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", count, value))
		count++
	}
	for _, one := range c.list {
		name, isFilter := strings.CutPrefix(one.Name, filterPrefix)
		if !isFilter || one.Agreed {
			continue
		}
		set("filter."+name+".clean", "")
		set("filter."+name+".smudge", "")
		set("filter."+name+".process", "")
		set("filter."+name+".required", "false")
	}
	for _, name := range c.drivers { // as git merges texts itself
		set(name+".driver", "git merge-file --quiet --marker-size=%L %A %O %B")
	}
	for _, s := range more {
		set(s.key, s.value)
	}
	if len(added) == 0 {
		return nil
	}
	return append(added, fmt.Sprintf("GIT_CONFIG_COUNT=%d", count))
}

// setting is one line of git's configuration.
type setting struct{ key, value string }

func (s setting) String() string { return s.key + "=" + s.value }

// owned is a setting of the repository whose working tree is at top.
type owned struct {
	setting
	top     string
	foreign bool // it is of a submodule
}

// ownedSettings lists the settings that name programs, of a working tree and then of its submodules.
func ownedSettings(ctx context.Context, trees []checkout) (all []owned, err error) {
	for i, at := range trees {
		settings, err := at.programSettings(ctx)
		if err != nil {
			return nil, err
		}
		for _, one := range settings {
			all = append(all, owned{one, at.top, i > 0})
		}
	}
	return all, nil
}

// isTrue reports whether git reads the value as true. A key without a value is.
func (s setting) isTrue() bool {
	return !slices.Contains([]string{"false", "no", "off", "0", ""}, strings.ToLower(s.value))
}

// program returns the name of what the setting belongs to.
func (s setting) program() string {
	switch at := strings.LastIndexByte(s.key, '.'); {
	case strings.HasPrefix(s.key, "gpg."):
		return signing
	case strings.HasPrefix(s.key, "filter.") && at > len("filter"):
		return filterPrefix + s.key[len("filter."):at]
	}
	return ""
}

// programSettings lists the settings that name programs, wherever they are.
func (at checkout) programSettings(ctx context.Context) ([]setting, error) {
	out, err := at.git.Run(ctx, git.Call{
		Dir: at.top, Env: at.location(),
		Args: []string{"config", "-z", "--includes", "--get-regexp",
			`^(filter\..*|merge\..*\.driver|commit\.gpgsign|merge\.verifysignatures|` + hookKeys + `|` + signingKeys + `)$`},
	})
	if git.ExitCode(err) == 1 {
		return nil, nil
	}
	var settings []setting
	for _, entry := range git.SplitNames(out) {
		key, value, hasValue := strings.Cut(entry, "\n")
		if !hasValue {
			value = "true"
		}
		settings = append(settings, setting{key, value})
	}
	return settings, wrapError("read git's configuration", err)
}

// simpleName matches what a pathspec accepts as the value of an attribute. Git accepts any name of a filter.
var simpleName = regexp.MustCompile(`^[-A-Za-z0-9_]+$`)

// Configured lists what git would start for tracked files, and to sign commits.
func (r *Repo) Configured(ctx context.Context) ([]Configured, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.configured.refresh(ctx, r.checkout()); err != nil {
		return nil, err
	}
	var used []Configured
	for _, one := range slices.Clone(r.configured.list) {
		isUsed := r.configured.signs || r.configured.checks
		if name, isFilter := strings.CutPrefix(one.Name, filterPrefix); isFilter {
			files, err := filtered(ctx, r, name)
			if err != nil {
				return nil, err
			}
			isUsed = len(files) > 0
		}
		if isUsed {
			used = append(used, one)
		}
	}
	return used, nil
}

// filtered lists tracked files that go through a filter, below the top of the working tree. The options
// select other files than the tracked ones.
func filtered(ctx context.Context, r *Repo, name string, options ...string) ([]string, error) {
	list := slices.Concat([]string{"ls-files", "-z", "--full-name"}, options, []string{"--"})
	if simpleName.MatchString(name) {
		list = append(list, ":(attr:filter="+name+")")
	}
	out, err := r.run(ctx, list...)
	if err != nil || out == "" || simpleName.MatchString(name) {
		return git.SplitNames(out), wrapError("look for files with a filter", err)
	}
	files, err := withAttribute(ctx, r, out, name)
	return files, wrapError("look for files with a filter", err)
}

// withAttribute returns those of the files whose attribute filter has a value. The files are names below
// the top of the working tree, each followed by a zero byte.
func withAttribute(ctx context.Context, r *Repo, files, value string) ([]string, error) {
	list, err := temporary(files)
	if err != nil {
		return nil, err
	}
	defer os.Remove(list)
	out, err := r.call(ctx, git.Call{Dir: r.Top, Args: []string{"check-attr", "--stdin", "-z", "filter"}, Stdin: list})
	var found []string
	for fields := git.SplitNames(out); len(fields) >= 3; fields = fields[3:] { // file, "filter", value
		if fields[2] == value {
			found = append(found, fields[0])
		}
	}
	return found, err
}

// temporary writes a file for git to read. The caller removes it.
func temporary(text string) (path string, err error) {
	file, err := os.CreateTemp("", "ralph-list-")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		os.Remove(file.Name())
	}
	return file.Name(), err
}

// Agree lets git start these programs from now on, as long as they stay the same.
func (r *Repo) Agree(list []Configured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range list {
		r.configured.agreed = append(slices.Clip(r.configured.agreed), one.ID)
	}
	r.configured.seen.unknown = true // list them again
}

// unfiltered describes files that a commit or a checkout would convert with a filter that does not run.
func unfiltered(ctx context.Context, r *Repo, options ...string) ([]string, error) {
	if err := r.configured.refresh(ctx, r.checkout()); err != nil {
		return nil, err
	}
	for _, name := range r.configured.refused() {
		files, err := filtered(ctx, r, name, options...)
		if err != nil {
			return nil, err
		}
		if len(files) > 0 {
			return []string{fmt.Sprintf("%s goes through the filter %s", scan.Quote(files[0]), scan.Quote(name))}, nil
		}
	}
	return nil, nil
}

// unagreedPrograms looks for programs that commits and checkouts need.
func unagreedPrograms(ctx context.Context, r *Repo) (*Problem, error) {
	what, err := unfiltered(ctx, r)
	if programs := r.configured.refusedSigning(); programs != nil {
		what = append(what, "commits are signed by "+scan.List(programs))
	}
	if len(what) == 0 || err != nil {
		return nil, err
	}
	return notAgreed(what...), nil
}

func notAgreed(what ...string) *Problem {
	return &Problem{
		Kind: ProblemNotAgreed, Stops: true, Text: strings.Join(what, ", and ") + ", to which you have not agreed",
		Hint: "pass --trust, or run once on a terminal",
	}
}
