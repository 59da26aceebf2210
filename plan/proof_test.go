package plan

import (
	"testing"

	"github.com/ralphloop/ralph"
)

// withTask is the sample with a fourth task that has this proof, in the format's own form.
func (s sample) withTask(t *testing.T, proof ralph.ProofRule) (src source, id string) {
	t.Helper()
	src = s.source()
	f := detect(s.path, src.list())
	id, _ = nextID(itemsOf(t, f, src))
	changed, err := f.add(src, ralph.Task{ID: id, Title: "One more", Proof: proof, Status: ralph.TaskPending})
	if err != nil {
		t.Fatal(err)
	}
	return src.with(changed), id
}

func TestFormatKeepsProof(t *testing.T) {
	eachSample(t, func(t *testing.T, s sample) {
		for _, proof := range []ralph.ProofRule{"", ralph.ProofShown, ralph.ProofUnbroken} {
			src, id := s.withTask(t, proof)
			f := detect(s.path, src.list())
			changed, err := f.edit(src, map[string]ralph.TaskStatus{id: ralph.TaskDone})
			if err != nil {
				t.Fatal(err)
			}
			for _, now := range []source{src, src.with(changed)} {
				diff(t, proof, itemsOf(t, f, now)[3].Proof, string(now.list()))
			}
		}
	})
}

func TestAgentCannotSetProof(t *testing.T) {
	eachSample(t, func(t *testing.T, s sample) {
		plain, id := s.withTask(t, "")
		strict, _ := s.withTask(t, ralph.ProofShown)
		weak, _ := s.withTask(t, ralph.ProofUnbroken)
		changed := []string{"the proof of task " + id + " was changed"}
		excess := []string{"task " + id + ", which the agent added, says proof: unbroken; only the user may set that"}
		for name, test := range map[string]struct {
			before, now source
			want        []string
		}{
			"made weaker":    {plain, weak, changed},
			"made stricter":  {weak, strict, changed},
			"removed":        {weak, plain, changed},
			"added":          {s.source(), plain, nil},
			"added, strict":  {s.source(), strict, nil},
			"added unbroken": {s.source(), weak, excess},
		} {
			f := detect(s.path, test.now.list())
			diff(t, test.want, compare(itemsOf(t, f, test.before), itemsOf(t, f, test.now)), name)
		}
	})
}

func TestProofInMarkdown(t *testing.T) {
	for name, test := range map[string]struct {
		text        string
		want        ralph.ProofRule
		description string
		problems    []string
	}{
		"field":          {"- [ ] A\n  - Proof: unbroken\n", ralph.ProofUnbroken, "", nil},
		"bold field":     {"- [ ] A\n  **Proof:** `Unbroken`\n", ralph.ProofUnbroken, "", nil},
		"shown":          {"- [ ] A\n  Proof: shown\n", ralph.ProofShown, "", nil},
		"mark":           {"- [ ] A (unbroken)\n", ralph.ProofUnbroken, "", nil},
		"field and mark": {"- [ ] A (unbroken)\n  - Proof: shown\n", ralph.ProofShown, "", nil},
		"other bracket":  {"- [ ] A [Unbroken]\n", ralph.ProofUnbroken, "", nil},
		"section":        {"### Task 1: A (unbroken)\n\n- [ ] step\n", ralph.ProofUnbroken, "", nil},
		"in a section":   {"### Task 1: A\n\nProof: unbroken\n\n- [ ] step\n", ralph.ProofUnbroken, "", nil},
		"of a step":      {"- [ ] A\n  - [ ] step (unbroken)\n", "", "", nil},
		"unknown word": {
			"- [ ] A\n  - Proof: unbrocken\n", "", "Proof: unbrocken",
			[]string{`l.md:1: unknown proof "unbrocken"; choose one of: shown, unbroken`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all, problems := markdown{}.parse(oneList("l.md", test.text).source())
			var bad []string
			for _, p := range Errors(problems) {
				bad = append(bad, p.String())
			}
			diff(t, test.problems, bad)
			diff(t, ralph.Task{Title: "A", Proof: test.want, Description: test.description},
				ralph.Task{Title: all[0].Title, Proof: all[0].Proof, Description: all[0].Description})
		})
	}
}

func TestProseAboutAProofIsNoRule(t *testing.T) {
	all, problems := markdown{}.parse(oneList("l.md", "- [ ] A\n  - Proof: the screenshot in the wiki\n").source())
	diff(t, []Problem{{
		File: "l.md", Line: 1, Warning: true,
		Text: `unknown proof "the screenshot in the wiki"; choose one of: shown, unbroken`,
	}}, problems)
	diff(t, "Proof: the screenshot in the wiki", all[0].Description)
}

func TestProofInTheFileOfATask(t *testing.T) {
	src := source{path: ".agent/tasks.json", files: map[string][]byte{
		".agent/tasks.json": []byte(`[{"id": "A", "title": "a", "passes": false},
{"id": "B", "title": "b", "passes": false, "proof": "shown"}, {"id": "C", "title": "c", "passes": false}]`),
		".agent/tasks/A.json": []byte(`{"id": "A", "proof": "unbroken"}`),
		".agent/tasks/B.json": []byte(`{"id": "B", "proof": "unbroken"}`),
		".agent/tasks/C.json": []byte(`{"id": "C", "proof": "none"}`),
	}}
	all, problems := agentFolder.parse(src)
	diff(t, []ralph.ProofRule{ralph.ProofUnbroken, ralph.ProofShown}, []ralph.ProofRule{all[0].Proof, all[1].Proof})
	diff(t, []Problem{{
		File: ".agent/tasks/C.json", Line: 1, Task: "C", Text: `unknown proof "none"; choose one of: shown, unbroken`,
	}}, problems)
}
