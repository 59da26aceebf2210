package config

import (
	"fmt"
	"maps"
	"strings"
)

// Layer is one source of values. A higher layer overrides a lower one.
type Layer string

// The layers, lowest first. A run has LayerProject or LayerConfig, never both.
const (
	LayerDefault     Layer = "default"
	LayerProfile     Layer = "profile"
	LayerUser        Layer = "user"
	LayerProject     Layer = "project"
	LayerConfig      Layer = "config" // the file that -c names
	LayerEnvironment Layer = "environment"
	LayerSet         Layer = "set"
	LayerFlag        Layer = "flag"
)

// Origin is where a value came from.
type Origin struct {
	Layer Layer  `json:"layer"`
	Name  string `json:"name,omitempty"` // of the profile, variable or flag
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
}

// String formats the origin for `ralph config show`.
func (o Origin) String() string {
	switch o.Layer {
	case LayerUser, LayerProject, LayerConfig:
		return fmt.Sprintf("%s %s:%d", o.Layer, o.File, o.Line)
	case LayerSet:
		return "--set"
	}
	return strings.TrimSuffix(string(o.Layer)+" "+o.Name, " ")
}

// entry is one value with its key and origin.
type entry struct {
	key    Key
	value  any
	origin Origin
	lines  []int // lines of a list's items, if it came from a file
}

// layer holds the values of one source, by key.
type layer map[string]entry

func (l layer) put(key Key, g rawValue, origin Origin) *problem {
	value, p := key.read(g)
	if p != nil {
		return p
	}
	l[key.Name] = entry{key: key, value: value, origin: origin}
	return nil
}

// merge combines layers, lowest first: a later one overrides those before it.
func merge(layers []layer) layer {
	merged := layer{}
	for _, l := range layers {
		maps.Copy(merged, l)
	}
	return merged
}

func defaults() layer {
	l := layer{}
	for _, key := range Keys() {
		if key.Ready() {
			mustPut(l, key, key.Default, Origin{Layer: LayerDefault})
		}
	}
	return l
}

// mustPut stores a value that is part of the program. A wrong one is a bug, and a test reads them
// all.
func mustPut(l layer, key Key, text string, origin Origin) {
	if p := l.put(key, splitValue(key, text), origin); p != nil {
		panic("config: " + key.Name + ": " + p.msg)
	}
}
