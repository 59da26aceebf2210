package config

import "slices"

// Profile is a set of defaults. It is just above the table's defaults, so anything that a user sets
// overrides it.
type Profile struct {
	Name   string
	Doc    string
	Values map[string]string // by key, as written in the environment
}

// profileGoal is the name of the profile whose runs answer a goal.
const profileGoal = "goal"

// Profiles lists the profiles.
func Profiles() []Profile {
	return []Profile{
		{Name: "default", Doc: "the default of every key"},
		{Name: "promise", Doc: "10 iterations, COMPLETE, no breaker", Values: withoutBreaker(map[string]string{
			"max_iterations": "10", "completion_tag": "COMPLETE", "gate.shown": "warn", "gate.committed": "warn",
			"agent.max_failures": "0", // its script goes on after an agent that failed
		})},
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
		{
			Name: profileGoal,
			Doc:  "20 iterations, DONE, the agent's answer in the result; the same failure three times is BLOCKED",
			Values: map[string]string{
				"max_iterations": "20", "completion_tag": "DONE", "gate.status": "off", "gate.shown": "warn",
				"gate.test_change":   "ask", // passing checks must be those that the goal began with
				"breaker.same_error": "3", "breaker.diagnose": "false",
			},
		},
		{
			Name: "checks",
			Doc:  "25 iterations, checks after each, COMPLETE, no breaker",
			Values: withoutBreaker(map[string]string{
				"max_iterations": "25", "completion_tag": "COMPLETE", "checks.when": "always",
				"gate.shown": "warn",
			}),
		},
		{
			Name: "status",
			Doc:  "status block required, unfinished work refused, breaker with cool-down, 100 iterations per hour",
			Values: map[string]string{
				"gate.status": "required", "gate.unfinished": "refuse", "gate.shown": "warn",
				"breaker.cooldown": "30m", "limits.calls_per_hour": "100",
				"tasks.plan": "IMPLEMENTATION_PLAN.md",
			},
		},
	}
}

// withoutBreaker turns every rule of the breaker off, for systems that only have limits: a failing check never ends
// their runs early.
func withoutBreaker(values map[string]string) map[string]string {
	for _, rule := range []string{"no_progress", "same_error", "permission_denials", "output_decline"} {
		values["breaker."+rule] = "0"
	}
	return values
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
