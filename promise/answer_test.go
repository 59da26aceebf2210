package promise

import "testing"

func TestAnswer(t *testing.T) {
	for message, want := range map[string]string{
		"The answer is 42.\n<promise>DONE</promise>\n":          "The answer is 42.",
		"The answer is 42. <promise>DONE</promise>":             "The answer is 42.",
		"One\n\n<Promise>\nDONE: all\n</PROMISE>\n\nTwo":        "One\n\n\nTwo",
		"<think>41?</think>42\n<promise>DONE</promise>":         "42",
		"perhaps 41</think>\n42":                                "42",
		"\x1b[1m42\x1b[0m\r\n\ttab\x07\u202e stays":             "42\n\ttab stays",
		"<promise>DONE</promise>\n<promise>BLOCKED:x</promise>": "",
		"a < b, and <promise is no tag":                         "a < b, and <promise is no tag",
		"<promise>never closed":                                 "<promise>never closed",
		"Ünïcode İ <promise>DONE</promise> stays":               "Ünïcode İ  stays",
		"first\x00<promise>DONE</promise>\nsecond":              "first\nsecond",
	} {
		if got := Answer(message); got != want {
			t.Errorf("Answer(%q) = %q, want %q", message, got, want)
		}
	}
}
