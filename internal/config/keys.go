package config

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Kind is the kind of value that a key holds.
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

// Key is one row of the table that the rest of this package is derived from.
type Key struct {
	Name    string // with its group, such as checks.timeout
	Kind    Kind
	Default string // as it would be written in the environment
	Flag    string // of `ralph run`, without dashes; "" if there is none
	Short   string // the flag's one letter
	Metavar string // placeholder for the value in help texts
	Bare    string // the flag's value if it is given without one; "" if it needs one
	Doc     string // one line

	Choices []string // allowed words; empty: any text
	Min     float64  // for whole numbers; all others have 0
	Max     float64  // for numbers
	Zero    string   // what 0 means, if it is special
	// Command marks a key that names a command or widens what one may do. In a project file it needs
	// the user's consent.
	Command bool
	// Weak are values that let a claim pass for less. In a project file they need the user's consent, too.
	Weak []string

	Later  string   // the later version that brings the key, or only the words in Coming
	Coming []string // words that a later version will allow

	item func(string) *problem // validates one text further
}

// anyValue in Key.Weak stands for every value.
const anyValue = "*"

// Env returns the name of the variable that sets the key.
func (k Key) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "__"))
}

// Group returns the part of the name before the dot, or "" for a key at the top.
func (k Key) Group() string {
	return k.Name[:max(strings.IndexByte(k.Name, '.'), 0)]
}

// Repeats reports whether the key's flag may be given several times.
func (k Key) Repeats() bool { return k.Kind == List }

// Ready reports whether the key can be set in this version.
func (k Key) Ready() bool { return k.Later == "" || len(k.Coming) > 0 }

// field returns a pointer to the field of Settings that has the key's name in JSON, or nil if there
// is none.
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

// Keys returns the table: general keys first, then group by group. The shorthand of a group sets
// its first key.
func Keys() []Key { return slices.Clone(keyTable) }

// keyIndex finds keys by the names that users write.
type keyIndex struct {
	byName map[string]Key
	groups map[string]Key // first key of each group
	names  []string       // every key and group, in table order
}

var allKeys = newKeyIndex()

func newKeyIndex() keyIndex {
	v := keyIndex{byName: map[string]Key{}, groups: map[string]Key{}}
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

// find returns the key with a full name, or the first key of the group with that name.
func (v keyIndex) find(name string) (Key, bool) {
	if key, ok := v.byName[name]; ok {
		return key, true
	}
	key, ok := v.groups[name]
	return key, ok
}

// suggest returns the key that a user who wrote name most likely meant. It also tries name as a
// flag and as the last part of a key.
func (v keyIndex) suggest(name string) string {
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

func (v keyIndex) inGroup(group string) []string {
	return slices.DeleteFunc(slices.Clone(v.names), func(name string) bool { return !strings.HasPrefix(name, group+".") })
}
