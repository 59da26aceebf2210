package runlog

import (
	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// decodeHot decodes the payloads that every iteration has and that a fold needs. A run of 10,000 iterations has 50,000 of them, and
// encoding/json would take most of the time of a resume. It is false for anything that it does not know in every detail, a field that is new
// included; the caller then asks ralph.DecodePayload, which is always right.
func decodeHot(kind ralph.EventType, data []byte) (payload any, ok bool) {
	c := &compact{text: data}
	switch kind {
	case ralph.EvIterationStarted:
		payload = c.iterationStarted()
	case ralph.EvAgentOutput:
		payload = c.agentOutput()
	case ralph.EvAgentExited:
		payload = c.agentOutcome()
	case ralph.EvTreeSnapshot:
		payload = c.treeState()
	case ralph.EvCheckFinished:
		payload = c.checkResult()
	case ralph.EvVerdict:
		payload = c.verdictReached()
	default:
		return nil, false
	}
	return payload, c.whole()
}

func (c *compact) iterationStarted() (v ralph.IterationStarted) {
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "ordinal":
			v.Ordinal = c.smallInteger()
		case "of":
			v.Of = c.smallInteger()
		case "diagnose":
			v.Diagnose = c.bool()
		case "probe":
			v.Probe = c.bool()
		case "agent":
			v.Agent = c.smallInteger()
		case "elapsed":
			v.Elapsed = c.span()
		default:
			c.odd = true
		}
	}
	return v
}

func (c *compact) agentOutput() (v ralph.AgentOutput) {
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "elapsed":
			v.Elapsed = c.span()
		case "tool":
			v.Tool = c.string()
		case "events":
			v.Events = c.smallInteger()
		case "review":
			v.Review = c.bool()
		case "cost":
			cost := c.float()
			v.Cost = &cost
		case "tokens":
			tokens := c.tokens()
			v.Tokens = &tokens
		case "cost_estimated":
			v.Estimated = c.bool()
		default:
			c.odd = true
		}
	}
	return v
}

func (c *compact) agentOutcome() (v ralph.AgentOutcome) {
	for c.open('{'); c.more('}'); {
		switch key := c.key(); string(key) {
		case "agent":
			v.Agent = c.string()
		case "end":
			v.End = ralph.EndClass(c.string())
		case "error":
			v.Error = c.string()
		case "hint":
			v.Hint = c.string()
		case "exit_code":
			v.ExitCode = c.smallInteger()
		case "duration":
			v.Duration = c.span()
		case "tools":
			v.Tools = c.counts()
		case "denials":
			v.Denials = c.strings()
		case "allow":
			v.Allow = c.strings()
		case "model":
			v.Model = c.string()
		case "session":
			v.Session = c.string()
		case "retry_after":
			v.RetryAfter = c.span()
		case "output_bytes":
			v.OutputBytes = c.integer()
		case "truncated":
			v.Truncated = c.bool()
		case "survivors":
			v.Survivors = c.smallInteger()
		case "survivor_names":
			v.SurvivorNames = c.strings()
		case "said":
			v.Said = c.report()
		case "task_end":
			v.TaskEnd = ralph.StopReason(c.string())
		case "answers_cut":
			v.AnswersCut = c.bool()
		default:
			c.figure(key, &v)
		}
	}
	return v
}

// figure reads what an agent took.
func (c *compact) figure(key []byte, v *ralph.AgentOutcome) {
	switch string(key) {
	case "steps":
		steps := c.smallInteger()
		v.Steps = &steps
	case "cost":
		cost := c.float()
		v.Cost = &cost
	case "cost_estimated":
		v.CostEstimated = c.bool()
	case "cost_partial":
		v.CostPartial = c.bool()
	case "tokens":
		tokens := c.tokens()
		v.Tokens = &tokens
	case "tokens_partial":
		v.TokensPartial = c.bool()
	default:
		c.odd = true
	}
}

func (c *compact) tokens() (v ralph.Tokens) {
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "input":
			v.Input = c.integer()
		case "output":
			v.Output = c.integer()
		case "cache_read":
			v.CacheRead = c.integer()
		case "cache_write":
			v.CacheWrite = c.integer()
		default:
			c.odd = true
		}
	}
	return v
}

func (c *compact) counts() map[string]int {
	counts := map[string]int{}
	for c.open('{'); c.more('}'); {
		name := string(c.key())
		counts[name] = c.smallInteger()
	}
	return counts
}

func (c *compact) report() (v promise.Report) {
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "complete":
			v.Complete = c.bool()
		case "complete_tag":
			v.CompleteTag = c.string()
		case "complete_text":
			v.CompleteText = c.string()
		case "blocked":
			v.Blocked = c.stringPointer()
		case "decide":
			v.Decide = c.stringPointer()
		case "tasks_done":
			v.TasksDone = c.strings()
		case "status":
			status := c.statusBlock()
			v.Status = &status
		case "status_problem":
			v.StatusProblem = c.string()
		case "contradictions":
			v.Contradictions = c.strings()
		case "mentions":
			v.Mentions = c.strings()
		case "unknown":
			v.Unknown = c.strings()
		case "learnings":
			v.Learnings = c.strings()
		case "phrases":
			v.Phrases = c.smallInteger()
		case "text":
			v.Text = c.bool()
		default:
			c.odd = true
		}
	}
	return v
}

