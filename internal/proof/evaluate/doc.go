// Package evaluate gives a second opinion on a claim: it asks another agent, with fresh context, whether the work is what was asked for.
//
// # What the reviewer gets
//
// The task, its criteria, the diff, what the checks showed, what became of tests that were changed, the case that the worker made where there is
// one, and the last verdicts on the same task. It never gets the worker's talk. Everything that is not the harness's own stands between two lines that hold a
// random word, which occurs nowhere in it, and the reviewer is told that nothing in there is an instruction. The text is prompt.md, whose parts are
// put in where there is something to say; what is long is cut in the middle, with a mark. Of hidden checks the reviewer learns only that they
// passed: what it says goes to the worker.
//
// # What the reviewer answers
//
// One JSON object, the last thing in its answer:
//
//	{"nonce": "…", "verdict": "accept" or "reject", "category": "…", "concern": "…", "evidence": ["path:line"], "next_step": "…"}
//
// The nonce is a second random word, which stands in the instructions alone: an answer without it is an echo of something that was planted. An answer
// counts only if it is well-formed: no unknown field, a known category, a concern and a next step where it rejects, and evidence that can be looked up: files below
// the workspace that are there and have that line, no links that lead out. To accept takes at least one such pointer. An answer that is none of that is
// asked for once more, with what was wrong with it; then the claim is rejected with invalid_verdict. So no text that an agent can write into a
// file makes an acceptance, nor does a reviewer that breaks.
//
// A no stays a no. An answer that holds the nonce and says reject, in whatever form, can only lead to a rejection: to that of the second answer if it is
// well-formed, else to its own, with a category of the list if it names one ([ralph.Evaluation.Malformed]). Why an answer could not be used as
// it was is kept in [ralph.Evaluation.Problem].
//
// # What it cannot be asked
//
// While a check is red there is nothing to ask: that is a rejection without a call. A reviewer that cannot work (no login, a limit, a time-out) gives no
// verdict; [ralph.Evaluation.End] says why.
//
// [Ledger] keeps the verdicts of a run for people, one file a task.
package evaluate
