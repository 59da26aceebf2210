package contract

import (
	"maps"
	"slices"
	"testing"

	"github.com/ralphloop/ralph/internal/config"
)

func TestKeys(t *testing.T) {
	page := readPage(t)
	names := page.Keys()
	flags := slices.Concat(page.RunFlags(), page.GlobalFlags())
	features := maps.Clone(coming.keys)
	var working []string
	for _, key := range config.Keys() {
		if key.Flag != "" && slices.Contains(flags, key.Flag) && !slices.Contains(names, key.Name) {
			// The page says that keys have the flags' names: this one is promised by its flag.
			names = append(names, key.Name)
			if feature, ok := coming.flags[key.Flag]; ok {
				features[key.Name] = feature
			}
		}
		if key.Ready() {
			working = append(working, key.Name)
		}
	}
	compared{
		kind: "key", page: names, code: working, coming: features,
		beyond: []string{
			"agent.args",     // the arguments after -- in `ralph run -- AGENT ARGS`
			"commit_message", // for --commit
		},
	}.check(t)
}

func TestProfiles(t *testing.T) {
	var names []string
	for _, profile := range config.Profiles() {
		names = append(names, profile.Name)
	}
	compared{kind: "profile", page: readPage(t).Profiles(), code: names, coming: coming.profiles}.check(t)
}
