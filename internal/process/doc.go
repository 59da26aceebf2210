// Package process starts, watches, limits and kills one process tree at a time. No other package
// starts processes.
//
// # One call, one tree
//
// [Run] takes a [Spec], starts it in a new session without a controlling terminal, and returns when
// no process of it is alive: not the program, not its children, not what they left in the
// background. After Run nothing in the workspace changes any more.
//
// # How a tree ends
//
// A tree ends by itself, by [Spec.Timeout], by [Spec.IdleTimeout], by the context, or because its
// output could not be stored. In all but the first case the main process gets a SIGTERM and
// [Spec.Grace] to clean up. Agent programs use that time to stop the tools that they run in
// separate sessions, which a signal to the group would not reach. Then the whole group gets a
// SIGKILL. In every case, even after a normal exit, Run then kills what is left of the tree until
// it finds no more processes.
//
// # Finding what is left
//
// On Linux a process belongs to a tree if one of these holds, in this order: an ancestor belongs to
// it; its session or group is the tree's; its environment contains the tree's token. A process in
// the harness's own session is never touched: a tree's process cannot get there.
//
// A daemon that left the session and cleared its environment shows none of these once its parent is
// gone. A program whose children are all started here calls [OwnOrphans]: orphans then become its
// children instead of init's, so that none can escape. An orphan without any trace belongs to the
// only tree that was alive when it started. If there were several, it stays until the last of them
// ends. A program that embeds this package and has other children does not call OwnOrphans and does
// without that last step.
//
// # Guards
//
// With [Spec.Guarded], a process of ours is between the harness and the program: this program,
// started once more under another name (package inside). It leads a session of its own, starts the
// program in another one, and adopts all orphans of the tree, so that no process of the tree can hide
// from it. When the program ends, the guard kills what is left, reports the program's status and
// ends. SIGTERM and SIGKILL go through it. It holds the reading end of a pipe to the harness: if the
// harness dies, however, the pipe ends, and the guard kills the tree. With an enclosure, the guard is
// outside, and starts the process that creates the enclosure.
//
// [Spec.Limits] and [Spec.Filtered] hold for the program and what it starts, but not for the guard: it
// must be able to make connections, and to end the tree, when the tree has used up its limits. So the
// guard starts this program a third time, as a gate, which executes the program once the guard has
// limited it.
//
// A guard can be killed, too. Then the tree's processes are orphans of the harness, which ends them as
// described above. If both are killed, [Dead.Kill] finds them later by [Spec.Marker], which every process
// of a tree has in its environment, and by the record of [KeepRecord].
//
// A process that another one starts on behalf of the tree, such as a job of at, is not below the
// guard. It has the environment of the tree, and the guard kills it at the end.
//
// Other Unix systems kill the group and the descendants known at that time. Windows kills the main
// process.
//
// # Companions
//
// A program that should live as long as the harness, such as one that keeps the system awake, is no
// tree: see [Accompany].
//
// # Enclosures
//
// A tree can see a different file system than the rest of the machine: see [Spec.Enclosure]. Mounts
// belong to a namespace of the tree and end with it. To create them, this program starts itself
// once more, under another name. Package inside then takes over before the rest of the program is
// initialized, creates the mounts, drops the capabilities that it needed for that and executes the
// actual program. Its process ID, session, environment and output are those of any other tree, so
// that everything above holds. If it does not get that far, there was no program, and
// [Result.StartError] says why.
//
// # Output
//
// Output goes to disk through a [CappedFile], which keeps the start and the end, and to a live
// consumer, [Sink.Tap], which sees every byte. Neither is kept in memory, so a program that prints
// without end costs no more than one that is silent.
package process
