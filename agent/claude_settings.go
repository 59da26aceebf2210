package agent

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// claudeFolder returns the folder of the user's own settings, and the file beside it that has the
// user's servers.
func claudeFolder(look Look) (dir, global string) {
	if own := look.Env("CLAUDE_CONFIG_DIR"); own != "" {
		return own, filepath.Join(own, ".claude.json")
	}
	return filepath.Join(look.Home, ".claude"), filepath.Join(look.Home, ".claude.json")
}

// claudeUser are the user's own files.
type claudeUser struct {
	look     Look
	dir      string
	global   string
	settings jsonObject // nil if there are none
	broken   bool       // there are, but not as JSON: the CLI ignores the whole file, too
}

func claudeUserOf(look Look) claudeUser {
	u := claudeUser{look: look}
	if look.Env == nil {
		return u
	}
	u.dir, u.global = claudeFolder(look)
	if content, ok := look.file(filepath.Join(u.dir, "settings.json")); ok {
		u.settings = parseObject(content)
		u.broken = u.settings == nil && content != nil
	}
	return u
}

// claudePersonal are the settings that do not belong in a run: those that name a program for a
// person's session, choose files that a run does not load, or start servers and plugins. All others
// stay, also those that a later version may add: a rule that is lost does more harm than a setting
// too many. Programs that provide a login stay as well.
var claudePersonal = []string{
	"hooks", "statusLine", "subagentStatusLine", "fileSuggestion",
	"enabledPlugins", "pluginConfigs", "extraKnownMarketplaces", "additionalMarketplaces",
	"enableAllProjectMcpServers", "enabledMcpjsonServers",
	"outputStyle", "agent",
}

// claudeSettings returns the settings for a run: the user's, without what does not belong in it.
// They can only narrow what the agent may do. "" means that there are none.
//
// The CLI reads them with --settings instead of from the user's folder. Then a rule for /x means a
// file beside the settings, and another one if they are elsewhere, so it is written in full.
func claudeSettings(u claudeUser, permissions Permissions) string {
	kept := jsonObject{}
	for name, value := range u.settings {
		kept[name] = value
	}
	for _, name := range claudePersonal {
		delete(kept, name)
	}
	if rules := kept.object("permissions"); rules != nil {
		for _, name := range []string{"allow", "additionalDirectories", "defaultMode"} {
			delete(rules, name)
		}
		for _, name := range []string{"deny", "ask"} {
			if list, ok := rules.strings(name); ok {
				rules.set(name, text.Mapped(list, func(rule string) string { return claudeRooted(rule, u.dir) }))
			}
		}
		kept.set("permissions", rules)
	}
	if sandbox := kept.object("sandbox"); sandbox != nil {
		claudeSandbox(sandbox, u.dir)
		if permissions != PermitAll { // a sandbox is no reason to allow more commands
			sandbox.set("autoAllowBashIfSandboxed", false)
		}
		kept.set("sandbox", sandbox)
	}
	if len(kept) == 0 {
		return ""
	}
	return kept.String()
}

// claudeFileRule matches a rule for files whose path starts at the folder of its settings.
var claudeFileRule = text.LazyRegexp(`^(Read|Edit|Write|MultiEdit|Notebook\w+|Glob|Grep|LS)\(/([^/].*)\)$`)

// claudeRooted writes a rule so that it means the same in any settings file.
func claudeRooted(rule, dir string) string {
	m := claudeFileRule().FindStringSubmatch(rule)
	if m == nil {
		return rule
	}
	root := filepath.ToSlash(dir)
	if drive := filepath.VolumeName(dir); len(drive) == 2 { // C:/x is written //c/x
		root = "/" + strings.ToLower(drive[:1]) + root[2:]
	}
	return m[1] + "(/" + strings.TrimSuffix(root, "/") + "/" + m[2] + ")"
}

// claudeSandbox makes the paths of a sandbox absolute, which are relative to their settings.
func claudeSandbox(sandbox jsonObject, dir string) {
	files := sandbox.object("filesystem")
	for name := range files {
		if list, ok := files.strings(name); ok {
			files.set(name, text.Mapped(list, func(path string) string {
				if filepath.IsAbs(path) || strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~") {
					return path
				}
				return filepath.Join(dir, path)
			}))
		}
	}
	if files != nil {
		sandbox.set("filesystem", files)
	}
}

