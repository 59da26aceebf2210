package config

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Kind says what sort of value a key holds.
type Kind string

// The kinds of values.
const (
	Text   Kind = "text"
	List   Kind = "list"   // of texts
	Count  Kind = "count"  // a whole number
	Amount Kind = "amount" // a number
	Length Kind = "length" // of time
	Switch Kind = "switch" // true or false
)

// Key is one row of the table that everything in this package is made from.
type Key struct {
	Name    string // with its group, such as checks.timeout
	Kind    Kind
	Default string // as it would be written in the environment
	Flag    string // of `ralph run`, without dashes; "" if there is none
	Short   string // the flag's one letter
	Metavar string // what stands for the value in help texts
	Bare    string // the flag's value when it is given without one; "" if it needs one
	Doc     string // one line

	Choices []string // the words that are allowed; empty: any
	Min     float64  // for whole numbers; that of all others is 0
	Max     float64  // for numbers
	Zero    string   // what 0 means, if anything but nought
	Command bool     // names a command or widens what one may do: in a project file it needs the user's consent

	Later  string   // what the key comes with, if a later version; with Coming, only those words do
	Coming []string // words that a later version will allow

	item func(string) *problem // checks one text further
}

// Env is the name of the variable that sets the key.
func (k Key) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "__"))
}

// Group is the part of the name before the dot, "" for a key at the top.
func (k Key) Group() string {
	return k.Name[:max(strings.IndexByte(k.Name, '.'), 0)]
}

// Repeats reports whether the key's flag may be given several times.
func (k Key) Repeats() bool { return k.Kind == List }

// Ready reports whether the key can be set in this version.
func (k Key) Ready() bool { return k.Later == "" || len(k.Coming) > 0 }

// field is where the value goes: the field of Settings that has the key's name in JSON; nil if there is none.
func (k Key) field(s *Settings) any {
	index, ok := fieldsByName()[k.Name]
	if !ok {
		return nil
	}
	return reflect.ValueOf(s).Elem().FieldByIndex(index).Addr().Interface()
}

var fieldsByName = sync.OnceValue(func() map[string][]int {
	fields := map[string][]int{}
	addFields(fields, reflect.TypeFor[Settings](), "", nil)
	return fields
})

func addFields(fields map[string][]int, t reflect.Type, prefix string, index []int) {
	for i := range t.NumField() {
		f, at := t.Field(i), append(slices.Clip(index), i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			addFields(fields, f.Type, prefix, at)
		case f.Type.Kind() == reflect.Struct:
			addFields(fields, f.Type, prefix+name+".", at)
		default:
			fields[prefix+cmp.Or(f.Tag.Get("key"), name)] = at
		}
	}
}

// Keys is the table: general keys first, then group by group. A group's first key is the one that its shorthand sets.
func Keys() []Key { return slices.Clone(keyTable) }

// vocabulary finds keys by the names that users write.
type vocabulary struct {
	byName map[string]Key
	groups map[string]Key // the first key of each
	names  []string       // every key and group, in table order
}

var words = newVocabulary()

func newVocabulary() vocabulary {
	v := vocabulary{byName: map[string]Key{}, groups: map[string]Key{}}
	for _, key := range Keys() {
		v.byName[key.Name] = key
		group := key.Group()
		if _, seen := v.groups[group]; group != "" && !seen {
			v.groups[group] = key
			v.names = append(v.names, group)
		}
		v.names = append(v.names, key.Name)
	}
	return v
}

// find is the key that a full name or a group's name stands for.
func (v vocabulary) find(name string) (Key, bool) {
	if key, ok := v.byName[name]; ok {
		return key, true
	}
	key, ok := v.groups[name]
	return key, ok
}

// suggest is the key that somebody who wrote name most likely meant. A flag's name and the bare last part of a key are as good as near.
func (v vocabulary) suggest(name string) string {
	plain := strings.ReplaceAll(name, "-", "_")
	if _, ok := v.find(plain); ok {
		return plain
	}
	group, last, grouped := strings.Cut(plain, ".")
	if !grouped {
		last = plain
	} else if near := Nearest(plain, v.inGroup(group)); near != "" {
		return near
	}
	for _, key := range Keys() {
		if key.Flag != "" && strings.ReplaceAll(key.Flag, "-", "_") == plain || strings.HasSuffix(key.Name, "."+last) {
			return key.Name
		}
	}
	return Nearest(plain, v.names)
}

func (v vocabulary) inGroup(group string) []string {
	return slices.DeleteFunc(slices.Clone(v.names), func(name string) bool { return !strings.HasPrefix(name, group+".") })
}
