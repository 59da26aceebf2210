package install

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"time"
)

// hookGroup is an entry in the list of an event, as both CLIs write it.
type hookGroup struct {
	Matcher string `json:"matcher,omitempty"`
	Hooks   []hook `json:"hooks"`
}

type hook struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"` // in seconds
}

// eventHook is what Ralph does at one event.
type eventHook struct {
	event, matcher, call string
	timeout              time.Duration
}

// stopTimeout is how long a proof may take before the hook answers that it is still checking. The CLI waits a little
// longer, so that it always gets that answer.
const stopTimeout = 10 * time.Minute

// eventHooks are Ralph's hooks. Edits have other names in each CLI; a name that a CLI does not have matches nothing.
var eventHooks = []eventHook{
	{"SessionStart", "", "hook session-start", time.Minute},
	{"PreToolUse", "Edit|MultiEdit|Write|NotebookEdit|apply_patch", "hook pre-tool", time.Minute},
	{"Stop", "", "hook stop --timeout 10m", stopTimeout + time.Minute},
}

// group returns the entry for a program. The command does nothing where the program is missing: other people check
// out the same project, and a program can be removed.
func (h eventHook) group(program string) hookGroup {
	command := fmt.Sprintf("command -v %s >/dev/null || exit 0; %s %s", program, program, h.call)
	return hookGroup{h.matcher, []hook{{"command", command, int(h.timeout.Seconds())}}}
}

// ownCommand matches a command with the form that group gives it, or that a person gives it who adds the hook by hand.
// Its groups are the program in both places: a plain word, or one in single quotes.
var ownCommand = regexp.MustCompile(
	`^(?:command -v (` + word + `) >/dev/null \|\| exit 0; )?(` + word + `)` +
		` hook (?:stop|session-start|pre-tool)(?: --timeout [0-9a-z.]+)?$`)

const word = `[A-Za-z0-9/._+-]+|'[^']*'(?:\\''[^']*')*`

// ownName matches the program's file, also with a version. Other programs have hooks, too, even some called ralph-….
var ownName = regexp.MustCompile(`(?:^|[/\\'])ralph(?:-v?[0-9][0-9A-Za-z.+-]*)?(?:\.exe)?'?$`)

func isOwn(hook any) bool {
	object, _ := hook.(map[string]any)
	command, _ := object["command"].(string)
	return isOwnCommand(command)
}

// IsHook reports whether a command does nothing but call Ralph as a hook.
func IsHook(command string) bool { return isOwnCommand(command) }

func isOwnCommand(command string) bool {
	found := ownCommand.FindStringSubmatch(command)
	return found != nil && (found[1] == "" || found[1] == found[2]) && ownName.MatchString(found[2])
}

// withHooks returns a settings text with Ralph's hooks for a program, and reports whether it has changed. Everything
// else in it stays as it is.
func withHooks(text []byte, program string) (after []byte, changed bool, err error) {
	before, err := parseSettings(text)
	if err != nil {
		return nil, false, err
	}
	if sameHooks(before, program) {
		return text, false, nil
	}
	if !isOwnCommand(program + " hook stop") {
		return nil, false, fmt.Errorf("add hooks: an uninstall would not recognize calls of %s; rename it to ralph", program)
	}
	doc, err := withoutOwn(before, document{})
	if err != nil {
		return nil, false, err
	}
	for _, h := range eventHooks {
		if doc, err = doc.withGroup(h.event, h.group(program)); err != nil {
			return nil, false, err
		}
	}
	if !sameOthers(before, doc) || !sameHooks(doc, program) {
		return nil, false, fmt.Errorf("add hooks: the result would differ in other places, too")
	}
	return doc.text, true, nil
}

// withoutHooks returns a settings text without Ralph's hooks, and reports whether it had any. Lists that the hooks
// leave empty are removed, too, unless the settings from before the install have them.
func withoutHooks(text, fromBefore []byte) (after []byte, changed bool, err error) {
	before, err := parseSettings(text)
	if err != nil {
		return nil, false, err
	}
	user, _ := parseDocument(fromBefore) // without them, nothing is known to be the user's
	doc, err := withoutOwn(before, user)
	if err != nil {
		return nil, false, err
	}
	if !sameOthers(before, doc) {
		return nil, false, fmt.Errorf("remove hooks: the result would differ in other places, too")
	}
	return doc.text, !bytes.Equal(doc.text, before.text), nil
}

// sameOthers reports whether two documents have the same comments, and the same values besides Ralph's hooks.
func sameOthers(a, b document) bool {
	return slices.Equal(comments(a.text), comments(b.text)) && reflect.DeepEqual(others(a), others(b))
}

// parseSettings parses a text whose hooks, if it has any, are an object of lists.
func parseSettings(text []byte) (document, error) {
	doc, err := parseDocument(text)
	if err != nil {
		return doc, err
	}
	if doc.root.open != '{' {
		return doc, errNotObject
	}
	hooks, ok := doc.root.find("hooks")
	if ok && hooks.open != '{' {
		return doc, errNotObject
	}
	for _, event := range hooks.members {
		if event.value.open != '[' {
			return doc, errNotObject
		}
	}
	return doc, nil
}

