package config

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Input is everything that a user can have said.
type Input struct {
	Env         Env
	UserFile    string // "" or a file that need not be there
	ProjectFile string // likewise
	ConfigFile  string // -c: read in place of the project's; must be there

	// Flags holds the values of the flags that were given, by name without dashes. A switch has "true" or "false".
	Flags map[string][]string
	Set   []string // --set, each as key=value
}

// Loaded is the configuration and what is to be said about it.
type Loaded struct {
	Settings Settings
	Origins  map[string]Origin // by key; every key of this version is there
	Warnings []string

	// ProjectCommands are the commands that the project's own file names and that would take effect: what needs the user's consent. A command
	// that a flag or the environment replaces is not among them.
	ProjectCommands []NamedCommand
}

// NamedCommand is a command that a file of the repository names.
type NamedCommand struct {
	Key   string `json:"key"` // what it is for, such as checks.commands
	Value string `json:"value"`
	File  string `json:"file"`
	Line  int    `json:"line"`
}

// String is the command as a person is asked about it, with nothing in it that a terminal would hide.
func (c NamedCommand) String() string {
	where := c.File
	if c.Line > 0 { // a list that is known by its copy has no lines
		where = fmt.Sprintf("%s:%d", c.File, c.Line)
	}
	return fmt.Sprintf("%s: %s: %s", where, c.Key, visible(c.Value))
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
		given = slices.Insert(slices.Clone(given), environmentAt, seed)
	}
	merged := merge(slices.Concat(bundle, given))
	if err := cmp.Or(settleAgent(merged), settleEvaluator(merged)); err != nil {
		return Loaded{}, err
	}
	settleIdle(merged)

	loaded := Loaded{Warnings: warnings, Origins: map[string]Origin{}}
	for name, e := range merged {
		e.key.store(&loaded.Settings, e.value)
		loaded.Origins[name] = e.origin
	}
	loaded.ProjectCommands = projectCommands(merged)
	return loaded, nil
}

// layers reads what the user said, lowest first.
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

// environmentAt is where the environment stands among the layers.
const environmentAt = 2

// setLayer reads --set. A list's items add up over several of them; of anything else the last one counts.
func setLayer(pairs []string) (layer, error) {
	l, texts := layer{}, map[string]string{}
	for _, pair := range pairs {
		name, text, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		if !ok {
			return nil, &UsageError{Msg: "--set " + quote(pair) + " has no value", Hint: "write --set key=value"}
		}
		key, known := words.find(name)
		if !known {
			return nil, &UsageError{Msg: "--set: unknown key " + quote(name), Hint: didYouMean(words.suggest(name))}
		}
		if earlier := texts[key.Name]; key.Kind == List && earlier != "" {
			text = earlier + "\n" + text
		}
		texts[key.Name] = text
		if p := l.put(key, lines(key, text), Origin{Layer: LayerSet}); p != nil {
			return nil, p.from("--set " + name)
		}
	}
	return l, nil
}

// onceFlag stands for --max-iterations 1.
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
			return nil, &UsageError{Msg: "unknown flag --" + name, Hint: didYouMean(dashed(Nearest(name, names)))}
		}
		if err := putFlag(l, key, values); err != nil {
			return nil, err
		}
	}
	return l, in.putOnce(l)
}

