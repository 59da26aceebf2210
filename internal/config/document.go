package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// seedSection is a section that users of another loop may already have in their files. seedKeys
// maps the keys that it may hold to ours.
const seedSection = "ralph_loop"

func seedKeys() map[string]string {
	return map[string]string{
		"max_iterations": "max_iterations", "max_cost": "max_cost", "max_time": "max_time",
		"completion_tag": "completion_tag", "agent": "agent.name",
	}
}

// document reads one YAML file. A file has no levels below a list in a group. Deeper nodes are
// rejected unread, so aliases cannot multiply.
type document struct {
	path    string
	kind    Layer
	anchors map[string]ast.Node // values of anchors by name, already resolved
	out     layer
}

func (d *document) read(file *ast.File) error {
	var root ast.Node
	for _, doc := range file.Docs {
		switch doc.Body.(type) {
		case nil, *ast.DirectiveNode, *ast.CommentGroupNode:
			continue
		}
		if root != nil {
			where := position(d.path, doc.Start)
			return &UsageError{Msg: where + ": a second YAML document starts here", Hint: "keep all keys in one document"}
		}
		root = doc.Body
	}
	if root == nil {
		return nil
	}
	pairs, err := d.readPairs(root, "")
	if err != nil {
		return err
	}
	for _, pair := range pairs {
		if err := d.readTopLevel(pair); err != nil {
			return err
		}
	}
	return nil
}

// pair is one "name: value" of a map, with the value resolved. A nil value is a null.
type pair struct {
	name  string
	key   ast.Node // for its position
	value ast.Node
}

// readTopLevel reads one pair at the top of the file: a key, a group, or a group's shorthand.
func (d *document) readTopLevel(p pair) error {
	if p.name == seedSection {
		return d.readSection(p, seedKeys())
	}
	first, isGroup := allKeys.groups[p.name]
	if !isGroup {
		key, known := allKeys.byName[p.name]
		switch {
		case !known:
			return d.unknownKey(p, allKeys.suggest(p.name))
		case key.Group() != "":
			group, rest, _ := strings.Cut(p.name, ".")
			return d.errorAt(
				p.key,
				p.name,
				"a key in a group must be indented under it",
				fmt.Sprintf("write %s: and, indented under it, %s:", group, rest),
			)
		}
		return d.set(p, key)
	}
	if p.value == nil || !isMap(p.value) {
		return d.set(p, first)
	}
	members := map[string]string{}
	for _, name := range allKeys.inGroup(p.name) {
		members[strings.TrimPrefix(name, p.name+".")] = name
	}
	return d.readSection(p, members)
}

// readSection reads a map. members maps the names that it may hold to the full names of keys.
func (d *document) readSection(p pair, members map[string]string) error {
	if p.value == nil {
		return nil
	}
	pairs, err := d.readPairs(p.value, p.name)
	if err != nil {
		return err
	}
	for _, inner := range pairs {
		name, known := members[inner.name]
		full := pair{name: p.name + "." + inner.name, key: inner.key, value: inner.value}
		if !known {
			return d.unknownKey(full, nearestMember(p.name, inner.name, members))
		}
		if err := d.set(full, allKeys.byName[name]); err != nil {
			return err
		}
	}
	return nil
}

func nearestMember(section, name string, members map[string]string) string {
	if section != seedSection {
		return allKeys.suggest(section + "." + name)
	}
	if near := Nearest(name, slices.Sorted(maps.Keys(members))); near != "" {
		return section + "." + near
	}
	return ""
}

// set stores the value of one key. A null leaves the key to the layers below.
func (d *document) set(p pair, key Key) error {
	if p.value == nil {
		return nil
	}
	if key.Name == "trust" && d.kind == LayerProject {
		return d.errorAt(
			p.key,
			p.name,
			"a project cannot trust itself",
			"pass --trust, or set it in your own config file",
		)
	}
	if old, twice := d.out[key.Name]; twice {
		return d.errorAt(p.key, p.name, fmt.Sprintf("%s is set twice, first on line %d", key.Name, old.origin.Line))
	}
	g, lines, err := d.readRaw(p, key)
	if err != nil {
		return err
	}
	origin := Origin{Layer: d.kind, File: d.path, Line: lineOf(p.key)}
	if problem := d.out.put(key, g, origin); problem != nil {
		return problem.from(position(d.path, p.key.GetToken()) + ": " + p.name)
	}
	e := d.out[key.Name]
	e.lines = lines
	d.out[key.Name] = e
	return nil
}