func (c *compact) statusBlock() (v promise.Status) {
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "status":
			v.State = c.string()
		case "tasks_completed_this_loop":
			v.TasksCompleted = c.smallInteger()
		case "files_modified":
			v.FilesModified = c.smallInteger()
		case "tests_status":
			v.Tests = c.string()
		case "work_type":
			v.WorkType = c.string()
		case "exit_signal":
			v.ExitSignal = c.bool()
		case "recommendation":
			v.Recommendation = c.string()
		default:
			c.odd = true
		}
	}
	return v
}

func (c *compact) treeState() (v ralph.TreeState) {
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "known":
			v.Known = c.bool()
		case "head":
			v.Head = c.string()
		case "hash":
			v.Hash = c.string()
		case "dirty":
			v.Dirty = c.smallInteger()
		case "snapshot":
			v.Snapshot = c.string()
		case "left":
			v.Left = c.strings()
		case "base":
			v.Base = c.string()
		case "settled":
			v.Settled = c.string()
		case "after":
			v.After = c.bool()
		case "unfinished":
			v.Unfinished = c.strings()
		default:
			c.odd = true
		}
	}
	return v
}

func (c *compact) checkResult() (v ralph.CheckResult) {
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "name":
			v.Name = c.string()
		case "passed":
			v.Passed = c.bool()
		case "output":
			v.Output = c.string()
		case "exit_code":
			v.ExitCode = c.smallInteger()
		case "duration":
			v.Duration = c.span()
		case "broken":
			v.Broken = c.bool()
		case "timed_out":
			v.TimedOut = c.bool()
		case "truncated":
			v.Truncated = c.bool()
		case "survivors":
			v.Survivors = c.smallInteger()
		case "task":
			v.Task = c.string()
		case "command":
			v.Command = c.string()
		case "isolation":
			v.Isolation = c.string()
		case "weaker":
			v.Weaker = ralph.Way(c.string())
		case "hidden":
			v.Hidden = c.bool()
		case "attempts":
			v.Attempts = c.smallInteger()
		case "flaked":
			v.Flaked = c.bool()
		case "output_sha256":
			v.OutputHash = c.string()
		case "tree":
			v.Tree = c.string()
		case "attribution":
			v.Attribution = ralph.Attribution(c.string())
		case "proof":
			proof := c.proof()
			v.Proof = &proof
		default:
			c.odd = true
		}
	}
	return v
}

func (c *compact) proof() (v ralph.Proof) {
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "name":
			v.Name = c.string()
		case "task":
			v.Task = c.string()
		case "canary":
			v.Canary = ralph.CanaryState(c.string())
		case "detail":
			v.Detail = c.string()
		case "tests":
			v.Tests = c.smallInteger()
		case "missing":
			v.Missing = c.strings()
		case "lost":
			v.Lost = c.smallInteger()
		default:
			c.odd = true
		}
	}
	return v
}

func (c *compact) verdictReached() (v ralph.VerdictReached) {
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "at":
			v.At = c.moment()
		case "verdict":
			v.Verdict = c.verdict()
		default:
			c.odd = true
		}
	}
	return v
}

func (c *compact) moment() (v ralph.Moment) {
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "elapsed":
			v.Elapsed = c.span()
		case "signal":
			v.Signal = ralph.Signal(c.string())
		case "killed":
			v.Killed = c.bool()
		case "blocked":
			v.Blocked = c.string()
		default:
			c.odd = true
		}
	}
	return v
}

func (c *compact) verdict() (v ralph.Verdict) {
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "row":
			v.Row = c.smallInteger()
		case "action":
			v.Action = ralph.Action(c.string())
		case "stop_reason":
			v.Reason = ralph.StopReason(c.string())
		case "signal":
			v.Signal = ralph.Signal(c.string())
		case "detail":
			v.Detail = c.string()
		case "hint":
			v.Hint = c.string()
		case "claimed":
			v.Claimed = c.bool()
		case "gates":
			v.Gates = c.gates()
		case "counted":
			v.Counted = c.bool()
		case "progress":
			v.Progress = c.bool()
		case "wait":
			v.Wait = c.span()
		case "wait_for":
			v.WaitFor = ralph.WaitReason(c.string())
		case "breaker":
			v.Breaker = c.breaker()
		case "tasks":
			v.Tasks = c.taskVerdict()
		case "verified_by":
			v.VerifiedBy = c.strings()
		case "rest":
			rest := c.rest()
			v.Rest = &rest
		default:
			c.odd = true
		}
	}
	return v
}

func (c *compact) rest() (v ralph.AgentRest) {
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "agent":
			v.Agent = c.smallInteger()
		case "because":
			v.Because = ralph.EndClass(c.string())
		case "until":
			v.Until = c.span()
		case "times":
			v.Times = c.smallInteger()
		default:
			c.odd = true
		}
	}
	return v
}

func (c *compact) gates() []ralph.Gate {
	gates := []ralph.Gate{}
	for c.open('['); c.more(']'); {
		gates = append(gates, c.gate())
	}
	return gates
}

func (c *compact) gate() (v ralph.Gate) {
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "gate":
			v.Name = c.string()
		case "state":
			v.State = ralph.GateState(c.string())
		case "refusal":
			v.Refusal = c.string()
		case "detail":
			v.Detail = c.string()
		default:
			c.odd = true
		}
	}
	return v
}

func (c *compact) breaker() (v ralph.Breaker) {
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "state":
			v.State = ralph.BreakerState(c.string())
		case "reason":
			v.Reason = c.string()
		case "waits":
			v.Waits = c.smallInteger()
		default:
			c.odd = true
		}
	}
	return v
}
