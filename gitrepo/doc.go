// Package gitrepo sees what an agent did to a workspace, with the help of the git
// program.
//
// # Which repository
//
// [Git.Find] looks for the repository of a folder once. From then on the [Repo] names
// its git folder and its working tree in every call, so that an agent that moves .git
// away, or makes a new one, does not make the harness look elsewhere.
//
// The git program, too, is looked up once. Folders of PATH that are relative or lie in
// the working tree, as an activated virtual environment does, are passed over: a git in
// there may be the agent's. If there is no other, there is no git.
//
// # What the tree is
//
// The tree is the workspace's files: untracked ones included, ignored ones not, and not
// the view that the harness writes itself (.ralph/progress.md). [Repo.Fingerprint] is one
// `git status` and the content of what it names: the commit, and a hash over each path
// that differs from it. What was staged does not matter, only what lies in the folder;
// touching a file does not matter, only what is in it. Three kinds are known by size
// and time alone: files over 1 MiB, files behind the first 256 MiB, and files that
// cannot be read. Links count by their target and are not followed; devices, sockets
// and pipes are not opened. A submodule or a nested repository with changes counts by
// its files.
//
// [Plain] does the same for a folder without git, by looking at every file but those of
// well-known dependency and cache folders: what else would be ignored is not known there.
//
// # What looks unfinished
//
// At the base and when a claim is to be judged, Fingerprint also lists lines that were
// added since the run's first commit, or stand in untracked files, and say themselves
// that something is missing. These count as whole words: TODO, FIXME and XXX in capitals;
// "not implemented", "not yet implemented", "unimplemented" and "placeholder
// implementation" in any case; NotImplementedError, NotImplementedException and todo!()
// as written. TODO.md, TODO-list and codes.Unimplemented are names and don't count.
// Task lists, where open items belong, are left out: .ralph/, .agent/, prd.json and
// IMPLEMENTATION_PLAN.md.
//
// # Snapshots
//
// A [Keeper], made by [Repo.Keep], is a Repo that keeps a copy of the workspace whenever
// its fingerprint has changed. The copies are commits in a bare git folder of the
// harness's own, outside of the workspace, which [Snapshots] reads. They hold the tree as
// it is defined above, byte by byte: untracked files, files that are tracked though
// ignored, which files are programs, links as links, and the files of submodules and
// nested repositories. They do not hold ignored files, empty folders, permissions beside
// the one to execute, pipes, sockets and devices, the .git of submodules and nested
// repositories, or .ralph/progress.md. Ignored files that [Keeper.Always] names, or that are
// like those that [Keeper.AlwaysLike] is asked for, are held all the same, and though they are no part of the fingerprint a change of one makes a new
// copy. A changed file over 100 MiB is left out, and so
// are the largest ones if all changed files together are over 1 GiB; of such a file the
// last copy that was taken stays. What was left out is said in a sentence each.
//
// What git says of the user's repository is believed only so far, since the index and the
// settings are in an agent's hands: files marked skip-worktree or assume-unchanged, and
// files whose times were set back, are unchanged to it. A copy is also taken when the index
// or the configuration was written to. When a claim is judged, and until the end of that
// iteration, the files are compared with the copies' own index whatever git says, by the
// time of their last write to the nanosecond where the system tells it. If git said the
// same of other files before, what differs is part of the hash, and from then on every
// look is such a close one.
//
// With each copy, every ref, HEAD, the configuration and info/exclude are recorded, and
// the repository's objects are linked into the folder, so that they outlive gc and
// rm -rf .git. Where links are impossible, up to 2 GiB are copied. A repository that is
// packed anew leaves its old packs in the folder: nothing is ever deleted there. A linked
// object is one file with two names; an agent that writes into the repository's object
// files, which git never does, destroys both.
//
// [Keeper.Restore] brings a copy back, and first takes one of what is there, which undoes
// it. It deletes and overwrites nothing that this one does not hold. Reflogs, hooks and
// what was staged are not recorded.
//
// Nothing that the repository, the user or the system has configured is heeded when
// copies are taken and restored, but for what is to be ignored.
//
// # What is asked of copies
//
// A Keeper also tells what differs between two copies, lists, reads and writes out the
// files of one, and joins three: base, with all that became of from on the way to to. Names
// are below the workspace, also where that is not the top of its repository, and nothing
// of the workspace or its repository is needed for it. What is joined has a name of its own,
// refs/ralph/RUN/base-ID beside the refs/ralph/RUN/ITERATION of those that were taken, and
// is nothing that work goes on from.
//
// [Keeper.Switch] takes the workspace from one copy to another, and touches only files that
// differ between the two. Each of them must be as in the one or as in the other, and all
// else as in both; otherwise somebody was there, and nothing is touched. So it can be cut
// anywhere and done again. [Keeper.Merge] makes the copy to go to of three, line by line.
// What is ignored stays, and so do .gitignore files that hide what no copy holds: without
// them it would be part of the tree. A repository that work made inside of the workspace
// loses its files, but not its .git.
//
// A [PlainKeeper], made by [Plain.Keep], keeps such copies without git. They serve to
// compare and to look things up; a workspace cannot be restored from them. Contents are
// files in a folder, named by their hash, and a copy is a list of names and hashes, named by
// the hash of that list: the same tree has the same copy. The limits are those above. A
// file is read again only if its size, its permissions, its times or its inode have
// changed since it was kept, or if that was less than two seconds after it was written.
//
// # What git may do
//
// To see, git only reads: no lock is taken, the index is not refreshed, nothing is fetched. No
// hook, pager, file system monitor, external diff or text conversion of the repository
// is run.
//
// Clean filters are needed to compare (Git LFS is one), so those that the configuration
// named at Find are run; one that came into the repository's configuration after Find is
// switched off. This is to keep an agent from planting, by the way, a program that the
// harness then runs outside of the agent's sandbox. It is no wall: an agent works with
// the user's rights. Not switched off are filters in the configuration of a submodule,
// in the user's own, or in a file that was included at Find and changed since; nor those
// that an earlier run planted, which were there at Find; nor what a filter of the user's
// finds in PATH under the name that it calls.
//
// Files of the workspace and of the git folder are read only if they are regular ones,
// without waiting and up to a limit. Git itself may hang on a pipe in place of one of
// its files: every call has a time-out, and ends at once with its context.
//
// # What is written to the user's repository
//
// Three things, each only when asked for: a [Committer] commits as the user would, with
// the user's hooks, identity and signing, but cannot hang; [Repo.AddWorktree] makes a
// branch ralph/… and a folder for it; [Repo.Merge] brings such a branch home, or touches
// nothing. [Repo.Ready] tells beforehand what would go wrong. Nothing is ever reset,
// cleaned, stashed or pushed, and no work is removed that is nowhere else, unless
// [RemoveAnyway] says so.
package gitrepo
