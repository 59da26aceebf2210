// Package interview is the planner's conversation: a model or an agent looks at a repository, asks a
// person what the repository cannot tell, and writes a task list.
//
//	outcome, err := interview.Run(ctx, interview.Options{
//		Client: client, Model: name, Tools: tools.Reading(options), Brief: brief, Project: facts,
//		Lint: draft.Preview, Existing: draft.Existing(), // of plan.Draft
//		Ask:  answers.Ask,                           // of ReadAnswers, or a person at a terminal
//	})
//	if err == nil && outcome.Status == interview.Written {
//		list, err = draft.Land(outcome.Tasks)
//	}
//
// Nothing is written here: the plan is a value, and the caller writes it atomically.
//
// # Tools
//
// The model has the reading tools that it is given, ask_user and write_plan. It is told to look
// first and to ask little: one question at a time and at most ten. A plan is decoded strictly and
// within limits, then made into a list and linted. Problems are the answer to the call, and the
// model fixes them. Warnings about a valid plan are given once: if the model calls again, the plan
// is accepted, and the warnings are in the outcome.
//
// # Agents
//
// An agent CLI has no tools of ours. It is called once per turn, each time with a fresh context, and
// ends its answer with one fenced block of JSON: questions, or the plan in the form of write_plan.
// Its prompt holds the questions and answers so far, and what was wrong with its last answer. A
// failing provider is tried three times: the CLI has retried by itself each time.
//
// # Ends
//
// A plan that lints is [Written]. An unanswered question is [NeedsAnswers]. A planner that replies
// three times in a row without a call or a block, sends three empty replies in a row, or has used up
// its turns is [NoPlan]; one that has used up its money or tokens is [OverBudget]. Everything else, such as a
// fault of the provider or a canceled context, is [Failed], and Outcome.End says what it was, as
// for every agent.
//
// # Plain text
//
// Texts of a model that reach the outcome, a question or a live view contain no control characters
// and none that change the direction of writing. A check that contains such characters is refused,
// because a command must be what it looks like. The checks of a plan are commands that a model
// wrote: before running them, the caller must ask for consent, as for any list.
package interview
