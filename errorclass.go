package ralph

import ()

// ErrorClass is the end of an agent in the one word that decides what can be done about it.
type ErrorClass string

// The classes.
const (
	ClassOK         ErrorClass = "ok"
	ClassAuth       ErrorClass = "auth"       // log in
	ClassLimit      ErrorClass = "limit"      // wait for the reset
	ClassOverloaded ErrorClass = "overloaded" // try again: a failing model, a cut stream, no connection
	ClassPermission ErrorClass = "permission" // allow what was denied
	ClassBroken     ErrorClass = "broken"     // the agent itself failed; its error says why
	ClassKilled     ErrorClass = "killed"     // it did not end by itself
)

// Class sums up how the agent ended. A denial that it lived with is none.
func (o AgentOutcome) Class() ErrorClass {
	switch o.End {
	case EndOK:
		return ClassOK
	case EndAuth:
		return ClassAuth
	case EndLimit:
		return ClassLimit
	case EndProvider:
		return ClassOverloaded
	case EndKilled, EndTimeout, EndIdle, EndOutOfTime, EndInterrupted:
		return ClassKilled
	}
	if len(o.Denials) > 0 {
		return ClassPermission
	}
	return ClassBroken
}
