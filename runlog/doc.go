// Package runlog keeps runs on disk: an append-only log for each run, the lock of a workspace, the
// orders of other processes to a run, and the messages that people write to a run or to the next
// one.
//
// # Layout
//
//	<state>/<workspace-id>/workspace          the absolute path of the workspace
//	<state>/<workspace-id>/lock               who works on it now
//	<state>/<workspace-id>/letters/<id>.json  messages that no run has read yet
//	<state>/<workspace-id>/snapshots.git      snapshots of the tree; owned by another package
//	<state>/<workspace-id>/worktrees/         worktrees of runs; owned by another package
//	<state>/<workspace-id>/runs/<run>/
//	    events.jsonl                          the log: the only truth about the run
//	    result.json                           written when the run ends; can be recomputed from the log
//	    iterations/NNNN/                      files of an iteration; 0000 is the baseline
//	    mailbox/                              orders to the run
//	    tasks/                                the task list as the harness last knew it, made by Log.Keep
//
// Folders have mode 0700 and files 0600. Nothing is created before something is written. During a
// run, nothing that grows with it is ever rewritten. result.json is written twice at the end: once
// before the end is recorded, saying that it is not, and once after.
//
// # The log
//
// One event is one line, here wrapped:
//
//	{"v":1,"seq":1,"ts":"2026-01-02T03:04:05.6Z","run":"01J…","iteration":0,
//	"type":"run_started","data":{…},"prev":"e3b0c442…","sum":"9ae0daaf"}
//
// sum is the CRC-32C, in eight lower-case hexadecimal digits, of the bytes of the line before
// `,"sum"`. Sequence numbers start at 1 and have no gaps. A line ends with a newline and contains
// no other. prev makes the lines a chain, see below.
//
// [Log.Append] makes one write system call and buffers nothing, so an appended event survives the
// death of the process. [Log.Sync] makes it survive a power cut. A line that could not be written
// completely is removed, so that the run can be resumed once there is space. After a failed sync it
// is unknown what is on the disk, so the log accepts no more events.
//
// # Damage
//
// A writer that dies can leave a torn last line: one without its newline, or with a wrong sum and
// nothing after it. Readers stop before it; [Store.Reopen] cuts it off and reports how many bytes
// it dropped. Any other fault (a wrong sum with more lines after it, a line that is not an event, a
// gap in the sequence, an event of another run) is a [Damaged] log: reading ends there with the
// position and the reason. Nothing is ever skipped.
//
// # The chain
//
// Sums detect accidents, but anyone who edits a line can recompute its sum. So every line carries
// in prev, its last field before sum, a link to what precedes it: the SHA-256, in 64 lower-case
// hexadecimal digits, of every byte from the start of the last line that has a link (of the log, if
// none has) up to this line, newlines included. Usually that is just the previous line. The link
// that the next line would carry is the head of the log ([Log.Chain]). At the end of a run it goes
// into result.json as the receipt.
//
// Reading does not check links, so they do not slow down a resume. [Verify] checks them and reports
// the first break. Versions before links wrote lines without them. Such lines are valid, and the
// next link covers all of them. A torn last line is part of no link, because it is not an event:
// the next line follows the last whole one. Nothing else ever removes or rewrites a line, so a
// chain needs no exceptions.
//
// # Many readers, one writer
//
// The holder of the lock ([Store.Lock]) is the only writer. Reading takes no lock. The lock belongs
// to the operating system and ends with its process, so there are no stale locks. The record inside
// only tells people which run holds it.
package runlog
