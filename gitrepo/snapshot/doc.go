// Package snapshot keeps snapshots of a workspace in a separate git folder. It compares, reads and
// restores them.
//
// A [Keeper] is a [gitrepo.Repo] that saves a snapshot of the workspace whenever its fingerprint
// changes. Snapshots are commits in a bare git folder of the harness, outside the workspace, which
// [Store] reads. They contain the tree as package gitrepo defines it, byte by byte: untracked
// files, files that are tracked though ignored, the executable bit, links as links, and the files
// of submodules and nested repositories. They do not contain ignored files, empty folders, other
// permissions, pipes, sockets and devices, the .git of submodules and nested repositories, or
// .ralph/progress.md. Ignored files that [Keeper.Always] names, or that [Keeper.AlwaysLike]
// selects, are included. They are not part of the fingerprint, but a change to one of them causes a
// new snapshot. A changed file over 100 MiB is left out. If all changed files together are over 1
// GiB, the largest are left out. The last saved version of such a file stays in the snapshot. Each
// file that was left out is reported in a sentence.
//
// Git's view of the user's repository is not fully trusted, because an agent controls the index and
// the settings. Git sees no change in files marked skip-worktree or assume-unchanged, or in files
// whose times were reset. So a snapshot is also taken when the index or the configuration was
// written. When a claim is judged, and until the end of that iteration, the files are compared with
// the snapshots' own index, by the time of their last write to the nanosecond where the system
// provides it. If git reported the same state for different files before, the hash includes the
// differences, and from then on every comparison is a full one.
//
// Each snapshot also records every ref, HEAD, the configuration and info/exclude. The repository's
// objects are copied into the folder, up to 2 GiB at a time, so that they survive gc, rm -rf .git and
// an agent that writes into them. Where the file system can, the copies share their bytes with the
// originals until either changes; they never share inodes. When a repository is repacked, its old
// packs stay in the folder: of these copies no object is ever deleted.
//
// A Keeper packs small objects, copies and refs whenever there are many, and [Pack] does so at the end of
// a run, so that a small change takes less than 5 KB, with a commit, too. A file is removed when the pack
// that replaces it is on the disk and verified. [Prune] removes the snapshots of runs that are
// gone. Both need the workspace's lock; other processes may read meanwhile.
//
// [Keeper.Restore] restores a snapshot. It first takes a snapshot of the current state, which
// serves to undo the restore, and deletes and overwrites nothing that this one does not contain.
// Reflogs, hooks and staged changes are not recorded.
//
// Taking and restoring snapshots ignores all configuration of the repository, the user and the
// system, except for the ignore rules.
//
// # Operations of a Keeper
//
// A Keeper also compares two snapshots, lists, reads and extracts the files of one, and joins
// three: base, with all changes between from and to. Names are relative to the workspace, even if
// that is not the top of its repository. None of this needs the workspace or its repository. A
// joined snapshot is named refs/ralph/RUN/base-ID, beside the refs/ralph/RUN/ITERATION of snapshots
// that were taken. Work never continues from it.
//
// [Keeper.Switch] moves the workspace from one snapshot to another, and changes only files that
// differ between the two. Each of these files must match one of the two snapshots, and every other
// file both. Otherwise another program changed files, and Switch changes nothing. So it can be
// interrupted anywhere and repeated. [Store.Merge] creates the target snapshot from three others,
// line by line. Ignored files stay. So do .gitignore files that hide files that are in no snapshot:
// without them those files would become part of the tree. A repository that was created inside the
// workspace loses its files, but not its .git.
package snapshot
