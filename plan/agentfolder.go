package plan

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// agentFolder is the layout of an .agent folder: a list with one line per task, and a file beside
// it for each task that describes it.
var agentFolder = folderFormat{jsonFormat{
	label: "agent-folder",
	detect: func(s sketch) bool {
		if s.opening != '[' {
			return false
		}
		if s.keys["passes"] || s.keys["specFilePath"] {
			return true
		}
		return !s.keys["status"] && !s.keys["acceptance_criteria"] && path.Clean(s.path) == ".agent/tasks.json"
	},
	items: plainList,
	keys: []key{
		idKey, titleKey, descriptionKey, categoryKey, priorityKey, proofKey,
		textKey("specFilePath", func(t *ralph.Task) *string { return &t.SpecFile }),
		textsKey("acceptanceCriteria", func(t *ralph.Task) *[]string { return &t.Acceptance }),
		textsKey("dependencies", func(t *ralph.Task) *[]string { return &t.DependsOn }),
	},
	state:   "passes",
	boolean: true,
}}

// folderFormat is a list whose tasks have separate files.
type folderFormat struct{ jsonFormat }

// companions returns the files that may belong to a list, besides the list itself.
func (f folderFormat) companions(src source) []string {
	all, _ := f.jsonFormat.parse(src)
	var names []string
	for _, t := range all {
		names = append(names, specPaths(src.path, t.Task)...)
	}
	return names
}

// specPaths returns the possible paths of a task's spec, likeliest first. If the list was read from
// elsewhere, the spec is beside it.
func specPaths(list string, t ralph.Task) []string {
	var names []string
	if named := path.Clean(filepath.ToSlash(t.SpecFile)); t.SpecFile != "" && filepath.IsLocal(filepath.FromSlash(named)) {
		names = append(names, named)
	}
	beside := t.ID + ".json"
	if t.SpecFile != "" {
		beside = path.Base(filepath.ToSlash(t.SpecFile))
	}
	if filepath.IsLocal(beside) {
		names = append(names, path.Join(path.Dir(list), "tasks", beside))
	}
	return names
}

func (f folderFormat) parse(src source) ([]item, []Problem) {
	all, problems := f.jsonFormat.parse(src)
	for i := range all {
		problems = append(problems, readSpec(src, &all[i])...)
	}
	return all, problems
}

// readSpec adds the content of a task's own file.
func readSpec(src source, it *item) []Problem {
	named := it.SpecFile
	for _, name := range specPaths(src.path, it.Task) {
		data, there := src.files[name]
		if !there {
			continue
		}
		it.SpecFile = name
		r := newJSONReader(name, data)
		r.task = it.ID
		top, err := scanJSON(data)
		switch {
		case err != nil:
			r.faultAt(err.offset, "%s", err.text)
		case top.kind != '{':
			r.fault(top, "expected the spec of task %[2]s, but the file has %[1]s", top.kindName(), it.ID)
		default:
			mergeSpec(r, top, &it.Task)
		}
		return r.problems
	}
	if named == "" {
		return nil
	}
	return []Problem{
		{
			File:    src.path,
			Line:    it.line,
			Task:    it.ID,
			Text:    fmt.Sprintf("the spec of task %s is missing: %s", it.ID, shorten(named)),
			Warning: true,
		},
	}
}

// mergeSpec copies everything that tells an agent what to do. Whether a step is ticked is the
// agent's own note, so it is ignored.
func mergeSpec(r *jsonReader, top *node, t *ralph.Task) {
	var spec ralph.Task
	var steps, notes []string
	for _, m := range top.members {
		if m.value.kind == 'n' {
			continue
		}
		switch m.key {
		case "id":
			if id := r.text("id", m.value); id != "" && id != t.ID {
				r.fault(m.value, "the spec of task %s has the id %s", t.ID, shorten(id))
			}
		case "description":
			spec.Description = r.text("description", m.value)
		case "acceptanceCriteria":
			spec.Acceptance = r.texts("acceptanceCriteria", m.value)
		case "dependencies":
			spec.DependsOn = r.texts("dependencies", m.value)
		case "proof":
			spec.Proof = r.proof(m.value)
		case "technicalNotes":
			notes = looseTexts(m.value)
		case "steps":
			steps = stepTexts(m.value)
		}
	}
	parts := []string{t.Description, spec.Description, listed("Steps:", steps), listed("Notes:", notes)}
	t.Description = strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "\n\n")
	t.Acceptance = append(t.Acceptance, spec.Acceptance...)
	t.DependsOn = append(t.DependsOn, spec.DependsOn...)
	t.Proof = cmp.Or(t.Proof, spec.Proof)
}

// stepTexts reads steps, which are objects or plain texts.
func stepTexts(v *node) []string {
	var all []string
	for _, e := range v.elements {
		text := e.text
		if e.kind == '{' {
			var parts []string
			for _, name := range []string{"description", "details"} {
				if m := e.get(name); m != nil {
					parts = append(parts, looseTexts(m.value)...)
				}
			}
			text = strings.Join(parts, ": ")
		}
		if text != "" {
			all = append(all, text)
		}
	}
	return all
}

// looseTexts reads a text or a list of texts. Nothing depends on notes, so any form is accepted.
func looseTexts(v *node) []string {
	if v.kind == '"' && v.text != "" {
		return []string{v.text}
	}
	var all []string
	for _, e := range v.elements {
		if e.kind == '"' && e.text != "" {
			all = append(all, e.text)
		}
	}
	return all
}

func listed(title string, texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return title + "\n- " + strings.Join(texts, "\n- ")
}

// add writes the line of the list and the task's own file.
func (f folderFormat) add(src source, t ralph.Task) (source, error) {
	list, err := f.listOf(src)
	if err != nil {
		return source{}, err
	}
	t.ID = cmp.Or(t.ID, freeID(list))
	name := path.Join(path.Dir(src.path), "tasks", t.ID+".json")
	line := f.jsonFormat
	line.write = func(t ralph.Task) (any, error) {
		unfit := hasNoPlaceFor(t, "checks", "optional", "human")
		return struct {
			ID       string          `json:"id"`
			Title    string          `json:"title"`
			Category string          `json:"category,omitempty"`
			SpecFile string          `json:"specFilePath"`
			Passes   bool            `json:"passes"`
			Priority *int            `json:"priority,omitempty"`
			Proof    ralph.ProofRule `json:"proof,omitempty"`
		}{t.ID, t.Title, t.Category, name, t.Status == ralph.TaskDone, t.Priority, t.Proof}, unfit
	}
	out, err := line.add(src, t)
	if err != nil {
		return source{}, err
	}
	if _, taken := src.files[name]; taken {
		return source{}, fmt.Errorf("add task: %s already exists", name)
	}
	spec, err := marshal(struct {
		ID          string   `json:"id"`
		Title       string   `json:"title"`
		Category    string   `json:"category,omitempty"`
		Description string   `json:"description"`
		Acceptance  []string `json:"acceptanceCriteria"`
		DependsOn   []string `json:"dependencies,omitempty"`
	}{t.ID, t.Title, t.Category, t.Description, orEmpty(t.Acceptance), t.DependsOn}, "", "  ")
	out.files[name] = []byte(spec + "\n")
	return out, err
}
