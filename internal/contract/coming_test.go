package contract

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// coming names what the page promises and the code does not do yet, with the feature that will add
// it. Building a feature means removing its names here.
var coming = struct{ commands, flags, keys, profiles map[string]string }{
	commands: of{
		"reports":   {"stats"},
		"screens":   {"ui", "serve"},
		"notifiers": {"notify test"},
	}.byName(),
	flags:    of{}.byName(),
	keys:     of{}.byName(),
	profiles: of{}.byName(),
}

// of lists names by the feature that will add them.
type of map[string][]string

func (o of) byName() map[string]string {
	features := map[string]string{}
	for feature, names := range o {
		for _, name := range names {
			features[name] = feature
		}
	}
	return features
}

// compared is one kind of names: on the page, in the code, and in the list of what is coming.
type compared struct {
	kind   string // such as "command"
	page   []string
	code   []string // what works, without what is only refused with a message
	coming map[string]string
	beyond []string // in the code but not on the page, for a reason that the test gives
}

// drift describes where the three disagree, one sentence each.
func (c compared) drift() []string {
	var sentences []string
	say := func(format string, args ...any) {
		sentences = append(sentences, c.kind+" "+fmt.Sprintf(format, args...))
	}
	for _, name := range c.page {
		feature, later := c.coming[name]
		switch built := slices.Contains(c.code, name); {
		case built && later:
			say("%s works: take it off the list of what comes with %s", name, feature)
		case !built && !later:
			say("%s is promised, but neither built nor named as coming", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.coming)) {
		if !slices.Contains(c.page, name) {
			say("%s is named as coming, but not promised", name)
		}
	}
	for _, name := range c.code {
		if !slices.Contains(c.page, name) && !slices.Contains(c.beyond, name) {
			say("%s works, but is not promised: the page has to say what it does", name)
		}
	}
	for _, name := range c.beyond {
		if slices.Contains(c.page, name) || !slices.Contains(c.code, name) {
			say("%s is no exception any more", name)
		}
	}
	return sentences
}

func (c compared) check(t *testing.T) {
	t.Helper()
	if len(c.page) == 0 || len(c.code) == 0 {
		t.Fatalf("nothing to compare: %d of kind %s on the page, %d in the code", len(c.page), c.kind, len(c.code))
	}
	for _, sentence := range c.drift() {
		t.Error(sentence)
	}
}

func TestDriftIsNoticed(t *testing.T) {
	got := compared{
		kind:   "key",
		page:   []string{"built", "later", "both", "forgotten"},
		code:   []string{"both", "built", "known", "secret"},
		coming: map[string]string{"later": "x", "both": "task lists", "invented": "x"},
		beyond: []string{"known", "gone", "built"},
	}.drift()
	want := []string{
		"key both works: take it off the list of what comes with task lists",
		"key forgotten is promised, but neither built nor named as coming",
		"key invented is named as coming, but not promised",
		"key secret works, but is not promised: the page has to say what it does",
		"key gone is no exception any more",
		"key built is no exception any more",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sentences (-want +got):\n%s", diff)
	}
}
