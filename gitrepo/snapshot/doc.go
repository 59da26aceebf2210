// Package snapshot keeps snapshots of a workspace in a git folder of its own, compares, reads and
// restores them.
//
// A [Keeper] is a [gitrepo.Repo] that keeps a snapshot of the workspace whenever its fingerprint
// has changed. The snapshots are commits in a bare git folder of the
// harness's own, outside of the workspace, which [Store] reads. They hold the tree as
// package gitrepo defines it, byte by byte: untracked files, files that are tracked though
// ignored, which files are programs, links as links, and the files of submodules and
// nested repositories. They do not hold ignored files, empty folders, permissions beside
// the one to execute, pipes, sockets and devices, the .git of submodules and nested
// repositories, or .ralph/progress.md. Ignored files that [Keeper.Always] names, or that are
// like those that [Keeper.AlwaysLike] is asked for, are held all the same, and though they are no
// part of the fingerprint a change of one makes a new
// snapshot. A changed file over 100 MiB is left out, and so
// are the largest ones if all changed files together are over 1 GiB; of such a file the
// last one that was taken stays. What was left out is said in a sentence each.
//
// What git says of the user's repository is believed only so far, since the index and the
// settings are in an agent's hands: files marked skip-worktree or assume-unchanged, and
// files whose times were set back, are unchanged to it. A snapshot is also taken when the index
// or the configuration was written to. When a claim is judged, and until the end of that
// iteration, the files are compared with the snapshots' own index whatever git says, by the
// time of their last write to the nanosecond where the system tells it. If git said the
// same of other files before, what differs is part of the hash, and from then on every
// look is such a close one.
//
// With each snapshot, every ref, HEAD, the configuration and info/exclude are recorded, and
// the repository's objects are linked into the folder, so that they outlive gc and
// rm -rf .git. Where links are impossible, up to 2 GiB are copied. A repository that is
// packed anew leaves its old packs in the folder: nothing is ever deleted there. A linked
// object is one file with two names; an agent that writes into the repository's object
// files, which git never does, destroys both.
//
// [Keeper.Restore] brings a snapshot back, and first takes one of what is there, which undoes
// it. It deletes and overwrites nothing that this one does not hold. Reflogs, hooks and
// what was staged are not recorded.
//
// Nothing that the repository, the user or the system has configured is heeded when
// snapshots are taken and restored, but for what is to be ignored.
//
// # What a Keeper answers
//
// A Keeper also tells what differs between two snapshots, lists, reads and writes out the
// files of one, and joins three: base, with all that became of from on the way to to. Names
// are below the workspace, also where that is not the top of its repository, and nothing
// of the workspace or its repository is needed for it. What is joined has a name of its own,
// refs/ralph/RUN/base-ID beside the refs/ralph/RUN/ITERATION of those that were taken, and
// is nothing that work goes on from.
//
// [Keeper.Switch] takes the workspace from one snapshot to another, and touches only files that
// differ between the two. Each of them must be as in the one or as in the other, and all
// else as in both; otherwise somebody was there, and nothing is touched. So it can be cut
// anywhere and done again. [Keeper.Merge] makes the snapshot to go to of three, line by line.
// What is ignored stays, and so do .gitignore files that hide what no snapshot holds: without
// them it would be part of the tree. A repository that work made inside of the workspace
// loses its files, but not its .git.
package snapshot
