package config

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Input is everything that can set a value.
type Input struct {
	Env         Env
	UserFile    string // "" or a file that may be missing
	ProjectFile string // likewise
	ConfigFile  string // -c: replaces the project's; must exist

	// Flags holds the values of the flags that were given, by name without dashes. A switch has "true"
	// or "false".
	Flags map[string][]string
	Set   []string // --set, each as key=value
}

// Loaded is the configuration, where it came from, and warnings about it.
type Loaded struct {
	Settings Settings
	Origins  map[string]Origin // by key; has every key of this version
	Warnings []string

	// ProjectCommands are the commands and weak settings that need the user's consent: the project's file
	// names them and they would take effect. What a flag or the environment replaces is not included.
	ProjectCommands []NamedCommand
}

// NamedCommand is a command named by a file of the repository, or a setting that weakens a gate.
type NamedCommand struct {
	Key   string `json:"key"` // the key that names it, such as checks.commands
	Value string `json:"value"`
	File  string `json:"file"`
	Line  int    `json:"line"`
	Weak  bool   `json:"weak,omitempty"` // it is no command
}

// String formats the command for the question to the user. It shows every character that a terminal
// would hide.
func (c NamedCommand) String() string {
	where := c.File
	if c.Line > 0 { // a list read from the run's own copy has no lines
		where = fmt.Sprintf("%s:%d", c.File, c.Line)
	}
	return fmt.Sprintf("%s: %s: %s", where, c.Key, quoteInvisible(c.Value))
}

// Load resolves the configuration. Every error is a *UsageError.
func Load(in Input) (Loaded, error) {
	given, warnings, err := in.layers()
	if err != nil {
		return Loaded{}, err
	}
	base := defaults()
	profile := profileNamed(merge(slices.Concat([]layer{base}, given))["profile"].value.(string))
	bundle := []layer{base, profile.layer()}
	if profile.Name == "case" {
		seed, err := in.Env.seedLayer()
		if err != nil {
			return Loaded{}, err
		}
		given = slices.Insert(slices.Clone(given), environmentIndex, seed)
	}
	merged := merge(slices.Concat(bundle, given))
	if err := cmp.Or(
		resolveAgent(merged),
		resolvePair(merged, "evaluator.agent", "evaluator.command"),
		resolvePair(merged, "tests.by", "tests.command"),
	); err != nil {
		return Loaded{}, err
	}
	resolveIdleTimeout(merged)

	loaded := Loaded{Warnings: warnings, Origins: map[string]Origin{}}
	for name, e := range merged {
		e.key.store(&loaded.Settings, e.value)
		loaded.Origins[name] = e.origin
	}
	loaded.ProjectCommands = projectCommands(merged)
	return loaded, nil
}

// layers reads every layer except the defaults, lowest first, and returns warnings.
func (in Input) layers() ([]layer, []string, error) {
	user, err := readFile(in.UserFile, LayerUser)
	if err != nil {
		return nil, nil, err
	}
	path, kind := in.ProjectFile, LayerProject
	if in.ConfigFile != "" {
		path, kind = in.ConfigFile, LayerConfig
	}
	project, err := readFile(path, kind)
	if err != nil {
		return nil, nil, err
	}
	environment, warnings, err := in.Env.layer()
	if err != nil {
		return nil, nil, err
	}
	set, err := setLayer(in.Set)
	if err != nil {
		return nil, nil, err
	}
	flags, err := in.flagLayer()
	return []layer{user, project, environment, set, flags}, warnings, err
}

// environmentIndex is the index of the environment in the result of Input.layers.
const environmentIndex = 2

// setLayer reads --set. Several values of a list add up; for any other key the last one counts.
func setLayer(pairs []string) (layer, error) {
	l, texts := layer{}, map[string]string{}
	for _, pair := range pairs {
		name, text, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		if !ok {
			return nil, &UsageError{Msg: "--set " + quote(pair) + " has no value", Hint: "write --set key=value"}
		}
		key, known := allKeys.find(name)
		if !known {
			return nil, &UsageError{Msg: "--set: unknown key " + quote(name), Hint: didYouMean(allKeys.suggest(name))}
		}
		if earlier := texts[key.Name]; key.Kind == List && earlier != "" {
			text = earlier + "\n" + text
		}
		texts[key.Name] = text
		if p := l.put(key, splitValue(key, text), Origin{Layer: LayerSet}); p != nil {
			return nil, p.from("--set " + name)
		}
	}
	return l, nil
}

// onceFlag is short for --max-iterations 1.
const onceFlag = "once"

func (in Input) flagLayer() (layer, error) {
	flags, names := map[string]Key{}, []string{onceFlag}
	for _, key := range Keys() {
		if key.Flag != "" {
			flags[key.Flag] = key
			names = append(names, key.Flag)
		}
	}
	l := layer{}
	for _, name := range slices.Sorted(maps.Keys(in.Flags)) {
		key, known := flags[name]
		values := in.Flags[name]
		switch {
		case name == onceFlag || len(values) == 0:
			continue
		case !known:
			return nil, &UsageError{Msg: "unknown flag --" + name, Hint: didYouMean(withDashes(Nearest(name, names)))}
		}
		if err := putFlag(l, key, values); err != nil {
			return nil, err
		}
	}
	return l, in.putOnce(l)
}

func putFlag(l layer, key Key, values []string) error {
	flag := withDashes(key.Flag)
	for _, value := range values {
		// An empty variable in a script must not silently mean something else.
		if strings.TrimSpace(value) == "" {
			return &UsageError{Msg: flag + ": the value is empty", Hint: key.valueHint()}
		}
	}
	g := rawValue{items: values, list: true}
	if key.Kind != List {
		g = oneItem(values[len(values)-1])
	}
	if p := l.put(key, g, Origin{Layer: LayerFlag, Name: flag}); p != nil {
		return p.from(flag)
	}
	return nil
}

