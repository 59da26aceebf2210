// Package gitrepo looks at the workspace that an agent works in, commits to it, gives runs worktrees of
// their own and merges their branches, with the help of the git program. Package snapshot keeps
// snapshots of such a workspace; package plain does both for a folder without git.
//
// # Which repository
//
// [Find] looks for the repository of a folder once. From then on the [Repo] names
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
// the user's hooks, identity and signing, but cannot hang; [Worktrees.Add] makes a
// branch ralph/… and a folder for it; [Repo.Merge] brings such a branch home, or touches
// nothing. [Repo.Ready] tells beforehand what would go wrong. Nothing is ever reset,
// cleaned, stashed or pushed, and no work is removed that is nowhere else, unless
// [RemoveAnyway] says so.
package gitrepo
