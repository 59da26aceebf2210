package evaluate

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// rejection is a rejection in any form.
type rejection struct {
	verdict
	flaw string // flaw of its form; "" if the form is right
}

// priorAnswers are the reviewer's earlier answers that could not be used as they were. A rejection
// among them stays a rejection.
type priorAnswers struct {
	problems  []string
	rejection *rejection // the first one, if any
}

// add records an answer and returns it with its problem, if any: an acceptance after a rejection
// does not count.
func (h *priorAnswers) add(f finding) finding {
	if h.rejection == nil {
		h.rejection = f.rejection
	}
	if f.problem == "" && f.Verdict == "accept" && h.rejection != nil {
		f.problem = "it accepts, but a rejection cannot be taken back"
		if f.rejection != nil && f.rejection.flaw != "" { // both in one answer
			f.problem = f.rejection.flaw + "; then " + f.problem
		}
	}
	if f.problem != "" {
		h.problems = append(h.problems, f.problem)
	}
	return f
}

// joinProblems lists why the answers could not be used, in order.
func joinProblems(problems []string) string { return strings.Join(problems, "; asked again: ") }

const wrongFormNote = "(The reviewer's answer was not in the requested form.)"

// reject fills in the result when no answer could be used: a rejection in the wrong form, or no
// verdict at all.
func (h priorAnswers) reject(e *ralph.Evaluation) {
	problems := slices.Compact(h.problems)
	if h.rejection == nil {
		last := len(problems) - 1
		e.Category, e.Concern = ralph.RejectedInvalid, "the reviewer's answer could not be used: "+problems[last]
		e.NextStep = "no problem with the work is known; the reviewer will be asked again with the next claim"
		e.Problem = joinProblems(problems[:last])
		return
	}
	e.Malformed, e.Problem = true, joinProblems(problems)
	if e.Category = ralph.Rejection(h.rejection.Category); !slices.Contains(ralph.Rejections(), e.Category) {
		e.Category = ralph.RejectedInvalid
	}
	e.Concern, e.Evidence, e.NextStep = h.rejection.Concern, h.rejection.Evidence, h.rejection.NextStep
	if e.Concern == "" {
		e.Concern = "the reviewer rejects the work, but the reason cannot be read"
	}
	e.Concern += " " + wrongFormNote
	if e.NextStep == "" {
		e.NextStep = "look over the work again; the reviewer will be asked again when something has changed"
	}
}

// findRejection finds a rejection of any form in an answer: an object that holds the nonce and says
// reject. It returns the last one, or nil if there is none.
func findRejection(answer, nonce, dir string) *rejection {
	if !strings.Contains(answer, nonce) { // planted text without the nonce is not worth a search
		return nil
	}
	for at := strings.LastIndexByte(answer, '{'); at >= 0; at = strings.LastIndexByte(answer[:at], '{') {
		var object json.RawMessage
		if json.NewDecoder(strings.NewReader(answer[at:])).Decode(&object) != nil {
			continue
		}
		if v := parseLenient(object); sameWord(v.Nonce, nonce) && isRejection(v.Verdict) {
			v.Concern, v.NextStep = promise.OneLine(v.Concern, concernLimit), promise.OneLine(v.NextStep, nextStepLimit)
			v.Evidence = validPointers(dir, v.Evidence)
			return &rejection{v, flawOf(string(object), nonce)}
		}
	}
	return findBrokenRejection(answer, nonce)
}

func flawOf(object, nonce string) string {
	v, err := parse(object)
	if err == nil {
		err = v.check(nonce)
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// findBrokenRejection finds a rejection in invalid JSON, which was truncated or has an unescaped
// quote. Only its verdict can be read.
func findBrokenRejection(answer, nonce string) *rejection {
	said, no := `"nonce"\s*:\s*"`+regexp.QuoteMeta(nonce)+`"`, `"verdict"\s*:\s*"\s*reject`
	if !regexp.MustCompile(`(?i)` + said + `[^{}]*` + no + `|` + no + `[^{}]*` + said).MatchString(answer) {
		return nil
	}
	return &rejection{verdict: verdict{Nonce: nonce, Verdict: "reject"}}
}

// partialFinding reads the answer of a reviewer that could not finish.
func partialFinding(o ralph.AgentOutcome, nonce, dir string) finding {
	problem := fmt.Sprintf("it ended with %s: %s", o.End, promise.OneLine(o.Error, problemLimit))
	return finding{problem: strings.TrimSuffix(problem, ": "), rejection: findRejection(o.Answer, nonce, dir)}
}

func isRejection(word string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(word)), "reject")
}

func sameWord(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// parseLenient reads an object field by field. It ignores the case of names and values of other
// types. If the object says two things and one is a rejection, it is a rejection.
func parseLenient(object json.RawMessage) (v verdict) {
	texts := map[string]*string{
		"nonce": &v.Nonce, "verdict": &v.Verdict, "category": &v.Category, "concern": &v.Concern,
		"next_step": &v.NextStep,
	}
	d := json.NewDecoder(bytes.NewReader(object))
	d.Token() //nolint:errcheck // it begins with a brace: it was decoded before
	for d.More() {
		var value any
		name, err := d.Token()
		if err != nil || d.Decode(&value) != nil {
			return v
		}
		field := strings.ToLower(fmt.Sprint(name))
		text, isText := value.(string)
		list, _ := value.([]any)
		switch into := texts[field]; {
		case field == "evidence" && isText:
			v.Evidence = append(v.Evidence, text)
		case field == "evidence":
			for _, item := range list {
				if pointer, ok := item.(string); ok {
					v.Evidence = append(v.Evidence, pointer)
				}
			}
		case into == nil || !isText || field == "verdict" && isRejection(*into):
		default:
			*into = text
		}
	}
	return v
}

// validPointers returns the pointers that can be verified.
func validPointers(dir string, pointers []string) []string {
	var hold []string
	for _, p := range pointers[:min(len(pointers), maxPointers)] {
		if found, problem, err := lookUp(dir, []string{p}); err == nil && problem == "" {
			hold = append(hold, found...)
		}
	}
	return hold
}
