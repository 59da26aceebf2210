package config

import "strings"

// seedVariables are those of seed 001's system, which profile case reads: a script that sets them works unchanged.
var seedVariables = []struct{ name, key, unit string }{
	{"TILTH_MAX_ITERATIONS_PER_TASK", "worker.max_turns_per_task", ""},
	{"TILTH_MAX_WALL_CLOCK_MINUTES", "max_time", "m"},
	{"TILTH_MAX_TOKENS", "max_tokens", ""},
	{"TILTH_MAX_TOKEN_DOLLAR_SPEND", "max_cost", ""},
	{"MAX_EVALUATOR_CALLS_PER_TASK", "evaluator.max_calls_per_task", ""},
}

// seedLayer is what they say. A blank one says nothing.
func (e Env) seedLayer() (layer, error) {
	l := layer{}
	for _, v := range seedVariables {
		text := strings.TrimSpace(e.value(v.name))
		if text == "" {
			continue
		}
		key := words.byName[v.key]
		if p := l.put(key, lines(key, text+v.unit), Origin{Layer: LayerEnvironment, Name: v.name}); p != nil {
			return nil, p.from(v.name)
		}
	}
	return l, nil
}
