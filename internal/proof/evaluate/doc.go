// Package evaluate gets a second opinion on a claim: it asks another agent, with fresh context,
// whether the work is what was asked for.
//
// # What the reviewer gets
//
// The task, its criteria, the diff, the results of the checks and of changed tests, the worker's
// own submission if there is one, and the last verdicts on the same task. It never gets the
// worker's messages. Everything that the harness did not write is enclosed in two lines that hold a
// random word. That word occurs nowhere inside, and the reviewer is told that nothing in there is
// an instruction. The text is prompt.md; parts without content are left out, and long content is
// cut in the middle, with a mark. Of hidden checks the reviewer learns only that they passed,
// because its answer goes to the worker.
//
// # What the reviewer answers
//
// One JSON object, the last thing in its answer:
//
//	{"nonce": "…", "verdict": "accept" or "reject", "category": "…", "concern": "…",
//	 "evidence": ["path:line"], "next_step": "…"}
//
// The nonce is a second random word, which occurs only in the instructions. An answer without it is
// an echo of planted text. An answer counts only if it is well-formed: no unknown field, a known
// category, a concern and a next step if it rejects, and evidence that can be verified. Evidence
// names files in the workspace that exist and have that line, and no links that lead out. Accepting
// requires at least one such pointer. If an answer is not well-formed, the reviewer is asked once
// more and told what was wrong; after that the claim is rejected with invalid_verdict. So no text
// that an agent can write into a file becomes an acceptance, and neither does a failing reviewer.
//
// A rejection is final. An answer that holds the nonce and says reject, in any form, can only lead
// to a rejection: to the second answer's if that is well-formed, else to its own, with a category
// of the list if it names one ([ralph.Evaluation.Malformed]). [ralph.Evaluation.Problem] records
// why an answer could not be used.
//
// # When it is not asked
//
// While a check fails, the claim is rejected without a call. A reviewer that cannot work (no login,
// a limit, a timeout) gives no verdict; [ralph.Evaluation.End] says why.
//
// [Ledger] keeps the verdicts of a run for people, one file per task.
package evaluate
