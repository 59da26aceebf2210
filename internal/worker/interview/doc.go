// Package interview is the planner's conversation: a model looks at a repository, asks a person what the repository cannot tell, and writes a task list.
//
//	outcome, err := interview.Run(ctx, interview.Options{
//		Client: client, Model: name, Tools: tools.Reading(options), Brief: brief, Project: facts,
//		Lint: draft.Try, Existing: draft.Existing(), // of plan.Draft
//		Ask:  answers.Ask,                           // of ReadAnswers, or somebody at a terminal
//	})
//	if err == nil && outcome.Status == interview.Written {
//		list, err = draft.Land(outcome.Tasks)
//	}
//
// Nothing is written here: the plan is a value, and whoever asked for it lands it, at once or not at all.
//
// # Tools
//
// The model has the reading tools that it is given, ask_user and write_plan. It is asked to look first and to ask little: one question at a time and at most
// ten. A plan is decoded strictly and within bounds, then made a list and linted; what is wrong with it is the answer to the call, and the model mends it.
// What is legal and yet likely to end badly is told once: if the model calls again, it is taken at its word, and the doubts are in the outcome.
//
// # Ends
//
// A plan that lints is [Written]. A question that nobody answers is [NeedsAnswers]. A model that talks and calls nothing three times in a row, that is silent
// three times in a row, or that has used up its turns is [NoPlan]; one that has used up its money or tokens, [OverBudget]. All else, a fault of the provider or a cancelled context, is [Failed], and Outcome.End
// says what it was, as for every agent.
//
// # What comes out is plain
//
// Texts of a model that reach the outcome, a question or a live view hold no control characters and none that change the direction of writing; a check that
// holds such is refused, for a command must be what it looks like. The checks of a plan are commands that a model wrote: whoever runs them asks for
// consent first, as for those of any list.
package interview
