package config

import (
	"fmt"

	"github.com/ralphloop/ralph"
)

// PolicyOverlay reads --set pairs and returns a function that applies them to a recorded policy,
// for "what if" questions to `ralph replay`.
func PolicyOverlay(pairs []string) (func(ralph.Policy) ralph.Policy, error) {
	set, err := setLayer(pairs)
	if err != nil {
		return nil, err
	}
	for name := range set {
		if !affectsVerdict(name) {
			return nil, &UsageError{
				Msg:  "--set " + name + " has no effect in a replay",
				Hint: "use gate.*, breaker.* or a limit",
			}
		}
	}
	return func(p ralph.Policy) ralph.Policy {
		s := settingsOf(p)
		for _, e := range set {
			e.key.store(&s, e.value)
		}
		changed := s.Policy()
		// No key sets these: they record what was found when the run began.
		changed.Agents, changed.Protects, changed.Evaluator, changed.Rules = p.Agents, p.Protects, p.Evaluator, p.Rules
		changed.Escalation, changed.Reserves = p.Escalation, p.Reserves
		changed.Breaker.Blocks, changed.KeepAnswer = p.Breaker.Blocks, p.KeepAnswer
		return changed
	}, nil
}

// CheckSet rejects --set pairs with an unknown key or a bad value.
func CheckSet(pairs []string) error {
	_, err := setLayer(pairs)
	return err
}

// affectsVerdict reports whether Decide looks at a key.
func affectsVerdict(name string) bool {
	switch name {
	case "max_iterations",
		"max_time",
		"max_cost",
		"max_tokens",
		"max_wait",
		"on_limit",
		"allow_unverified",
		"agent.max_failures",
		"agent.outage",
		"checks.max_broken",
		"tasks.max_tries",
		"tasks.on_failure",
		"on_decide":
		return true
	}
	group := allKeys.byName[name].Group()
	return group == "gate" || group == "breaker"
}

// settingsOf is the inverse of Settings.Policy.
func settingsOf(p ralph.Policy) Settings {
	return Settings{
		MaxIterations:    p.MaxIterations,
		MaxTime:          p.MaxTime,
		MaxCost:          p.MaxCost,
		MaxTokens:        p.MaxTokens,
		IterationTimeout: p.IterationTimeout,
		IterationCost:    p.IterationCost,
		IterationTurns:   p.IterationTurns,
		IdleTimeout:      p.IdleTimeout,
		IterationDelay:   p.IterationDelay,
		CompletionTag:    p.CompletionTags,
		AllowUnverified:  p.AllowUnverified,
		OnLimit:          string(p.OnLimit),
		MaxWait:          p.MaxWait,
		OnDecide:         string(p.OnDecide),
		Agent:            AgentSettings{MaxFailures: p.MaxFailures, Outage: p.Outage},
		Checks: CheckSettings{
			Timeout:   p.CheckTimeout,
			When:      string(p.ChecksWhen),
			Baseline:  p.Baseline,
			MaxBroken: p.MaxBroken,
			Retries:   p.Retries,
			Canary:    map[bool]string{true: "auto", false: "off"}[p.Canary],
			Parallel:  p.Parallel,
		},
		Evaluator: EvaluatorSettings{MaxCallsPerTask: p.MaxRejections},
		Tasks:     TaskSettings{MaxTries: p.TaskTries, OnFailure: failureRule(p)},
		Gate: GateSettings{
			Claim: string(p.Claim), Status: string(p.Status), StatusMin: p.StatusMin, StatusPhrases: p.StatusPhrases,
			Unfinished: string(p.Unfinished), Tamper: string(p.Tamper), TestChange: string(p.TestChange),
			Shown: string(p.Shown), Proof: string(p.Proof), Committed: string(p.Committed),
			VerifierTools: p.VerifierTools,
		},
		Breaker: BreakerSettings{
			NoProgress: p.Breaker.NoProgress, SameError: p.Breaker.SameError, PermissionDenials: p.Breaker.PermissionDenials,
			OutputDecline: p.Breaker.OutputDecline, Diagnose: p.Breaker.Diagnose, Cooldown: p.Breaker.Cooldown,
		},
		Limits: LimitSettings{CallsPerHour: p.CallsPerHour},
	}
}

func failureRule(p ralph.Policy) string {
	if p.OnTaskFailure == ralph.TaskRetry {
		return fmt.Sprintf("retry:%d", p.TaskRetries)
	}
	return string(p.OnTaskFailure)
}
