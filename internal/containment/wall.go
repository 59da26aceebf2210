package containment

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// Place is what a wall is computed from.
type Place struct {
	Env       []string // of the agent, and of nothing else
	Home      string
	Workspace string
	// Git are the folders of the repository that the agent may change, and GitAbsent the files in them that do
	// not exist and must not come to exist.
	Git, GitAbsent []string

	Kept     []string // files that the agent may not change
	Own      []string // Ralph's folders: the agent cannot see them
	Programs []string // paths of programs that the agent needs, such as its own
	// Read and Write are what the agent, or the user, needs beyond that.
	Read, Write []string
	// Copies are files of which the agent changes a copy: what they say acts on later sessions.
	Copies   []Copy
	Needs    []string // what Ralph made for one command
	Temp     string   // the folder that the agent has for temporary files
	Empty    string   // a file without content
	Image    string   // of a container
	Agent    string   // the name of the agent, for a microVM of its own
	Network  sandbox.Network
	Limits   sandbox.Limits
	FileSize int64 // bytes that a file may get; 0 means no limit
}

// Copy is a file that the agent sees in the place of another.
type Copy struct{ Of, From string }

// TreeLimits returns the limits in the form of package process, for the tiers without an engine.
func (p Place) TreeLimits() process.Limits {
	return process.Limits{Memory: p.Limits.Memory, Processes: p.Limits.Processes, FileSize: p.FileSize}
}

// Wall returns the wall around an agent. Its rules name only what exists, without links.
func (p Place) Wall() sandbox.Wall {
	b := builder{home: real(p.Home), seen: map[string]bool{}}
	b.hide("/dev/shm", "/home", "/mnt/c/Users", "/run", p.Home)
	if os.Geteuid() == 0 {
		b.hide(secretFolders...)
	}
	b.open(p.Workspace) // first, because links in it may be the agent's
	b.temporary(p)
	b.show(sockets...)
	for _, name := range slices.Concat(settings, toolchains) {
		b.show(filepath.Join(p.Home, name))
	}
	for _, name := range caches {
		b.open(filepath.Join(p.Home, name))
	}
	b.variables(p.Env)
	for _, program := range p.Programs {
		b.show(programFolders(program, b.home)...)
	}
	b.openAll(p.Write)
	b.reveal(p.Read)
	b.copies(p.Copies)
	b.hideOwn(p.Own)
	b.open(p.Git...) // a folder with a rule of its own cannot be moved away
	for _, path := range p.Kept {
		b.keep(path)
	}
	b.keepAbsent(p.GitAbsent, p.Empty)
	return sandbox.Wall{Rules: b.rules, Network: p.Network}
}

// Hider returns a function that reports whether the wall hides a file that exists.
func (p Place) Hider() func(path string) bool {
	wall := sync.OnceValue(func() builder { return builder{rules: p.Wall().Rules} })
	return func(path string) bool {
		path = real(path)
		if path == "" {
			return false
		}
		b := wall()
		rule := b.at(path)
		return rule.Access == sandbox.Hide || rule.From != ""
	}
}

// LooseLinks returns the links on the way to what is kept that the agent can replace: no tier can keep a
// link in a folder that changes.
func (p Place) LooseLinks() (paths []string) {
	b := builder{rules: p.Wall().Rules}
	for _, kept := range p.Kept {
		for _, l := range linksTo(kept) {
			if b.mayWrite(l.path) && !slices.Contains(paths, l.path) {
				paths = append(paths, l.path)
			}
		}
	}
	return paths
}

// noTemp stands for a folder that is not made yet.
const noTemp = "/ralph-temporary"

// builder collects rules.
type builder struct {
	home  string
	rules []sandbox.Rule
	seen  map[string]bool
}

// temporary shows the agent's own folder where programs look for one.
func (b *builder) temporary(p Place) {
	for _, path := range []string{"/tmp", "/var/tmp", lookup(p.Env, "TMPDIR")} {
		if path = real(path); path != "" && path != "/dev/shm" && !b.seen["from "+path] {
			b.seen["from "+path] = true
			b.rules = append(b.rules, sandbox.Rule{Path: path, Access: sandbox.Write, From: cmp.Or(p.Temp, noTemp)})
		}
	}
}

// variables shows the folders that variables of the environment name.
func (b *builder) variables(env []string) {
	for _, name := range toolVariables {
		for _, path := range filepath.SplitList(lookup(env, name)) {
			b.show(path)
		}
	}
	for _, folder := range filepath.SplitList(lookup(env, "PATH")) {
		b.show(toolFolders(folder, b.home)...)
	}
	b.openCaches(env)
	for name := range cacheParts {
		if folder := lookup(env, name); folder != "" {
			b.show(filepath.Join(folder, "bin"))
		}
	}
}

// openCaches lets the agent change the caches that variables of the environment name.
func (b *builder) openCaches(env []string) {
	for _, name := range cacheVariables {
		b.open(lookup(env, name))
	}
	for name, parts := range cacheParts {
		for _, part := range parts {
			if folder := lookup(env, name); folder != "" {
				b.open(filepath.Join(folder, part))
			}
		}
	}
}

// hide hides folders.
func (b *builder) hide(paths ...string) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			b.add(path, sandbox.Hide)
		}
	}
}

// hideOwn hides Ralph's folders, and keeps those above them from being moved away.
func (b *builder) hideOwn(paths []string) {
	for _, path := range paths {
		b.pin(real(path))
	}
	b.hide(paths...)
}