// claudeSources returns the flags, and the files that they name, by which a run gets the settings
// that belong in it: the project's and the user's, without what starts other programs.
//
// A reviewer gets the user's rules, but nothing of the project, whose settings may name programs,
// and no memory.
func claudeSources(r Request) (argv []string, files []File) {
	reading, sources := r.Permissions == PermitReading, "project,local"
	switch {
	case reading:
		sources = ""
	case r.InheritSettings:
		return nil, nil
	}
	argv = append(argv, "--setting-sources", sources)
	folder, u := cmp.Or(r.Folder, filepath.Dir(r.PromptFile)), claudeUserOf(r.Look)
	if settings := claudeSettings(u, r.Permissions); settings != "" && !hasFlag(r.ExtraArgs, "--settings") {
		file := filepath.Join(folder, "claude-settings.json")
		files = append(files, File{Path: file, Text: settings}) // they may hold keys
		argv = append(argv, "--settings", file)
	}
	// This also excludes the project's .mcp.json.
	return append(argv, "--strict-mcp-config"), files
}

// claudeInstructions returns the flag for the user's memory, and the file that it names. Of two such
// flags the last one counts, so this one comes after the user's own, and its file has the text of
// theirs, too.
func claudeInstructions(r Request) (argv []string, files []File) {
	const flag = "--append-system-prompt-file"
	if r.InheritSettings || r.Permissions == PermitReading {
		return nil, nil
	}
	memory := claudeMemory(claudeUserOf(r.Look))
	if memory == "" {
		return nil, nil
	}
	if theirs, ok := flagValue(r.ExtraArgs, flag); ok {
		if !filepath.IsAbs(theirs) {
			theirs = filepath.Join(r.Dir, theirs)
		}
		content, ok := r.Look.file(theirs)
		if !ok || content == nil { // the CLI says what is wrong with it
			return nil, nil
		}
		memory += "\n" + string(content)
	}
	file := filepath.Join(cmp.Or(r.Folder, filepath.Dir(r.PromptFile)), "claude-memory.md")
	return []string{flag, file}, []File{{Path: file, Text: memory}}
}

// claudeOwn is [About.Own] of Claude Code.
func claudeOwn(r Request) Own {
	var own Own
	u := claudeUserOf(r.Look)
	if u.broken {
		own.Notes = append(own.Notes, "claude ignores "+filepath.Join(u.dir, "settings.json")+", which is not valid JSON")
	}
	if u.settings != nil && hasFlag(r.ExtraArgs, "--settings") {
		own.LeftOut = append(own.LeftOut, "all of settings.json (you pass --settings)")
	}
	own.leaveOut(countHooks(u.settings.object("hooks")), "hook")
	own.leaveOut(u.plugins(), "plugin")
	own.leaveOut(u.servers(r.Dir), "MCP server")
	allowed, _ := u.settings.object("permissions").strings("allow")
	own.leaveOut(len(allowed), "allow rule")
	for _, kind := range []string{"skill", "agent", "command"} {
		own.leaveOut(u.look.countEntries(filepath.Join(u.dir, kind+"s")), kind)
	}
	if u.settings.word("outputStyle") != "" {
		own.leaveOut(1, "output style")
	}
	return own
}

func (u claudeUser) plugins() (n int) {
	for _, enabled := range u.settings.object("enabledPlugins") {
		if string(enabled) != "false" {
			n++
		}
	}
	return n
}

// servers counts the user's servers for all projects and for this one.
func (u claudeUser) servers(dir string) int {
	global := u.look.readObject(u.global)
	return len(global.object("mcpServers")) + len(global.object("projects").object(dir).object("mcpServers"))
}

// claudeCloudVariables returns the variables of a cloud that the user's settings switch on.
func claudeCloudVariables(look Look) (names []string) {
	env := claudeUserOf(look).settings.object("env")
	for _, cloud := range claudeClouds {
		if isOn(env.word(cloud.variable)) {
			names = append(names, cloud.credentials...)
		}
	}
	return names
}
