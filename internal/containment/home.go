package containment

import (
	"path/filepath"
	"slices"
	"strings"
)

// settings are files below home that programs read, and that contain no secrets. An agent can read them.
var settings = []string{
	".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes", ".gitignore",
	".gitignore_global", ".gitattributes", ".editorconfig", ".terminfo", ".tool-versions", ".mise.toml",
	".config/mise/config.toml", ".config/mise/settings.toml", ".asdfrc", ".nvmrc", ".node-version", ".python-version",
	".ruby-version",
}

// toolchains are folders and files below home that programs need to work, and that contain no secrets.
// Agents and checks can read them. Folders of tools that also keep logins are named by their parts.
var toolchains = []string{
	".asdf", ".bun/bin", ".bun/install/global", ".cargo/bin", ".cargo/config", ".cargo/config.toml", ".cargo/env",
	".deno", ".dotnet/dotnet", ".dotnet/host", ".dotnet/packs", ".dotnet/sdk", ".dotnet/shared", ".dotnet/tools", ".fnm",
	".gem/ruby", ".ghcup", ".jenv", ".linuxbrew", ".local/bin", ".local/lib", ".local/share/coursier", ".local/share/fnm",
	".local/share/mise", ".local/share/pipx", ".local/share/pnpm", ".local/share/pypoetry", ".local/share/uv/python",
	".local/share/uv/tools", ".local/share/virtualenvs", ".nix-defexpr", ".nix-profile", ".npm-global", ".nvm", ".opam",
	".proto", ".pyenv", ".rbenv", ".rustup", ".rvm", ".sdkman", ".volta", ".yarn", "Android/Sdk", "anaconda3", "go/bin",
	"miniconda3", "miniforge3", "sdk",
}

// caches are folders below home that programs fill. An agent can change them, so that it does not
// download everything in each iteration. Ralph's own checks do not use these of its builds. Other
// folders in .cache are not named, because some have logins or the user's own files.
var caches = []string{
	".bun/install/cache", ".cargo/git", ".cargo/registry", ".gradle/caches", ".gradle/wrapper", ".ivy2/cache",
	".local/share/pnpm/store", ".m2/repository", ".npm", ".nuget/packages", ".pnpm-store", ".rustup/tmp", ".yarn/berry",
	"go/pkg", "Library/Caches",
	".cache/Cypress", ".cache/bazel", ".cache/bazelisk", ".cache/black", ".cache/buf", ".cache/ccache", ".cache/composer",
	".cache/coursier", ".cache/deno", ".cache/electron", ".cache/fontconfig", ".cache/go-build", ".cache/golangci-lint",
	".cache/goimports", ".cache/gopls", ".cache/huggingface/datasets", ".cache/huggingface/hub", ".cache/matplotlib",
	".cache/ms-playwright", ".cache/node", ".cache/node-gyp", ".cache/pdm", ".cache/pip", ".cache/pnpm", ".cache/prisma",
	".cache/puppeteer", ".cache/pypoetry", ".cache/ruff", ".cache/sccache", ".cache/staticcheck", ".cache/torch",
	".cache/turbo", ".cache/typescript", ".cache/uv", ".cache/yarn", ".cache/zig",
}

// firstCaches are the caches without which a program does not work at all. They are made where that
// program is installed, as it would do itself at its first start.
var firstCaches = map[string][]string{
	"go": {".cache/go-build", "go/pkg"}, "npm": {".npm"}, "cargo": {".cargo/registry"}, "uv": {".cache/uv"},
	"mvn": {".m2/repository"},
}

// cacheVariables name folders of the same kind.
var cacheVariables = []string{
	"GOMODCACHE", "GOCACHE", "npm_config_cache", "NPM_CONFIG_CACHE", "YARN_CACHE_FOLDER", "PIP_CACHE_DIR", "UV_CACHE_DIR",
	"CCACHE_DIR", "SCCACHE_DIR", "NUGET_PACKAGES",
}

// cacheParts name folders with caches in them, and what else they contain stays hidden.
var cacheParts = map[string][]string{
	"GOPATH": {"pkg"}, "GRADLE_USER_HOME": {"caches", "wrapper"}, "CARGO_HOME": {"registry", "git"},
}

// toolVariables name folders of toolchains.
var toolVariables = []string{
	"GOROOT", "RUSTUP_HOME", "JAVA_HOME", "NVM_DIR", "PYENV_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX", "VOLTA_HOME",
	"SDKMAN_DIR", "DOTNET_ROOT", "NODE_PATH",
}

// secretFolders are what only root can read, and programs do not need. Files of the same kind in /etc
// stay readable for an agent that root starts.
var secretFolders = []string{
	"/root", "/etc/ssh", "/etc/ssl/private", "/etc/letsencrypt", "/etc/kubernetes", "/etc/wireguard", "/etc/openvpn",
	"/var/backups", "/var/lib/containerd", "/var/lib/docker", "/var/lib/kubelet", "/var/spool/cron",
}

// sockets are the folders in /run of services that programs use. The rest of /run has sockets of the
// system, such as Docker's, by which a program could leave the sandbox.
var sockets = []string{
	"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/nscd", "/run/postgresql", "/run/mysqld",
	"/run/redis", "/run/memcached", "/run/netns", "/run/current-system", "/run/wrappers",
}

// besidePrograms are what toolchains have beside the folder of their programs. Logins have other names:
// ~/.docker/bin is in PATH, and ~/.docker/config.json has passwords.
var besidePrograms = []string{
	"VERSION", "boot", "conf", "go.env", "include", "init.d", "jmods", "jre", "lib", "lib64", "libexec", "node_modules",
	"packages", "pkg", "plugins", "pyvenv.cfg", "release", "share", "src", "version", "versions",
}

// toolFolders returns what the programs in a folder of PATH need: the folder, and what toolchains have
// beside it.
func toolFolders(folder, home string) []string {
	folders := []string{folder}
	base, parent := filepath.Base(folder), filepath.Dir(folder)
	if base != "bin" && base != "sbin" && base != "shims" || parent == "/" || parent == home ||
		slices.Contains([]string{".local", ".cargo"}, filepath.Base(parent)) {
		return folders
	}
	for _, name := range besidePrograms {
		folders = append(folders, filepath.Join(parent, name))
	}
	return folders
}

// programFolders returns the folders that a program needs: those of its path and of what it links to. A
// package of npm needs the packages beside it.
func programFolders(program, home string) (folders []string) {
	add := func(path string) {
		if before, _, found := strings.Cut(path, "/node_modules/"); found {
			folders = append(folders, before+"/node_modules")
			return
		}
		folders = append(folders, toolFolders(filepath.Dir(path), home)...)
	}
	add(program)
	if target, err := filepath.EvalSymlinks(program); err == nil && target != program {
		add(target)
	}
	return folders
}