// copies shows copies in the place of files. What follows may be a link, too.
func (b *builder) copies(all []Copy) {
	for _, c := range all {
		if path := real(c.Of); path != "" && !b.leadsThroughWritable(c.Of) {
			b.link(c.Of)
			b.rules = append(b.rules, sandbox.Rule{Path: path, Access: sandbox.Write, From: c.From})
		}
	}
}

// reveal lets the agent read what the user named, home included.
func (b *builder) reveal(paths []string) {
	for _, path := range paths {
		if real(path) != b.home {
			b.show(path)
		} else if path != "" {
			b.add(path, sandbox.Read)
		}
	}
}

// show lets the agent read what would be hidden otherwise. What it may change, it may read.
func (b *builder) show(paths ...string) {
	for _, path := range paths {
		switch resolved := real(path); {
		case resolved == "", resolved == b.home, b.mayWrite(resolved):
		case b.at(resolved).Access == sandbox.Read:
			b.link(path)
		default:
			b.add(path, sandbox.Read)
		}
	}
}

// open lets the agent change files and folders. A path that leads through a link which the agent may have
// made is left out: in the next iteration it would open whatever the agent chose.
func (b *builder) open(paths ...string) {
	for _, path := range paths {
		b.add(path, sandbox.Write)
	}
}

// openAll lets the agent change files and folders with everything in them, toolchains too.
func (b *builder) openAll(paths []string) {
	for _, path := range paths {
		b.open(path)
		if path = real(path); path == "" || !b.mayWrite(path) {
			continue
		}
		b.rules = slices.DeleteFunc(b.rules, func(r sandbox.Rule) bool {
			return r.Access == sandbox.Read && isWithin(r.Path, path)
		})
	}
}

// keep makes something read-only in a folder that the agent may change. The folders between have rules of
// their own, because a tier keeps those from being moved away with it.
func (b *builder) keep(path string) {
	path = real(path)
	if path == "" || !b.mayWrite(path) {
		return
	}
	b.pin(path)
	b.add(path, sandbox.Read)
}

// pin gives the folders above a path rules of their own, as far as the agent may change them. The tiers
// have a /dev that cannot be moved.
func (b *builder) pin(path string) {
	if path == "" {
		return
	}
	for folder := filepath.Dir(path); folder != "/"; folder = filepath.Dir(folder) {
		if b.mayWrite(folder) && b.at(folder).Path != folder && folder != "/dev" {
			b.add(folder, sandbox.Write)
		}
	}
}

// keepAbsent puts an empty file in the place of files that must not come to exist. The null device would not do:
// in a namespace of its own, an ordinary user cannot open it there, and git complains.
func (b *builder) keepAbsent(paths []string, empty string) {
	for _, path := range paths {
		if folder := real(filepath.Dir(path)); folder != "" && b.mayWrite(folder) {
			path = filepath.Join(folder, filepath.Base(path))
			b.rules = append(b.rules, sandbox.Rule{Path: path, Access: sandbox.Read, From: empty})
		}
	}
}

func (b *builder) add(path string, access sandbox.Access) {
	resolved := real(path)
	if resolved == "" || resolved == "/" || access != sandbox.Hide && b.leadsThroughWritable(path) {
		return
	}
	if resolved != path && access != sandbox.Hide {
		b.link(path)
	}
	path = resolved
	b.rules = append(b.rules, sandbox.Rule{Path: path, Access: access})
}

// link keeps the links on the way to a path, where the folder that has them is hidden.
func (b *builder) link(path string) {
	for _, l := range linksTo(path) {
		if b.at(l.path).Access == sandbox.Hide && !b.seen["link "+l.path] {
			b.seen["link "+l.path] = true
			b.rules = append(b.rules, sandbox.Rule{Path: l.path, Access: sandbox.Link, From: l.target})
		}
	}
}

// leadsThroughWritable reports whether a link on the way to a path is in a folder that the agent may
// change.
func (b *builder) leadsThroughWritable(path string) bool {
	return slices.ContainsFunc(linksTo(path), func(l link) bool { return b.mayWrite(l.path) })
}

// link is a link with its target as it is written there.
type link struct{ path, target string }

// linksTo returns the links on the way to a path.
func linksTo(path string) (links []link) {
	for range maxLinks {
		at, target := firstLink(path)
		if at == "" {
			return links
		}
		links = append(links, link{at, target})
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(at), target)
		}
		path = filepath.Join(target, strings.TrimPrefix(path, at))
	}
	return links
}

// maxLinks is how many links the system follows.
const maxLinks = 40

// firstLink returns the first part of a path that is a link, and its target; "" if there is none.
func firstLink(path string) (link, target string) {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if target, err := os.Readlink(path[:i]); err == nil {
			return path[:i], target
		}
	}
	return "", ""
}

func (b *builder) mayWrite(path string) bool {
	rule := b.at(path)
	return rule.Access == sandbox.Write && rule.From == ""
}

// at returns the rule that decides about a path, as of now.
func (b *builder) at(path string) sandbox.Rule {
	decides := sandbox.Rule{Path: "/", Access: sandbox.Read}
	for _, r := range b.rules {
		if isWithin(path, r.Path) && len(r.Path) >= len(decides.Path) {
			decides = r
		}
	}
	return decides
}

// isWithin reports whether a path is a folder or in it.
func isWithin(path, folder string) bool {
	return path != "" && folder != "" && (path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/"))
}

// real returns an absolute path without links; "" if nothing is there.
func real(path string) string {
	if !filepath.IsAbs(path) {
		return ""
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return filepath.Clean(resolved)
}

// lookup returns a variable; of duplicates the last counts.
func lookup(env []string, name string) (value string) {
	for _, entry := range env {
		if key, text, _ := strings.Cut(entry, "="); key == name {
			value = text
		}
	}
	return value
}
