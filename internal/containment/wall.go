package containment

import (
	"os"
	"path/filepath"
	"strings"

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
	Temp        string // the folder that the agent has for temporary files
	Network     sandbox.Network
}

// Wall returns the wall around an agent. Its rules name only what exists, without links.
func (p Place) Wall() sandbox.Wall {
	b := builder{home: real(p.Home), seen: map[string]bool{}}
	b.hide(p.Home)
	if os.Geteuid() == 0 {
		b.hide("/root", "/home")
	}
	b.hide("/run", "/dev/shm")
	b.temporary(p)
	b.show(sockets...)
	for _, name := range shared {
		b.show(filepath.Join(p.Home, name))
	}
	for _, name := range caches {
		b.open(filepath.Join(p.Home, name))
	}
	b.variables(p.Env)
	for _, program := range p.Programs {
		b.show(programFolders(program, b.home)...)
	}
	b.show(p.Read...)
	b.open(p.Write...)
	b.hide(p.Own...)
	b.open(p.Workspace)
	b.open(p.Git...) // a folder with a rule of its own cannot be moved away
	for _, path := range p.Kept {
		b.keep(path)
	}
	for _, path := range p.GitAbsent {
		if folder := real(filepath.Dir(path)); folder != "" && b.mayWrite(folder) {
			path = filepath.Join(folder, filepath.Base(path))
			b.rules = append(b.rules, sandbox.Rule{Path: path, Access: sandbox.Read, From: os.DevNull})
		}
	}
	return sandbox.Wall{Rules: b.rules, Network: p.Network}
}

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
			b.rules = append(b.rules, sandbox.Rule{Path: path, Access: sandbox.Write, From: p.Temp})
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
		b.show(toolFolder(folder, b.home))
	}
	for _, name := range cacheVariables {
		b.open(lookup(env, name))
	}
	if gopath := lookup(env, "GOPATH"); gopath != "" {
		b.open(filepath.Join(gopath, "pkg"))
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

// open lets the agent change files and folders.
func (b *builder) open(paths ...string) {
	for _, path := range paths {
		b.add(path, sandbox.Write)
	}
}

// keep makes something read-only in a folder that the agent may change.
func (b *builder) keep(path string) {
	if path = real(path); path != "" && b.mayWrite(path) {
		b.add(path, sandbox.Read)
	}
}

func (b *builder) add(path string, access sandbox.Access) {
	resolved := real(path)
	if resolved == "" || resolved == "/" {
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
	for range maxLinks {
		link, target := firstLink(path)
		if link == "" {
			return
		}
		if b.at(link).Access == sandbox.Hide && !b.seen["link "+link] {
			b.seen["link "+link] = true
			b.rules = append(b.rules, sandbox.Rule{Path: link, Access: sandbox.Link, From: target})
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(link), target)
		}
		path = filepath.Join(target, strings.TrimPrefix(path, link))
	}
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
		if (path == r.Path || strings.HasPrefix(path, r.Path+"/")) && len(r.Path) >= len(decides.Path) {
			decides = r
		}
	}
	return decides
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