func (d *document) readRaw(p pair, key Key) (rawValue, []int, error) {
	list, isList := p.value.(*ast.SequenceNode)
	if !isList {
		text, ok := scalar(p.value)
		if !ok {
			return rawValue{}, nil, d.errorAt(p.key, p.name, "the value is a map", cmp.Or(key.valueHint(), "use a single value"))
		}
		return oneItem(text), []int{lineOf(p.key)}, nil
	}
	g, lines := rawValue{list: true}, []int(nil)
	for _, node := range list.Values {
		item, err := d.resolve(node)
		if err != nil {
			return rawValue{}, nil, err
		}
		text, ok := "", item == nil
		if item != nil {
			text, ok = scalar(item)
		}
		if !ok {
			return rawValue{}, nil, d.errorAt(node, p.name, "every item must be a single value")
		}
		g.items, lines = append(g.items, text), append(lines, lineOf(node))
	}
	return g, lines, nil
}

// readPairs lists the pairs of a map and rejects a name that occurs twice.
func (d *document) readPairs(node ast.Node, name string) ([]pair, error) {
	node, err := d.resolve(node)
	if err != nil {
		return nil, err
	}
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case nil:
		return nil, nil
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		return nil, d.errorAt(node, name, "expected keys and values", "write key: value")
	}
	seen, pairs := map[string]int{}, make([]pair, 0, len(values))
	for _, v := range values {
		p, err := d.readPair(v)
		if err != nil {
			return nil, err
		}
		if line, twice := seen[p.name]; twice {
			return nil, d.errorAt(p.key, "", fmt.Sprintf("%s is set twice, first on line %d", quote(p.name), line))
		}
		seen[p.name] = lineOf(p.key)
		pairs = append(pairs, p)
	}
	return pairs, nil
}

func (d *document) readPair(v *ast.MappingValueNode) (pair, error) {
	var name ast.Node = v.Key
	if explicit, ok := name.(*ast.MappingKeyNode); ok && explicit.Value != nil {
		name = explicit.Value
	}
	if _, merges := name.(*ast.MergeKeyNode); merges {
		return pair{}, d.errorAt(name, "", "<< is not supported", "write the keys out")
	}
	text, ok := scalar(name)
	if !ok {
		return pair{}, d.errorAt(name, "", "the name of a key must be plain text")
	}
	value, err := d.resolve(v.Value)
	return pair{name: text, key: name, value: value}, err
}

// resolve removes anchors, aliases and standard tags from a node. A null becomes nil. An anchor is
// recorded only after its value has been resolved, so it cannot contain itself.
func (d *document) resolve(node ast.Node) (ast.Node, error) {
	switch n := node.(type) {
	case nil, *ast.NullNode:
		return nil, nil
	case *ast.AnchorNode:
		value, err := d.resolve(n.Value)
		if err == nil && n.Name != nil {
			d.anchors[n.Name.GetToken().Value] = value
		}
		return value, err
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		value, known := d.anchors[name]
		if !known {
			return nil, d.errorAt(n, "", fmt.Sprintf("the alias %s has no anchor before it", quote("*"+name)))
		}
		return value, nil
	case *ast.TagNode:
		if !strings.HasPrefix(n.Start.Value, "!!") {
			return nil, d.errorAt(n, "", fmt.Sprintf("the tag %s is not supported", quote(n.Start.Value)))
		}
		return d.resolve(n.Value)
	}
	return node, nil
}

// scalar returns the text of a scalar as the user wrote it: 010 means ten, and "true" may be a
// command.
func scalar(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode, *ast.NullNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func isMap(node ast.Node) bool {
	switch node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

func (d *document) unknownKey(p pair, near string) error {
	return d.errorAt(p.key, "", "unknown key "+quote(p.name), didYouMean(near))
}

func (d *document) errorAt(node ast.Node, name, msg string, hint ...string) error {
	where := position(d.path, node.GetToken())
	if name != "" {
		where += ": " + name
	}
	return &UsageError{Msg: where + ": " + msg, Hint: strings.Join(hint, "")}
}
