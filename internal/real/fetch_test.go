//go:build linux

package real

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// versions returns the published versions of a package, as they were when it was first asked for.
func (p pack) versions() ([]string, error) {
	dir, err := once(filepath.Join("versions", p.Ecosystem, p.folder(p.newest)), func(dir string) error {
		list, err := p.published()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "list"), []byte(strings.Join(list, "\n")), 0o600)
	})
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "list"))
	return strings.Fields(string(text)), err
}

// folder returns the name of a version's folder in the cache.
func (p pack) folder(version string) string {
	return strings.ReplaceAll(strings.TrimPrefix(p.Name, "@"), "/", "+") + "@" + version
}

func (p pack) published() ([]string, error) {
	switch p.Ecosystem {
	case "go":
		out, err := ask(workshop.cache, "go", "list", "-m", "-versions", p.Name)
		words := strings.Fields(out)
		return words[min(1, len(words)):], err
	case "npm":
		out, err := ask(workshop.cache, "npm", "view", p.Name, "versions", "--json")
		var all []string
		if err == nil {
			err = json.Unmarshal([]byte(out), &all)
		}
		return all, err
	case "debian":
		sources, err := debianSources(p.Name)
		return slices.Sorted(maps.Keys(sources)), err
	}
	return nil, fmt.Errorf("unknown ecosystem %q", p.Ecosystem)
}

// fetch returns the folder of a version, which it downloads once.
func (p pack) fetch(version string) (string, error) {
	if p.Ecosystem == "go" {
		out, err := ask(workshop.cache, "go", "mod", "download", "-json", p.Name+"@"+version)
		var module struct{ Dir string }
		if err == nil {
			err = json.Unmarshal([]byte(out), &module)
		}
		return module.Dir, err
	}
	return once(filepath.Join(p.Ecosystem, p.folder(version)), func(dir string) error {
		if p.Ecosystem == "npm" {
			file, err := ask(dir, "npm", "pack", "--silent", p.Name+"@"+version)
			if err != nil {
				return err
			}
			return unpack(dir, strings.TrimSpace(file))
		}
		sources, err := debianSources(p.Name)
		if err != nil {
			return err
		}
		if _, err := ask(dir, "apt-get", "source", "--download-only", "--tar-only", p.Name+"="+sources[version]); err != nil {
			return err
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*.orig.tar.[bgx]z*"))
		if len(files) != 1 {
			return fmt.Errorf("unpack %s: it has %d upstream archives", p.Name, len(files))
		}
		return unpack(dir, filepath.Base(files[0]))
	})
}

var imported = regexp.MustCompile(`(?:require\(|from |import )['"]((?:@[^/'"]+/)?[^./'"][^/'"]*)`)

// modules returns a folder with the npm packages that the newest version needs: its dependencies, what
// its test files import, and what the check runs.
func (p pack) modules() (string, error) {
	folder, err := p.fetch(p.newest)
	if err != nil {
		return "", err
	}
	files, err := readTree(folder)
	if err != nil {
		return "", err
	}
	var manifest struct{ Dependencies, DevDependencies map[string]string }
	if err := json.Unmarshal([]byte(files["package.json"].text), &manifest); err != nil {
		return "", err
	}
	wanted := maps.Clone(manifest.Dependencies)
	if wanted == nil {
		wanted = map[string]string{}
	}
	for name, f := range files {
		for _, match := range imported.FindAllStringSubmatch(f.text, -1) {
			if of, listed := manifest.DevDependencies[match[1]]; listed && isTest(p.Ecosystem, name) {
				wanted[match[1]] = of
			}
		}
	}
	if runner := strings.Fields(p.check)[1]; manifest.DevDependencies[runner] != "" {
		wanted[runner] = manifest.DevDependencies[runner]
	}
	if len(wanted) == 0 {
		return "", nil
	}
	return once(filepath.Join("npm-modules", p.folder(p.newest)), func(dir string) error {
		text, err := json.Marshal(map[string]any{"dependencies": wanted})
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "package.json"), text, 0o600); err != nil {
			return err
		}
		_, err = ask(dir, "npm", "install", "--loglevel=error", "--ignore-scripts", "--no-audit", "--no-fund",
			"--no-package-lock")
		return err
	})
}

// fetching has a lock for each folder of the cache.
var fetching sync.Map

