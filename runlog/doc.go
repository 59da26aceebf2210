// Package runlog keeps runs on disk: an append-only log for each, the lock of a workspace, the inbox through
// which other processes send orders to a run, and the messages that people write to it or to the next one.
//
// # Layout
//
//	<state>/<workspace-id>/workspace          the absolute path of the workspace
//	<state>/<workspace-id>/lock               who works on it now
//	<state>/<workspace-id>/letters/<id>.json  what people wrote and no run has taken yet
//	<state>/<workspace-id>/snapshots.git      copies of the tree; another room's
//	<state>/<workspace-id>/worktrees/         where runs on a branch of their own work; another room's
//	<state>/<workspace-id>/runs/<run>/
//	    events.jsonl                          the log: the only truth about the run
//	    result.json                           written when the run ends; can be made again from the log
//	    iterations/NNNN/                      what an iteration left behind; 0000 is the baseline
//	    mailbox/                              orders to the run
//	    tasks/                                the task list as the harness last knew it; folders of this kind come from [Log.Keep]
//
// Folders have mode 0700 and files 0600. Nothing is created before something is written, and while a run goes on nothing that grows with it is ever rewritten; result.json is written when it ends: once before the end is recorded, saying that it is not, and once after.
//
// # The log
//
// One event is one line:
//
//	{"v":1,"seq":1,"ts":"2026-01-02T03:04:05.6Z","run":"01J…","iteration":0,"type":"run_started","data":{…},"prev":"e3b0c442…","sum":"9ae0daaf"}
//
// sum is the CRC-32C, in eight lower-case hexadecimal digits, of the bytes of the line that come before `,"sum"`. Sequence numbers start at 1 and have no gap. A line
// ends with a newline and holds none. prev makes the lines a chain, see below.
//
// [Log.Append] makes one write system call and buffers nothing: what was appended survives the death of the process. [Log.Sync] makes it
// survive a power cut. A line that could not be written whole is taken away again, so that the run can be resumed once there is space. After a
// failed sync nobody knows what is on the disk, so the log takes no further event.
//
// # Damage
//
// A writer that dies can leave a torn last line: one without its newline, or with a wrong sum and nothing after it. Readers stop before it;
// [Store.Reopen] cuts it off and says how many bytes it dropped. Any other fault (a wrong sum with more behind it, a line that is not an event,
// a gap in the sequence, an event of another run) is a [Damaged] log: reading ends there with the place and the reason. Nothing is ever skipped.
//
// # The chain
//
// Sums find accidents; whoever edits a line can make its sum anew. So every line carries in prev, its last field but sum, a link to what stands
// before it: the SHA-256, in 64 lower-case hexadecimal digits, of every byte from the beginning of the last line that has a link (of the log, if
// none has) up to this line, newlines included. Mostly that is the one line before. The link that the next line would carry is the head of the log
// ([Log.Chain]); at the end of a run it goes into result.json as the receipt.
//
// Reading does not look at links: a resume costs what it did without them. [Verify] does, and says where the first break is. Versions before links
// wrote lines without; such lines are as good as others, and the next link ties all of them. A torn last line is part of no link, as it is no
// event: the next line follows the last whole one. Nothing else ever takes a line away or writes one anew, so there is nothing that a chain would
// have to forgive.
//
// # Many readers, one writer
//
// The holder of the lock ([Store.Lock]) is the only writer. Reading takes no lock and disturbs nobody. The lock belongs to the operating system
// and ends with its process, so there are no stale locks; the record inside only tells people whom they wait for.
package runlog
