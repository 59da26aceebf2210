package containment

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// systemFolders belong to the image, or to the run. A command line may name them, but the host's must not
// cover them.
var systemFolders = []string{
	"/", "/bin", "/dev", "/etc", "/home", "/lib", "/lib64", "/opt", "/proc", "/root", "/run", "/sbin", "/sys", "/tmp",
	"/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin", "/usr/local/sbin", "/usr/sbin", "/var", "/var/tmp",
}

// containerWall returns the wall of a container, which shows nothing of the host that it does not name.
// Home and the folder for temporary files are folders of the run.
func (p Place) containerWall() sandbox.Wall {
	b := builder{home: real(p.Home), seen: map[string]bool{}}
	own := func(path, name string) {
		if filepath.IsAbs(path) && path != "/" {
			b.rules = append(b.rules, sandbox.Rule{Path: path, Access: sandbox.Write, From: filepath.Join(p.Temp, name)})
		}
	}
	own(p.Home, homeName)
	own("/tmp", tempName)
	own("/var/tmp", tempName)
	for _, path := range slices.Concat(p.Read, p.Programs) {
		if path = real(path); !slices.Contains(systemFolders, path) && path != b.home && !b.mayWrite(path) {
			b.add(path, sandbox.Read)
		}
	}
	b.openAll(p.Write)
	b.copies(p.Copies)
	b.hideOwn(p.Own)
	b.open(p.Workspace)
	b.open(p.Git...)
	for _, path := range p.Kept {
		b.keep(path)
	}
	b.keepAbsent(p.GitAbsent, p.Empty)
	for _, path := range p.Needs { // what Ralph made for this command, in a folder of its own
		b.add(path, sandbox.Read)
	}
	return sandbox.Wall{Rules: b.rules, Network: p.Network, Limits: p.Limits}
}

// Folders of a room.
const (
	homeName = "home"
	tempName = "tmp"
)

// throughView turns a view of the workspace, which only this machine can mount, into rules: the workspace
// cannot be changed, and files that the view replaces are shown instead. Those that are missing in the
// workspace stay missing.
func throughView(e *process.Enclosure, workspace, empty string) (rules []sandbox.Rule) {
	if e == nil || len(e.Mounts) == 0 {
		return nil
	}
	rules = []sandbox.Rule{{Path: workspace, Access: sandbox.Read}}
	instead := func(path, source string) {
		if info, err := os.Lstat(path); err == nil && !info.IsDir() {
			rules = append(rules, sandbox.Rule{Path: path, Access: sandbox.Read, From: source})
		}
	}
	for _, m := range e.Mounts {
		switch m.Kind {
		case process.Bind:
			rules = append(rules, sandbox.Rule{Path: m.Target, Access: sandbox.Read, From: m.Source})
		case process.Overlay:
			_ = filepath.WalkDir(m.Upper, func(path string, entry fs.DirEntry, err error) error {
				target := m.Target + strings.TrimPrefix(path, m.Upper)
				switch {
				case err != nil:
				case entry.Type().IsRegular():
					instead(target, path)
				case entry.Type()&fs.ModeCharDevice != 0: // it was deleted
					instead(target, empty)
				}
				return nil
			})
		}
	}
	for _, edit := range e.Edits {
		source := edit.Source
		if source == "" {
			source = empty
		}
		instead(filepath.Join(e.Root, filepath.FromSlash(edit.Name)), source)
	}
	return rules
}

// enterContainer makes a command start in a container.
func (r *Room) enterContainer(s *process.Spec, place Place) {
	id, uid, gid := r.docker.user(place.Workspace)
	workspace := place.Workspace
	wall := place.containerWall()
	wall.Rules = append(wall.Rules, throughView(s.Enclosure, workspace, r.empty)...)
	if s.Enclosure != nil && s.Enclosure.NoNetwork {
		wall.Network = sandbox.Off
	}
	s.Enclosure = nil
	if wall.Limits.Processes == 0 {
		wall.Limits.Processes = maxProcesses
	}
	wall.Box = sandbox.Box{
		Name: fmt.Sprintf("ralph-%s-%d-%d", r.run, os.Getpid(), r.started.Add(1)), Run: r.run, Image: place.Image, User: id,
		Init: true,
	}
	r.prepareMounts(wall.Rules, place.Needs, uid, gid)
	dir := s.Dir
	if resolved := real(dir); resolved != "" {
		dir = resolved
	}
	command := sandbox.Docker.Enclose(sandbox.Command{Argv: s.Argv, Dir: dir, Env: withoutTools(s.Env)}, wall)
	s.Argv, s.Dir, s.Env = command.Argv, command.Dir, r.docker.clientEnv(command.Env)
	s.Argv[0] = r.docker.program
	s.Ended = r.docker.afterContainer(wall.Box.Name)
}

// prepareMounts makes what is mounted inside of the room's own folders, as an engine would do as root, and
// gives the container's user what Ralph made for it. Errors show when the container starts.
func (r *Room) prepareMounts(rules []sandbox.Rule, needs []string, uid, gid int) {
	for _, rule := range rules {
		if rule.From == "" || !isWithin(rule.From, r.temp) || rule.Access != sandbox.Write {
			continue
		}
		_ = makeFolder(rule.From, uid, gid)
		for _, inner := range rules {
			if inner.Path == rule.Path || !isWithin(inner.Path, rule.Path) {
				continue
			}
			target := rule.From + strings.TrimPrefix(inner.Path, rule.Path)
			if info, err := os.Stat(inner.Path); err == nil && !info.IsDir() {
				_ = makeFolder(filepath.Dir(target), uid, gid)
				_ = touch(target)
			} else {
				_ = makeFolder(target, uid, gid)
			}
		}
	}
	if uid == os.Geteuid() {
		return
	}
	for _, folder := range needs {
		_ = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				_ = os.Lchown(path, uid, gid)
			}
			return nil
		})
	}
}

// makeFolder makes a folder, with those above it, that belongs to a user.
func makeFolder(path string, uid, gid int) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	if err := makeFolder(filepath.Dir(path), uid, gid); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return fmt.Errorf("make folder for a container: %w", err)
	}
	if uid != os.Geteuid() && uid >= 0 {
		return os.Lchown(path, uid, gid)
	}
	return nil
}

// touch makes a file, unless it is there.
func touch(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// withoutTools leaves out the variables with folders of the host's toolchains.
func withoutTools(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(toolVariables, name) || slices.Contains(cacheVariables, name) || name == "LD_LIBRARY_PATH"
	})
}

// clientEnv adds what the client needs to find its engine.
func (e engine) clientEnv(env []string) []string {
	for _, entry := range e.env {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "DOCKER_") || name == "PATH" || name == "XDG_RUNTIME_DIR" {
			env = append(env, entry)
		}
	}
	return env
}
