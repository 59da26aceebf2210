package containment

import (
	"path/filepath"
	"slices"
	"strings"
)

// shared are folders and files below home that programs need to work, and that contain no secrets. An
// agent can read them.
var shared = []string{
	// settings of git, editors and version managers
	".gitconfig", ".config/git", ".gitignore", ".gitignore_global", ".gitattributes", ".editorconfig", ".terminfo",
	".tool-versions", ".mise.toml", ".config/mise", ".asdfrc", ".nvmrc", ".node-version", ".python-version",
	".ruby-version",
	// toolchains
	".asdf", ".bun", ".cargo/bin", ".cargo/config", ".cargo/config.toml", ".cargo/env", ".deno", ".dotnet", ".fnm",
	".gem", ".ghcup", ".jenv", ".linuxbrew", ".local/bin", ".local/lib", ".local/share/fnm", ".local/share/mise",
	".local/share/pipx", ".local/share/pnpm", ".local/share/uv", ".local/share/virtualenvs", ".nix-defexpr",
	".nix-profile", ".npm-global", ".nvm", ".opam", ".proto", ".pyenv", ".rbenv", ".rustup", ".rvm", ".sdkman",
	".volta", ".yarn", "go/bin", "miniconda3", "anaconda3", "sdk",
}

// caches are folders below home that programs fill. An agent can change them, so that it does not
// download everything in each iteration. Ralph's own checks do not use these of its builds.
var caches = []string{
	".bun/install/cache", ".cache", ".cargo/git", ".cargo/registry", ".gradle/caches", ".gradle/wrapper",
	".ivy2/cache", ".local/share/pnpm/store", ".m2/repository", ".npm", ".nuget/packages", ".pnpm-store", ".rustup/tmp",
	".yarn/berry", "go/pkg", "Library/Caches",
}

// cacheVariables name folders of the same kind.
var cacheVariables = []string{
	"GOMODCACHE", "GOCACHE", "npm_config_cache", "NPM_CONFIG_CACHE", "YARN_CACHE_FOLDER", "PIP_CACHE_DIR", "UV_CACHE_DIR",
	"XDG_CACHE_HOME", "CCACHE_DIR", "SCCACHE_DIR", "GRADLE_USER_HOME", "NUGET_PACKAGES",
}

// toolVariables name folders of toolchains.
var toolVariables = []string{
	"GOROOT", "GOPATH", "RUSTUP_HOME", "JAVA_HOME", "NVM_DIR", "PYENV_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX", "VOLTA_HOME",
	"BUN_INSTALL", "DENO_INSTALL", "SDKMAN_DIR", "DOTNET_ROOT", "NODE_PATH",
}

// sockets are the folders in /run of services that programs use. The rest of /run has sockets of the
// system, such as Docker's, by which a program could leave the sandbox.
var sockets = []string{
	"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/nscd", "/run/postgresql", "/run/mysqld",
	"/run/redis", "/run/memcached", "/run/netns", "/run/current-system", "/run/wrappers",
}

// toolFolder returns the folder that a program in a folder of PATH needs: programs in a folder named bin
// use what is beside it, except where home itself or a folder with secrets is beside it.
func toolFolder(folder, home string) string {
	base, parent := filepath.Base(folder), filepath.Dir(folder)
	if base != "bin" && base != "sbin" && base != "shims" {
		return folder
	}
	if parent == "/" || parent == home || slices.Contains([]string{".local", ".cargo"}, filepath.Base(parent)) {
		return folder
	}
	return parent
}

// programFolders returns the folders that a program needs: those of its path and of what it links to. A
// package of npm needs the packages beside it.
func programFolders(program, home string) (folders []string) {
	add := func(path string) {
		if before, _, found := strings.Cut(path, "/node_modules/"); found {
			folders = append(folders, before+"/node_modules")
			return
		}
		folders = append(folders, toolFolder(filepath.Dir(path), home))
	}
	add(program)
	if target, err := filepath.EvalSymlinks(program); err == nil && target != program {
		add(target)
	}
	return folders
}
