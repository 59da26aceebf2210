package evaluate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

const (
	// maxVerdict is how long a verdict can be, in bytes; it is looked for at the very end of the answer.
	maxVerdict  = 16 << 10
	concernCap  = 2000 // characters
	nextStepCap = 1000
	maxPointers = 20 // beyond these, evidence is left out
	problemCap  = 200
)

// verdict is what the reviewer writes.
type verdict struct {
	Nonce    string   `json:"nonce"`
	Verdict  string   `json:"verdict"`
	Category string   `json:"category"`
	Concern  string   `json:"concern"`
	Evidence []string `json:"evidence"`
	NextStep string   `json:"next_step"`
}

// verdictFields are the names that a verdict may have, as they are written.
var verdictFields = []string{"nonce", "verdict", "category", "concern", "evidence", "next_step"}

// finding is a verdict that holds, or the problem with one that does not.
type finding struct {
	verdict
	problem string
	no      *rejection // one that stands in the answer, whatever its form and whatever else does; nil if there is none
}

func (f finding) fill(e *ralph.Evaluation) {
	e.Accepted, e.Category, e.Concern, e.Evidence, e.NextStep = f.Verdict == "accept", ralph.Rejection(f.Category), f.Concern, f.Evidence, f.NextStep
}

// read finds the verdict in an answer and holds it against its rules and the files of the workspace. An error means that these cannot be looked at.
func read(answer, nonce, dir string) (finding, error) {
	no := saidNo(answer, nonce, dir)
	v, err := lastObject(answer)
	switch {
	case err == nil:
		err = v.check(nonce)
	case errors.Is(err, errNoObject) && no != nil && no.flaw != "": // that is worth more than what stands behind it
		err = errors.New(no.flaw)
	}
	if err != nil {
		return finding{problem: err.Error(), no: no}, nil
	}
	pointers, problem, err := lookUp(dir, v.Evidence)
	if err != nil {
		return finding{}, err
	}
	v.Evidence = pointers
	v.Concern, v.NextStep = promise.OneLine(v.Concern, concernCap), promise.OneLine(v.NextStep, nextStepCap)
	return finding{v, problem, no}, nil
}

var errNoObject = errors.New("the answer does not end with a JSON object of the form that was asked for")

// lastObject reads the JSON object that ends the answer, perhaps in a fence.
func lastObject(answer string) (verdict, error) {
	text := strings.TrimSpace(answer)
	if text == "" {
		return verdict{}, errors.New("the answer is empty")
	}
	if fenced, ok := strings.CutSuffix(text, "```"); ok {
		text = strings.TrimSpace(fenced)
	}
	if !strings.HasSuffix(text, "}") {
		return verdict{}, errNoObject
	}
	text = text[max(len(text)-maxVerdict, 0):]
	for at := len(text); ; {
		if at = strings.LastIndexByte(text[:at], '{'); at < 0 {
			return verdict{}, errNoObject
		}
		if object := text[at:]; json.Valid([]byte(object)) {
			return parse(object)
		}
	}
}

// parse reads an object field by field: encoding/json alone would take a name in other letters, and the last of two.
func parse(object string) (v verdict, err error) {
	d := json.NewDecoder(strings.NewReader(object))
	if _, err := d.Token(); err != nil {
		return verdict{}, fmt.Errorf("read verdict: %w", err)
	}
	seen := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return verdict{}, fmt.Errorf("read verdict: %w", err)
		}
		field, _ := name.(string)
		if !slices.Contains(verdictFields, field) {
			return verdict{}, fmt.Errorf("the field %s is not known", told(field))
		}
		if seen[field] {
			return verdict{}, fmt.Errorf("the field %s is there twice", told(field))
		}
		seen[field] = true
		if err := d.Decode(&json.RawMessage{}); err != nil {
			return verdict{}, fmt.Errorf("read verdict: %w", err)
		}
	}
	d = json.NewDecoder(bytes.NewReader([]byte(object)))
	if err := d.Decode(&v); err != nil {
		return verdict{}, errors.New("a field has the wrong type: evidence is a list of strings, everything else a string")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return verdict{}, errNoObject
	}
	return v, nil
}

// check holds a verdict against the rules that need no files.
func (v verdict) check(nonce string) error {
	switch {
	case !sameWord(v.Nonce, nonce):
		return errors.New("the nonce is not the one of the instructions")
	case v.Verdict != "accept" && v.Verdict != "reject":
		return fmt.Errorf("the verdict is %s; it must be accept or reject", told(v.Verdict))
	case v.Verdict == "accept" && v.Category != "":
		return fmt.Errorf("the category is %s; who accepts leaves it empty", told(v.Category))
	case v.Verdict == "accept" && len(v.Evidence) == 0:
		return errors.New("there is no evidence; to accept takes at least one path:line")
	case v.Verdict == "reject" && !slices.Contains(ralph.Rejections(), ralph.Rejection(v.Category)):
		return fmt.Errorf("the category %s is not one of the list", told(v.Category))
	case v.Verdict == "reject" && promise.OneLine(v.Concern, concernCap) == "":
		return errors.New("the concern is missing")
	case v.Verdict == "reject" && promise.OneLine(v.NextStep, nextStepCap) == "":
		return errors.New("the next_step is missing")
	}
	return nil
}

// told quotes something of the reviewer's in a sentence of ours.
func told(s string) string { return fmt.Sprintf("%q", promise.OneLine(s, problemCap)) }
