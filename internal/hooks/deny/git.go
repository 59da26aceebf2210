package deny

import (
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/text"
)

// gitValues are options of git itself whose value is the next word.
var gitValues = []string{
	"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--exec-path",
	"--attr-source",
}

// gitCall is one call of git.
type gitCall struct {
	g        *guard
	command  string
	args     []shell.Word
	st       *state
	dir      string    // where git looks for its repository; "" if that is not known
	settings []Setting // of the command line and the environment
	open     bool      // there may be other settings
}

// git checks the arguments of git.
func (g *guard) git(args []shell.Word, st *state) string {
	c := &gitCall{g: g, st: st, dir: st.get("PWD")[0].Text(), open: st.gitOpen}
	c.addEnvironment()
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") && !mayBeOption(args[0]) {
		option, value, joined := strings.Cut(args[0].Text, "=")
		n := 1
		if !joined && slices.Contains(gitValues, option) && len(args) > 1 {
			value, n = args[1].Text, 2
		}
		c.option(option, value)
		args = args[n:]
	}
	if len(args) == 0 {
		return ""
	}
	if unknown(args[0].Text) {
		g.unsure("the command of git is only known when it runs: %s", show(args[0].Text))
		return ""
	}
	c.command, c.args = args[0].Text, args[1:]
	if why := c.started(); why != "" {
		return why
	}
	if slices.Contains(gitCommands, c.command) {
		return c.rule()
	}
	return c.alias()
}

// option notes an option of git itself.
func (c *gitCall) option(option, value string) {
	switch option {
	case "-C":
		switch {
		case unknown(value) || c.dir == "":
			c.dir = ""
		case path.IsAbs(value):
			c.dir = path.Clean(value)
		default:
			c.dir = path.Join(c.dir, value)
		}
	case "-c":
		key, value, ok := strings.Cut(value, "=")
		if !ok {
			value = "true"
		}
		c.add(key, value)
	case "--config-env":
		key, name, _ := strings.Cut(value, "=")
		for _, v := range c.st.get(name) {
			c.add(key, v.Text())
		}
	}
}

// add adds a setting.
func (c *gitCall) add(key, value string) {
	key = settingKey(key)
	c.open = c.open || unknown(key) || key == "include.path" || strings.HasPrefix(key, "includeif.")
	c.settings = append(c.settings, Setting{key, value})
}

// settingKey returns a key in its usual form: only what is between the first and the last dot keeps
// its case.
func settingKey(key string) string {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first < 0 {
		return strings.ToLower(key)
	}
	return strings.ToLower(key[:first]) + key[first:last] + strings.ToLower(key[last:])
}

// addEnvironment adds the settings in variables that the command itself sets. Those of the
// environment are in the answer of Place.GitSettings.
func (c *gitCall) addEnvironment() {
	for name, values := range c.st.variables {
		number, ok := strings.CutPrefix(name, "GIT_CONFIG_KEY_")
		for _, key := range values {
			for _, v := range c.st.get("GIT_CONFIG_VALUE_" + number) {
				if ok && key.Set {
					c.add(key.Text(), v.Text())
				}
			}
		}
		c.open = c.open || slices.Contains(configVariables, name)
	}
}

// configVariables are variables whose value is a configuration of git, or a file with one.
var configVariables = []string{"GIT_CONFIG_PARAMETERS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"}

// values returns the values of the settings whose key passes a test, for keys of which the last
// setting counts. Those on the command line decide.
func (c *gitCall) values(matches func(key string) bool) []string {
	if given := pick(c.settings, matches); len(given) > 0 {
		return given
	}
	return c.allValues(matches)
}

// allValues returns the values on the command line, those that the command made before, and those of
// the repository.
func (c *gitCall) allValues(matches func(key string) bool) []string {
	return slices.Concat(pick(c.settings, matches), pick(c.st.git, matches), pick(c.repositorySettings(), matches))
}

func pick(settings []Setting, matches func(key string) bool) (values []string) {
	for _, s := range settings {
		if matches(settingKey(s.Key)) {
			values = append(values, s.Value)
		}
	}
	return values
}

func (c *gitCall) repositorySettings() []Setting {
	if c.g.place.GitSettings == nil {
		return nil
	}
	dir := c.dir
	if dir == "" || unknown(dir) {
		dir = c.st.place.Dir
	}
	if c.g.settings == nil {
		c.g.settings = map[string][]Setting{}
	}
	settings, ok := c.g.settings[dir]
	if !ok {
		settings = c.g.place.GitSettings(dir)
		c.g.settings[dir] = settings
	}
	return settings
}

// isTrue reports whether a setting is on.
func isTrue(value string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1", ""}, strings.ToLower(value))
}

// isFalse reports whether a setting is off.
func isFalse(value string) bool {
	return slices.Contains([]string{"false", "no", "off", "0"}, strings.ToLower(value))
}