// withGroup adds an entry to the list of an event.
func (d document) withGroup(event string, group hookGroup) (document, error) {
	hooks, ok := d.root.find("hooks")
	if !ok {
		return d.added(d.root, "hooks", map[string]any{event: []any{group}})
	}
	groups, ok := hooks.find(event)
	if !ok {
		return d.added(hooks, event, []any{group})
	}
	return d.added(groups, "", group)
}

func (d document) added(container value, key string, content any) (document, error) {
	text, err := d.add(container, key, content)
	if err != nil {
		return d, err
	}
	return parseDocument(text)
}

// withoutOwn removes Ralph's hooks, with the lists and objects that they leave empty, unless the user had those before.
func withoutOwn(d, user document) (document, error) {
	for {
		container, i, found := d.ownMember(user)
		if !found {
			return d, nil
		}
		var err error
		if d, err = parseDocument(d.remove(container, i)); err != nil {
			return d, err
		}
	}
}

// ownMember finds the largest member that has nothing but hooks of Ralph in it.
func (d document) ownMember(user document) (container value, index int, found bool) {
	for i, m := range d.root.members {
		if m.key == "hooks" && d.removable(d.root, i, user.root, 3) {
			return d.root, i, true
		}
	}
	hooks, _ := d.root.find("hooks")
	usersHooks, _ := user.root.find("hooks")
	for i, event := range hooks.members {
		if d.removable(hooks, i, usersHooks, 2) {
			return hooks, i, true
		}
		for j, group := range event.value.members {
			if d.onlyOwn(group.value, 1) {
				return event.value, j, true
			}
			list, _ := group.value.find("hooks")
			for k, hook := range list.members {
				if isOwn(d.plain(hook.value)) {
					return list, k, true
				}
			}
		}
	}
	return value{}, 0, false
}

// removable reports whether a member is Ralph's as a whole: it has only hooks of Ralph and no comment of the user, the
// user had no such member, and it hides no other member with the same key.
func (d document) removable(container value, i int, users value, depth int) bool {
	m := container.members[i]
	_, had := users.find(m.key)
	other := func(n member) bool { return n.key == m.key && n.start != m.start }
	return !had && d.onlyOwn(m.value, depth) && len(comments(d.text[m.start:m.value.end])) == 0 &&
		!slices.ContainsFunc(container.members, other)
}

// onlyOwn reports whether everything in a value is a hook of Ralph, and there is at least one. The depth is 1 for an
// entry of an event, 2 for the list of an event, and 3 for all events.
func (d document) onlyOwn(v value, depth int) bool {
	if depth == 1 {
		v, _ = v.find("hooks")
	}
	for _, m := range v.members {
		own := depth > 1 && d.onlyOwn(m.value, depth-1) || depth == 1 && isOwn(d.plain(m.value))
		if !own {
			return false
		}
	}
	return len(v.members) > 0
}

// sameHooks reports whether Ralph's hooks in a document are exactly those of a program.
func sameHooks(d document, program string) bool {
	hooks, _ := d.root.find("hooks")
	var found []hookGroup
	for _, event := range hooks.members {
		for _, group := range event.value.members {
			list, _ := group.value.find("hooks")
			for _, h := range list.members {
				if object, _ := d.plain(h.value).(map[string]any); isOwn(object) {
					found = append(found, foundGroup(d, event.key, group.value, object))
				}
			}
		}
	}
	var want []hookGroup
	for _, h := range eventHooks {
		group := h.group(program)
		group.Matcher = h.event + " " + group.Matcher
		want = append(want, group)
	}
	order := func(a, b hookGroup) int { return slices.Compare([]byte(a.Matcher), []byte(b.Matcher)) }
	slices.SortFunc(found, order)
	slices.SortFunc(want, order)
	return reflect.DeepEqual(found, want)
}

// foundGroup returns one hook as a group of its own, with the event before its matcher.
func foundGroup(d document, event string, group value, object map[string]any) hookGroup {
	matcher := ""
	if v, ok := group.find("matcher"); ok {
		matcher, _ = d.plain(v).(string)
	}
	command, _ := object["command"].(string)
	kind, _ := object["type"].(string)
	seconds := 0
	_, _ = fmt.Sscan(fmt.Sprintf("%s", object["timeout"]), &seconds) // anything else is not what Ralph writes
	return hookGroup{event + " " + matcher, []hook{{kind, command, seconds}}}
}

// others returns what a document says besides Ralph's hooks.
func others(d document) any {
	root, _ := d.plain(d.root).(map[string]any)
	hooks, ok := root["hooks"].(map[string]any)
	if !ok {
		return root
	}
	for event, groups := range hooks {
		list, _ := groups.([]any)
		if rest := othersOf(list); len(rest) > 0 {
			hooks[event] = rest
		} else {
			delete(hooks, event)
		}
	}
	if len(hooks) == 0 {
		delete(root, "hooks")
	}
	return root
}

// othersOf returns the entries of an event without Ralph's hooks.
func othersOf(groups []any) []any {
	var rest []any
	for _, g := range groups {
		group, _ := g.(map[string]any)
		list, ok := group["hooks"].([]any)
		if !ok {
			rest = append(rest, g)
			continue
		}
		had := len(list)
		list = slices.DeleteFunc(list, isOwn)
		if len(list) > 0 || had == 0 {
			group["hooks"] = list
			rest = append(rest, g)
		}
	}
	return rest
}