// once returns a folder of the cache, filled by the first call that succeeds.
func once(name string, fill func(dir string) error) (string, error) {
	lock, _ := fetching.LoadOrStore(name, new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	dir := filepath.Join(workshop.cache, name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	begun, err := os.MkdirTemp(filepath.Dir(dir), ".begun-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(begun)
	if err := fill(begun); err != nil {
		return "", err
	}
	return dir, os.Rename(begun, dir)
}

// unpack unpacks an archive with one top folder, and removes the archive.
func unpack(dir, archive string) error {
	if _, err := ask(dir, "tar", "--extract", "--file", archive, "--strip-components=1", "--no-same-owner"); err != nil {
		return err
	}
	return os.Remove(filepath.Join(dir, archive))
}

// ask runs a program that downloads, and returns what it prints.
func ask(dir string, argv ...string) (string, error) {
	command := exec.Command(argv[0], argv[1:]...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOTOOLCHAIN=local")
	if strings.HasPrefix(argv[0], "apt-") {
		settings, err := aptSettings()
		if err != nil {
			return "", err
		}
		command.Env = append(command.Env, "APT_CONFIG="+settings)
	}
	out, err := command.Output()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, exit.Stderr)
	}
	return string(out), err
}

// debianSources returns the versions of a source package by their upstream versions.
func debianSources(name string) (map[string]string, error) {
	out, err := ask(workshop.cache, "apt-cache", "showsrc", name)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^Version: (\S+)$`).FindAllStringSubmatch(out, -1) {
		version := match[1]
		if _, rest, epoch := strings.Cut(version, ":"); epoch {
			version = rest
		}
		upstream := regexp.MustCompile(`([+.](dfsg|ds|repack).*)?(-[^-]*)?$`).ReplaceAllString(version, "")
		found[upstream] = match[1]
	}
	return found, nil
}

// suites are those that every mirror of Debian has.
var suites = []string{"oldoldstable", "oldstable", "stable", "testing", "unstable"}

// aptSettings returns the settings of an apt of our own, for source packages. It uses the mirror that
// this machine gets its packages from, and leaves the system's apt alone.
var aptSettings = sync.OnceValues(func() (string, error) {
	mirror, keys, err := debianMirror()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(workshop.cache, "apt")
	for _, folder := range []string{"state/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return "", err
		}
	}
	var sources strings.Builder
	for _, suite := range suites {
		fmt.Fprintf(&sources, "deb-src%s %s %s main\n", keys, mirror, suite)
	}
	settings := filepath.Join(dir, "apt.conf")
	for file, text := range map[string]string{
		filepath.Join(dir, "sources.list"): sources.String(),
		settings: fmt.Sprintf("Dir::State %q;\nDir::Cache %q;\nDir::Etc::SourceList %q;\nDir::Etc::SourceParts \"-\";\n"+
			"Acquire::Languages \"none\";\nAPT::Sandbox::User \"\";\n",
			filepath.Join(dir, "state"), filepath.Join(dir, "cache"), filepath.Join(dir, "sources.list")),
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	if lists, _ := filepath.Glob(filepath.Join(dir, "state/lists/*_Sources*")); len(lists) >= len(suites) {
		return settings, nil
	}
	update := exec.Command("apt-get", "update")
	update.Env = append(os.Environ(), "APT_CONFIG="+settings)
	if out, err := update.CombinedOutput(); err != nil {
		return "", fmt.Errorf("update source lists: %w\n%s", err, out)
	}
	return settings, nil
})

// debianMirror returns the address of this machine's mirror of Debian, and the option that names its
// keys.
func debianMirror() (address, keys string, err error) {
	files, _ := filepath.Glob("/etc/apt/sources.list.d/*")
	for _, file := range append(files, "/etc/apt/sources.list") {
		text, _ := os.ReadFile(file)
		for part := range strings.SplitSeq(string(text), "\n\n") {
			uri := regexp.MustCompile(`(?m)^URIs: *(\S+/debian/?)$`).FindStringSubmatch(part)
			if uri == nil {
				uri = regexp.MustCompile(`(?m)^deb (?:\[.*\] )?(\S+/debian/?) `).FindStringSubmatch(part)
			}
			if uri == nil {
				continue
			}
			if key := regexp.MustCompile(`(?i)signed-by[:=] *([^\s\]]+)`).FindStringSubmatch(part); key != nil {
				keys = " [signed-by=" + key[1] + "]"
			}
			return uri[1], keys, nil
		}
	}
	return "", "", errors.New("find a mirror of Debian: this machine gets no packages from one")
}
