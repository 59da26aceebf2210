package deny

import (
	"maps"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
)

// state is what is known at one point of a command.
type state struct {
	place     Place
	variables map[string][]shell.Value // the values that each may have; "@" is the positional parameters
	functions map[string]function
	inherits  bool      // other variables have their values of the environment
	git       []Setting // set by the command itself
	gitOpen   bool      // and others that are not known
	exits     []string  // commands of trap
	input     input
	copied    *int // what all states of a command have copied or merged
}

// function is a function of the shell, with the bodies that it may have.
type function struct {
	bodies []shell.List
	maybe  bool // it may also be undefined
}

func newState(at Place) *state {
	return &state{
		place: at,
		variables: map[string][]shell.Value{
			"PWD": {scalar(at.Dir)}, "HOME": {scalar(at.Home)}, "@": {{Set: true, Array: true}}, "IFS": {scalar(" \t\n")},
		},
		functions: map[string]function{},
		inherits:  true,
		copied:    new(int),
	}
}

// count counts what is about to be copied or merged. Beyond the limit nothing is known any more, so
// that the rest of the command is followed in a time that does not grow with what it sets.
func (st *state) count() {
	*st.copied += len(st.variables) + len(st.functions) + len(st.git) + len(st.exits)
	if *st.copied > copyLimit {
		st.forget()
		st.functions, st.git, st.gitOpen, st.exits = map[string]function{}, nil, true, nil
	}
}

func (st *state) clone() *state {
	st.count()
	own := *st
	own.variables, own.functions = maps.Clone(st.variables), maps.Clone(st.functions)
	own.git, own.exits = slices.Clip(st.git), slices.Clip(st.exits)
	return &own
}

// scalar returns the value of a variable that is set.
func scalar(text string) shell.Value { return shell.Value{Set: true, Items: []string{text}} }

// unset is the value of a variable that is not set.
var unset = shell.Value{}

// open returns the value of a variable that only a running shell knows.
func open(name string) shell.Value {
	return scalar(string(shell.ParameterMark) + name + string(shell.ParameterEnd))
}

// set gives a variable one of several values. Without any, only a running shell knows it.
func (st *state) set(name string, values ...shell.Value) {
	var kept []shell.Value
	if len(values) == 0 {
		values = []shell.Value{open(name)}
	}
	for _, v := range values {
		size := len(v.Items)
		for _, item := range v.Items {
			size += len(item)
		}
		if size > sizeLimit || len(kept) >= valueLimit {
			v = open(name)
		}
		if !slices.ContainsFunc(kept, func(k shell.Value) bool { return same(k, v) }) {
			kept = append(kept, v)
		}
	}
	st.variables[name] = kept
}

// own are variables that the shell sets itself.
var own = strings.Fields("OLDPWD SHLVL RANDOM SRANDOM SECONDS LINENO BASHPID PPID UID EUID HOSTNAME HOSTTYPE OSTYPE " +
	"MACHTYPE OPTIND OPTARG DIRSTACK GROUPS FUNCNAME PIPESTATUS EPOCHSECONDS EPOCHREALTIME REPLY COPROC TERM " +
	"0 ? $ ! - _")

// get returns the values that a variable may have.
func (st *state) get(name string) []shell.Value {
	if values, ok := st.variables[name]; ok {
		return values
	}
	if !st.inherits || st.place.Variable == nil || slices.Contains(own, name) || strings.HasPrefix(name, "BASH") {
		return []shell.Value{open(name)}
	}
	if _, ok := st.place.Variable("BASH_ENV"); ok { // a script that the shell reads first
		return []shell.Value{open(name)}
	}
	if value, ok := st.place.Variable(name); ok {
		return []shell.Value{scalar(value)}
	}
	return []shell.Value{unset}
}

// forget drops what is known about variables, after something that is not known could set them.
func (st *state) forget() {
	maps.DeleteFunc(st.variables, func(name string, _ []shell.Value) bool { return name != "PWD" && name != "HOME" })
	st.variables["@"], st.inherits = []shell.Value{open("@")}, false
}

// merge adds what holds if the command took another way.
func (st *state) merge(other *state) {
	st.count()
	other.count()
	for name := range other.variables {
		if _, ok := st.variables[name]; !ok {
			st.variables[name] = st.get(name)
		}
	}
	for name, values := range st.variables {
		if more := other.get(name); !slices.EqualFunc(values, more, same) {
			st.set(name, slices.Concat(values, more)...)
		}
	}
	for name, f := range st.functions {
		if _, ok := other.functions[name]; !ok {
			f.maybe = true
			st.functions[name] = f
		}
	}
	for name, f := range other.functions {
		mine, ok := st.functions[name]
		f.maybe = f.maybe || mine.maybe || !ok
		for _, body := range mine.bodies {
			if !slices.ContainsFunc(f.bodies, func(l shell.List) bool { return sameList(l, body) }) {
				f.bodies = append(slices.Clip(f.bodies), body)
			}
		}
		st.functions[name] = f
	}
	st.inherits, st.gitOpen = st.inherits && other.inherits, st.gitOpen || other.gitOpen
	st.git, st.exits = union(st.git, other.git), union(st.exits, other.exits)
}

func union[E comparable](a, b []E) []E {
	for _, e := range b {
		if !slices.Contains(a, e) {
			a = append(slices.Clip(a), e)
		}
	}
	return a
}

func same(a, b shell.Value) bool {
	return a.Set == b.Set && a.Array == b.Array && slices.Equal(a.Items, b.Items)
}

func sameList(a, b shell.List) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// changed returns the variables that have other values in another state.
func (st *state) changed(other *state) (names []string) {
	for name, values := range st.variables {
		if !slices.EqualFunc(values, other.variables[name], same) {
			names = append(names, name)
		}
	}
	return names
}
