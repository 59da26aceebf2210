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
	// maxVerdict is the maximum length of a verdict in bytes. It is searched for at the very end of
	// the answer.
	maxVerdict    = 16 << 10
	concernLimit  = 2000 // characters
	nextStepLimit = 1000
	maxPointers   = 20 // further evidence is ignored
	problemLimit  = 200
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

// verdictFields are the allowed field names, in exact case.
var verdictFields = []string{"nonce", "verdict", "category", "concern", "evidence", "next_step"}

// finding is a valid verdict, or the problem with an invalid one.
type finding struct {
	verdict
	problem string
	// rejection is a rejection found in the answer, in any form and whatever else the answer says;
	// nil if there is none.
	rejection *rejection
}

func (f finding) fill(e *ralph.Evaluation) {
	e.Accepted, e.Category, e.Concern, e.Evidence, e.NextStep = f.Verdict == "accept", ralph.Rejection(
		f.Category,
	), f.Concern, f.Evidence, f.NextStep
}

// read finds the verdict in an answer and checks it against the rules and the files of the
// workspace. An error means that the files cannot be read.
func read(answer, nonce, dir string) (finding, error) {
	no := findRejection(answer, nonce, dir)
	v, err := lastObject(answer)
	switch {
	case err == nil:
		err = v.check(nonce)
	// this is more useful than what follows it
	case errors.Is(err, errNoObject) && no != nil && no.flaw != "":
		err = errors.New(no.flaw)
	}
	if err != nil {
		return finding{problem: err.Error(), rejection: no}, nil
	}
	pointers, problem, err := lookUp(dir, v.Evidence)
	if err != nil {
		return finding{}, err
	}
	v.Evidence = pointers
	v.Concern, v.NextStep = promise.OneLine(v.Concern, concernLimit), promise.OneLine(v.NextStep, nextStepLimit)
	return finding{v, problem, no}, nil
}

var errNoObject = errors.New("the answer does not end with a JSON object in the requested form")

// lastObject reads the JSON object at the end of the answer, which may be in a code fence.
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

// parse reads an object field by field, because encoding/json alone would accept names in another
// case and the last of two duplicates.
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
			return verdict{}, fmt.Errorf("the field %s is unknown", quoted(field))
		}
		if seen[field] {
			return verdict{}, fmt.Errorf("the field %s occurs twice", quoted(field))
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

// check applies the rules that need no files.
func (v verdict) check(nonce string) error {
	switch {
	case !sameWord(v.Nonce, nonce):
		return errors.New("the nonce is not the one in the instructions")
	case v.Verdict != "accept" && v.Verdict != "reject":
		return fmt.Errorf("the verdict is %s; it must be accept or reject", quoted(v.Verdict))
	case v.Verdict == "accept" && v.Category != "":
		return fmt.Errorf("the category is %s; leave it empty to accept", quoted(v.Category))
	case v.Verdict == "accept" && len(v.Evidence) == 0:
		return errors.New("there is no evidence; accepting requires at least one path:line")
	case v.Verdict == "reject" && !slices.Contains(ralph.Rejections(), ralph.Rejection(v.Category)):
		return fmt.Errorf("the category %s is not in the list", quoted(v.Category))
	case v.Verdict == "reject" && promise.OneLine(v.Concern, concernLimit) == "":
		return errors.New("the concern is missing")
	case v.Verdict == "reject" && promise.OneLine(v.NextStep, nextStepLimit) == "":
		return errors.New("the next_step is missing")
	}
	return nil
}

// quoted quotes text of the reviewer in one of our sentences.
func quoted(s string) string { return fmt.Sprintf("%q", promise.OneLine(s, problemLimit)) }
