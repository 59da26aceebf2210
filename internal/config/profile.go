package config

import "slices"

// Profile is a set of defaults. It is just above the table's defaults, so anything that a user sets
// overrides it.
type Profile struct {
	Name   string
	Doc    string
	Values map[string]string // by key, as written in the environment
}

// Profiles lists the profiles.
func Profiles() []Profile {
	return []Profile{
		{Name: "default", Doc: "the default of every key"},
		{Name: "promise", Doc: "10 iterations, COMPLETE, no breaker", Values: map[string]string{
			"max_iterations":             "10",
			"completion_tag":             "COMPLETE",
			"breaker.no_progress":        "0",
			"breaker.same_error":         "0",
			"breaker.permission_denials": "0",
			"breaker.output_decline":     "0",
		}},
		{
			Name: "case",
			Doc:  "the built-in worker: unlimited iterations, submit_case, an evaluator, one commit per task in a worktree",
			Values: map[string]string{
				"agent.name":                Worker,
				"max_iterations":            "0",
				"worker.max_turns_per_task": "32",
				"evaluator.agent":           Worker,
				"max_time":                  "120m",
				"max_tokens":                "2000000",
				"tasks.on_failure":          "halt",
				"worktree":                  "true",
				"commit":                    "task",
				"checks.task_tests":         "tests/test_{id}_*.py",
			},
		},
		{Name: "checks", Doc: "25 iterations, checks after each, COMPLETE", Values: map[string]string{
			"max_iterations": "25", "completion_tag": "COMPLETE", "checks.when": "always",
		}},
		{
			Name: "status",
			Doc:  "status block required, unfinished work refused, breaker with cool-down, 100 iterations per hour",
			Values: map[string]string{
				"gate.status": "required", "gate.unfinished": "refuse", "breaker.cooldown": "30m", "limits.calls_per_hour": "100",
				"tasks.plan": "IMPLEMENTATION_PLAN.md",
			},
		},
	}
}

// layer returns the values of the profile.
func (p Profile) layer() layer {
	l := layer{}
	for name, text := range p.Values {
		mustPut(l, allKeys.byName[name], text, Origin{Layer: LayerProfile, Name: p.Name})
	}
	return l
}

// profileNamed returns the profile with a name that has been checked against the table's choices. A
// test makes sure that each choice has a profile.
func profileNamed(name string) Profile {
	profiles := Profiles()
	return profiles[slices.IndexFunc(profiles, func(p Profile) bool { return p.Name == name })]
}