// alias checks a command that git does not have: an alias, or another program.
func (c *gitCall) alias() string {
	if c.g.calls++; c.g.calls > callLimit {
		c.g.calls--
		c.g.unsure("aliases of git call each other too often to follow them")
		return ""
	}
	defer func() { c.g.calls-- }()
	name := strings.ToLower(c.command)
	found := c.values(func(key string) bool {
		return key == "alias."+name || key == "alias."+c.command+".command"
	})
	if len(found) == 0 {
		if c.open {
			c.g.unsure("the command %s of git may be an alias that is only known when it runs", c.command)
		}
		return c.external()
	}
	for _, value := range found {
		at := c.st.clone()
		at.gitOpen = c.open
		why := ""
		if command, ok := strings.CutPrefix(strings.TrimSpace(value), "!"); ok {
			why = c.g.shell(command+` "$@"`, c.args, at)
		} else if unknown(value) {
			c.g.unsure("an alias of git is only known when it runs: %s", show(value))
		} else {
			why = c.g.git(slices.Concat(c.options(), wordsOf(value), c.args), at)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// options returns the options of git itself again.
func (c *gitCall) options() (words []shell.Word) {
	if c.dir != "" {
		words = append(words, plainWord("-C"), plainWord(c.dir))
	}
	for _, s := range c.settings {
		words = append(words, plainWord("-c"), plainWord(s.Key+"="+s.Value))
	}
	return words
}

// external checks commands that other programs add to git.
func (c *gitCall) external() string {
	if c.command == "filter-repo" {
		return whyHistory
	}
	return ""
}

// runners are settings whose value is a command.
var runners = text.LazyRegexp(`^(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy)|pager\..+|` +
	`sequence\.editor|diff\.external|gpg\.program|.+\.(?:cmd|command|textconv|clean|smudge|process|driver|uploadpack|` +
	`receivepack|vcs|helper))$`)

// runnerVariables are variables whose value is a command that git runs.
var runnerVariables = []string{
	"GIT_PAGER", "PAGER", "GIT_EDITOR", "EDITOR", "VISUAL", "GIT_SEQUENCE_EDITOR", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF",
	"GIT_ASKPASS", "GIT_PROXY_COMMAND",
}

// started checks commands that git is told to start: by settings, variables and its own commands.
func (c *gitCall) started() string {
	var commands []string
	for _, s := range c.settings {
		if runners().MatchString(s.Key) {
			commands = append(commands, strings.TrimPrefix(s.Value, "!"))
		}
	}
	at := c.st.clone()
	for _, name := range runnerVariables {
		for _, v := range at.variables[name] {
			commands = append(commands, v.Text())
		}
		delete(at.variables, name) // they would start themselves
	}
	commands = append(commands, c.argumentCommands()...)
	for _, command := range commands {
		if _, err := shell.ParseBash(command); err != nil {
			continue // git itself would fail with it
		}
		if why := c.g.shell(command, nil, at); why != "" {
			return why
		}
	}
	return ""
}

// argumentCommands returns the commands in the arguments of a command of git.
func (c *gitCall) argumentCommands() (commands []string) {
	words := wordTexts(c.args)
	switch {
	case c.command == "submodule" && len(words) > 1 && words[0] == "foreach":
		return []string{strings.Join(slices.DeleteFunc(words[1:], func(w string) bool {
			return w == "--recursive" || w == "-q" || w == "--quiet"
		}), " ")}
	case c.command == "bisect" && len(words) > 1 && words[0] == "run":
		return []string{strings.Join(words[1:], " ")}
	case c.command == "rebase":
		for i, w := range words {
			if (w == "-x" || w == "--exec") && i+1 < len(words) {
				commands = append(commands, words[i+1])
			} else if command, ok := strings.CutPrefix(w, "--exec="); ok {
				commands = append(commands, command)
			}
		}
	}
	return commands
}

// gitCommands are the commands of git itself, which no alias can replace.
var gitCommands = strings.Fields("" +
	"add am annotate apply archive backfill bisect blame branch bugreport bundle cat-file check-attr " +
	"check-ignore check-mailmap check-ref-format checkout checkout--worker checkout-index cherry " +
	"cherry-pick citool clean clone column commit commit-graph commit-tree config count-objects credential " +
	"credential-cache credential-store daemon describe diagnose diff diff-files diff-index diff-pairs " +
	"diff-tree difftool fast-export fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref " +
	"for-each-repo format-patch fsck fsmonitor--daemon gc get-tar-commit-id grep gui hash-object help " +
	"history hook http-backend http-fetch http-push imap-send index-pack init init-db instaweb " +
	"interpret-trailers last-modified log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge " +
	"merge-base merge-file merge-index merge-octopus merge-one-file merge-ours merge-recursive merge-resolve " +
	"merge-subtree merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes p4 pack-objects " +
	"pack-redundant pack-refs patch-id prune prune-packed pull push quiltimport range-diff read-tree " +
	"rebase receive-pack reflog refs remote repack replace replay repo request-pull rerere reset restore " +
	"rev-list rev-parse revert rm scalar send-email send-pack shell shortlog show show-branch show-index " +
	"show-ref sparse-checkout stage stash status stripspace submodule subtree svn switch symbolic-ref tag " +
	"unpack-file unpack-objects update-index update-ref update-server-info upload-archive upload-pack var " +
	"verify-commit verify-pack verify-tag version web--browse whatchanged worktree write-tree")
