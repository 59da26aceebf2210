package canary

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
)

// report reads a report file: JUnit XML, or the JSON of jest, vitest, mocha or rspec.
func (r *reading) report(text []byte) {
	for line := range bytes.Lines(text) {
		r.findTokens(string(line))
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	switch {
	case bytes.HasPrefix(text, []byte("<")):
		r.junit(text)
	case bytes.HasPrefix(text, []byte("{")):
		r.jsonReport(text)
	}
}

type junitCase struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	Skipped *struct{}   `xml:"skipped"`
	Failure *junitFault `xml:"failure"`
	Error   *junitFault `xml:"error"`
}

type junitFault struct {
	Message string `xml:"message,attr"`
}

// junit reads test cases one by one, so that those before a truncation count.
func (r *reading) junit(text []byte) {
	decoder := xml.NewDecoder(bytes.NewReader(text))
	decoder.Strict = false
	for {
		token, err := decoder.Token()
		if err != nil {
			return
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "testcase" {
			continue
		}
		var c junitCase
		if decoder.DecodeElement(&c, &start) != nil {
			return
		}
		state := Passed
		switch {
		case c.Error != nil && strings.Contains(c.Error.Message, "collection failure"):
			// A file that could not be loaded is not a test.
			r.unbuilt = true
			continue
		case c.Skipped != nil:
			state = Skipped
		case c.Failure != nil || c.Error != nil:
			state = Failed
		}
		name := c.Name
		if c.Class != "" {
			name = c.Class + "." + c.Name
		}
		r.test("junit", name, state)
	}
}

type jsonReport struct {
	TestResults []struct {
		AssertionResults []struct {
			FullName string `json:"fullName"`
			Status   string `json:"status"`
		} `json:"assertionResults"`
	} `json:"testResults"`
	Examples []struct {
		FullDescription string `json:"full_description"`
		Status          string `json:"status"`
	} `json:"examples"`
	Passes   []mochaTest `json:"passes"`
	Failures []mochaTest `json:"failures"`
	Pending  []mochaTest `json:"pending"`
}

type mochaTest struct {
	FullTitle string `json:"fullTitle"`
}

func (r *reading) jsonReport(text []byte) {
	var report jsonReport
	if json.Unmarshal(text, &report) != nil {
		return
	}
	for _, file := range report.TestResults {
		for _, t := range file.AssertionResults {
			r.test("json", strings.TrimSpace(t.FullName), jsonState(t.Status))
		}
	}
	for _, t := range report.Examples {
		r.test("json", t.FullDescription, jsonState(t.Status))
	}
	for state, tests := range map[State][]mochaTest{
		Passed:  report.Passes,
		Failed:  report.Failures,
		Skipped: report.Pending,
	} {
		for _, t := range tests {
			r.test("json", t.FullTitle, state)
		}
	}
}

func jsonState(status string) State {
	switch status {
	case "passed":
		return Passed
	case "failed":
		return Failed
	}
	return Skipped
}
