// Package process starts, watches, bounds and kills one process tree at a time. It is the only room
// that starts processes.
//
// # One call, one tree
//
// [Run] takes a [Spec], starts it in a session of its own without a controlling terminal, and
// returns when nothing of it is alive: not the program, not its children, not what they left in the
// background. Whoever looks at the workspace after Run sees one that stands still.
//
// # How a tree ends
//
// By itself, by [Spec.Timeout], by [Spec.IdleTimeout], by the context, or because its output could
// not be stored. In all but the first case the main process gets a TERM and [Spec.Grace] to tidy
// up; agent programs use that time to stop the tools that they run in sessions of their own, which
// a signal to the group would not reach. Then the whole group gets a KILL. In every case, a normal
// exit included, what is left of the tree is then hunted until none is found.
//
// # The hunt
//
// On Linux a process belongs to a tree if one of these holds, in this order: an ancestor belongs to
// it; its session or group is the tree's; its environment carries the tree's token. A process in
// the harness's own session is never touched: a tree's process cannot get there.
//
// A daemon that left the session and cleared its environment shows none of these once its parent is
// gone. A program whose children are all started here calls [OwnOrphans]: orphans then come back to
// it instead of vanishing to init, so that nothing can get away. An orphan without any trace
// belongs to the only tree that was alive when it started; if there were several, it stays until
// the last of them ends. A program that embeds this package and has children of its own does not
// call OwnOrphans and does without that last step.
//
// A harness that dies by KILL leaves its trees running. [Sweep] finds them later by [Spec.Marker],
// which every process of a tree carries in its environment.
//
// Other unix systems kill the group and the descendants known at that time, Windows kills the main
// process.
//
// # Enclosures
//
// A tree can see the file system otherwise than everybody else does: see [Spec.Enclosure]. Mounts
// belong to a namespace of the tree and end with it. To make them, this program starts itself once
// more, under another name; package inside takes over then before the rest of the program is
// initialized, makes the mounts, gives up the rights that it needed for that and becomes the wanted
// program. Its number, session, environment and output are those of any other tree, so that
// everything above holds. If it does not get that far, there was no program, and
// [Result.StartError] says why.
//
// # Output
//
// Output goes to disk through a [CappedFile], which keeps the beginning and the end, and to a live
// consumer, [Sink.Tap], which sees every byte. Neither is held in memory, so a program that prints
// without end costs no more than one that is silent.
package process