func (in Input) putOnce(l layer) error {
	values := in.Flags[onceFlag]
	if len(values) == 0 {
		return nil
	}
	once, p := Key{Kind: Switch}.readSwitch(values[len(values)-1])
	key := allKeys.byName["max_iterations"]
	_, both := l[key.Name]
	switch {
	case p != nil:
		return p.from(withDashes(onceFlag))
	case once != true:
		return nil
	case both:
		return &UsageError{Msg: "--once and --max-iterations exclude each other"}
	}
	mustPut(l, key, "1", Origin{Layer: LayerFlag, Name: withDashes(onceFlag)})
	return nil
}

func withDashes(flag string) string {
	if flag == "" {
		return ""
	}
	return "--" + flag
}

// resolveAgent decides between a named agent and a command, since a run has only one of them: the
// higher layer wins. A command may be named "acp" if it speaks the Agent Client Protocol.
// Afterwards the name is "command" or "acp" if and only if there is a command, and "" if the run
// uses the first CLI found.
func resolveAgent(merged layer) error {
	name, command := merged["agent.name"], merged["agent.command"]
	named, commanded := name.value.(string), command.value.(string) != ""
	switch {
	case !commanded && (named == "command" || named == "acp"):
		return &UsageError{Msg: fmt.Sprintf("agent.name is %s (%s), but there is no agent.command", named, name.origin),
			Hint: "pass --agent-cmd, or name an agent"}
	case commanded && named == "acp" && rank(name) >= rank(command):
	case commanded && named == DefaultAgent && rank(name) == rank(command),
		commanded && (named == "" || named == "command" || rank(name) < rank(command)):
		name.value, name.origin = "command", command.origin
	case commanded && rank(name) == rank(command):
		msg := fmt.Sprintf("agent.name (%s) and agent.command (%s) exclude each other", name.origin, command.origin)
		return &UsageError{Msg: msg}
	case commanded:
		command.value, command.origin = "", name.origin
	}
	if name.value == DefaultAgent {
		name.value = ""
	}
	merged["agent.name"], merged["agent.command"] = name, command
	return nil
}

// resolvePair decides between a named agent and a command for another role in the same way.
func resolvePair(merged layer, nameKey, commandKey string) error {
	name, command := merged[nameKey], merged[commandKey]
	if name.value == "" || command.value == "" {
		return nil
	}
	switch {
	case rank(name) == rank(command):
		msg := fmt.Sprintf("%s (%s) and %s (%s) exclude each other", nameKey, name.origin, commandKey, command.origin)
		return &UsageError{Msg: msg}
	case rank(name) > rank(command):
		command.value, command.origin = "", name.origin
	default:
		name.value, name.origin = "", command.origin
	}
	merged[nameKey], merged[commandKey] = name, command
	return nil
}

// layerOrder lists the layers, lowest first.
var layerOrder = []Layer{
	LayerDefault, LayerProfile, LayerUser, LayerProject, LayerConfig, LayerEnvironment, LayerSet, LayerFlag,
}

func rank(e entry) int { return slices.Index(layerOrder, e.origin.Layer) }

// resolveIdleTimeout turns the idle timeout off for a plain command unless the user set one: such a
// command may print nothing before it ends.
func resolveIdleTimeout(merged layer) {
	idle := merged["idle_timeout"]
	if merged["agent.name"].value == "command" && rank(idle) <= rank(entry{origin: Origin{Layer: LayerProfile}}) {
		mustPut(merged, idle.key, "0", Origin{Layer: LayerDefault, Name: "for a custom command"})
	}
}

// projectCommands lists the commands that need consent, in table order.
func projectCommands(merged layer) []NamedCommand {
	var commands []NamedCommand
	for _, key := range Keys() {
		e := merged[key.Name]
		if e.origin.Layer != LayerProject {
			continue
		}
		items := consentItems(e)
		for i, item := range items {
			line := e.origin.Line
			if len(e.lines) == len(items) {
				line = e.lines[i]
			}
			commands = append(commands, NamedCommand{
				Key: key.Name, Value: item, File: e.origin.File, Line: line, Weak: !key.Command,
			})
		}
	}
	return commands
}

// consentItems returns the parts of a value that need consent. Limiting what an agent may do needs
// none.
func consentItems(e entry) []string {
	if !e.key.Command {
		return weakItems(e)
	}
	switch value := e.value.(type) {
	case []string:
		return value
	case bool:
		if value {
			return []string{"true"}
		}
	case string:
		if e.key.Metavar == "FILE" && filepath.IsLocal(value) { // a file of the repository, not the user's
			return nil
		}
		if value != "" && (len(e.key.Choices) == 0 || value == "bypass") {
			return []string{value}
		}
	}
	return nil
}

// weakItems returns the parts of a value that let a claim pass for less.
func weakItems(e entry) []string {
	if globs, ok := e.value.([]string); ok && e.key.Name == "protect" {
		isException := func(glob string) bool { return strings.HasPrefix(glob, "!") }
		return slices.DeleteFunc(slices.Clone(globs), func(glob string) bool { return !isException(glob) })
	}
	if items, ok := e.value.([]string); ok && slices.Contains(e.key.Weak, anyValue) {
		return items
	}
	if value := fmt.Sprint(e.value); slices.Contains(e.key.Weak, value) {
		return []string{value}
	}
	return nil
}