func putFlag(l layer, key Key, values []string) error {
	flag := dashed(key.Flag)
	for _, value := range values {
		// A script's empty variable must not quietly mean something else.
		if strings.TrimSpace(value) == "" {
			return &UsageError{Msg: flag + ": the value is empty", Hint: key.wants()}
		}
	}
	g := given{items: values, list: true}
	if key.Kind != List {
		g = one(values[len(values)-1])
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
	key := words.byName["max_iterations"]
	_, both := l[key.Name]
	switch {
	case p != nil:
		return p.from(dashed(onceFlag))
	case once != true:
		return nil
	case both:
		return &UsageError{Msg: "--once and --max-iterations exclude each other"}
	}
	mustPut(l, key, "1", Origin{Layer: LayerFlag, Name: dashed(onceFlag)})
	return nil
}

func dashed(flag string) string {
	if flag == "" {
		return ""
	}
	return "--" + flag
}

// settleAgent decides between a named agent and a command, of which a run has one: the higher layer holds. A command may be named as one that speaks
// the Agent Client Protocol. Afterwards the name is "command" or "acp" if and only if there is one, and "" if the first CLI found is to be used.
func settleAgent(merged layer) error {
	name, command := merged["agent.name"], merged["agent.command"]
	named, commanded := name.value.(string), command.value.(string) != ""
	switch {
	case !commanded && (named == "command" || named == "acp"):
		return &UsageError{Msg: fmt.Sprintf("agent.name is %s (%s), but there is no agent.command", named, name.origin),
			Hint: "give --agent-cmd, or name an agent"}
	case commanded && named == "acp" && rank(name) >= rank(command):
	case commanded && (named == "" || named == "command" || rank(name) < rank(command) || named == "build" && rank(name) == rank(command)):
		name.value, name.origin = "command", command.origin
	case commanded && rank(name) == rank(command):
		return &UsageError{
			Msg: fmt.Sprintf("agent.name (%s) and agent.command (%s) exclude each other", name.origin, command.origin),
		}
	case commanded:
		command.value, command.origin = "", name.origin
	}
	if name.value == "build" {
		name.value = ""
	}
	merged["agent.name"], merged["agent.command"] = name, command
	return nil
}

// settleEvaluator decides between a named evaluator and a command in the same way.
func settleEvaluator(merged layer) error {
	name, command := merged["evaluator.agent"], merged["evaluator.command"]
	if name.value == "" || command.value == "" {
		return nil
	}
	switch {
	case rank(name) == rank(command):
		return &UsageError{
			Msg: fmt.Sprintf("evaluator.agent (%s) and evaluator.command (%s) exclude each other", name.origin, command.origin),
		}
	case rank(name) > rank(command):
		command.value, command.origin = "", name.origin
	default:
		name.value, name.origin = "", command.origin
	}
	merged["evaluator.agent"], merged["evaluator.command"] = name, command
	return nil
}

func rank(e entry) int {
	order := []Layer{
		LayerDefault,
		LayerProfile,
		LayerUser,
		LayerProject,
		LayerConfig,
		LayerEnvironment,
		LayerSet,
		LayerFlag,
	}
	return slices.Index(order, e.origin.Layer)
}

// settleIdle switches the idle time-out off for a plain command unless it was asked for: such a command may print only at its end.
func settleIdle(merged layer) {
	idle := merged["idle_timeout"]
	if merged["agent.name"].value == "command" && rank(idle) <= rank(entry{origin: Origin{Layer: LayerProfile}}) {
		mustPut(merged, idle.key, "0", Origin{Layer: LayerDefault, Name: "for a plain command"})
	}
}

// projectCommands lists what needs consent, in table order.
func projectCommands(merged layer) []NamedCommand {
	var commands []NamedCommand
	for _, key := range Keys() {
		e := merged[key.Name]
		if !key.Command || e.origin.Layer != LayerProject {
			continue
		}
		items := consentItems(e)
		for i, item := range items {
			line := e.origin.Line
			if len(e.lines) == len(items) {
				line = e.lines[i]
			}
			commands = append(commands, NamedCommand{Key: key.Name, Value: item, File: e.origin.File, Line: line})
		}
	}
	return commands
}

// consentItems is what of a value needs consent. Narrowing what an agent may do needs none.
func consentItems(e entry) []string {
	switch value := e.value.(type) {
	case []string:
		return value
	case bool:
		if value {
			return []string{"true"}
		}
	case string:
		if e.key.Metavar == "FILE" && filepath.IsLocal(value) { // the repository's own text; any other file is the user's
			return nil
		}
		if value != "" && (len(e.key.Choices) == 0 || value == "bypass") {
			return []string{value}
		}
	}
	return nil
}
