package runlog

import "github.com/ralphloop/ralph"

func (c *compact) taskVerdict() (v ralph.TaskVerdict) {
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "current":
			v.Current = c.string()
		case "done":
			v.Done = c.strings()
		case "refused":
			v.Refused = c.taskRefusals()
		case "regressed":
			v.Regressed = c.strings()
		case "mended":
			v.Mended = c.strings()
		case "given_up":
			v.GivenUp = c.string()
		case "rejected":
			v.Rejected = c.bool()
		case "because":
			v.Because = ralph.StopReason(c.string())
		case "retried":
			v.Retried = c.bool()
		case "reopened":
			v.Reopened = c.strings()
		case "all_done":
			v.AllDone = c.bool()
		default:
			c.odd = true
		}
	}
	return v
}

func (c *compact) taskRefusals() []ralph.TaskRefusal {
	refusals := []ralph.TaskRefusal{}
	for c.open('['); c.more(']'); {
		refusals = append(refusals, c.taskRefusal())
	}
	return refusals
}

func (c *compact) taskRefusal() (v ralph.TaskRefusal) {
	for c.open('{'); c.more('}'); {
		switch string(c.key()) {
		case "task":
			v.Task = c.string()
		case "code":
			v.Code = c.string()
		case "detail":
			v.Detail = c.string()
		default:
			c.odd = true
		}
	}
	return v
}
