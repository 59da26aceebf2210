// Package gitrepo inspects the workspace of an agent, commits to it, creates worktrees for runs and
// merges their branches, using the git program. Package snapshot keeps snapshots of such a
// workspace. Package plain does both for a folder without git.
//
// # Which repository
//
// [Find] looks up the repository of a folder once. From then on the [Repo] passes its git folder
// and its working tree to every call. An agent that moves .git away, or creates a new one, cannot
// make the harness look elsewhere.
//
// The git program is also looked up once. Folders of PATH that are relative or inside the working
// tree, such as an activated virtual environment, are skipped, because a git in there may be the
// agent's. If there is no other git, Find reports that there is none.
//
// # What the tree is
//
// The tree is the files of the workspace: tracked and untracked files, but neither ignored files
// nor the progress file that the harness writes itself (.ralph/progress.md). [Repo.Fingerprint]
// combines one `git status` with the content of the paths that it lists: the commit, and a hash
// over each path that differs from it. Staging a file or touching it does not change the
// fingerprint; only content in the folder does. Three kinds of files are compared by size and time
// alone: files over 1 MiB, files after the first 256 MiB, and files that cannot be read. Links
// count by their target and are not followed. Devices, sockets and pipes are not opened. A
// submodule or a nested repository with changes counts by its files.
//
// # What looks unfinished
//
// At the base and when a claim is judged, Fingerprint also lists lines that say that something is
// missing, if they were added since the run's first commit or are in untracked files. These count
// as whole words: TODO, FIXME and XXX in capitals; "not implemented", "not yet implemented",
// "unimplemented" and "placeholder implementation" in any case; NotImplementedError,
// NotImplementedException and todo!() as written. TODO.md, TODO-list and codes.Unimplemented are
// names and don't count. Task lists, where open items belong, are skipped: .ralph/, .agent/,
// prd.json and IMPLEMENTATION_PLAN.md.
//
// # What git may do
//
// To inspect a repository, git only reads: it takes no lock, does not refresh the index and fetches
// nothing. It runs no hook, pager, file system monitor, external diff or text conversion of the
// repository.
//
// Git needs filters to compare and check out files (Git LFS is one), and a program to sign commits. It
// starts only those that the user agreed to ([Repo.Configured], [Repo.Agree], [git.Program.Agreed]),
// wherever they are configured: an agent may have planted the others, in this run or an earlier one,
// and they would run outside its sandbox. Consent is for the commands and for the content of the files
// that they start. It does not cover what these start in turn. Every call looks at the configuration
// again: of the repository, its submodules, the user and the system, with what they include. The files
// of a new worktree are checked out by the settings that hold there. Merge drivers never run; git merges
// such files as texts. Submodules that are nested too deeply are an error, because git would start
// itself in all of them.
//
// Without a filter, files are compared as they are. A file under Git LFS is unchanged if the committed
// pointer has its hash. Files under other filters count as changed once git has to look at them.
// Nothing under a filter that does not run is committed, checked out or merged.
//
// Files of the workspace and of the git folder are read only if they are regular files, without
// blocking and up to a limit. Git itself would wait on a pipe in place of one of its files, so such
// pipes are ended for it. Every call has a timeout, ends at once with its context, and is reported
// after five seconds.
//
// # What is written to the user's repository
//
// Three things, each only on request. A [Committer] commits as the user would, with the user's
// hooks, identity and signing, but cannot hang. [Worktrees.Add] creates a branch ralph/… and a
// folder for it. [Repo.Merge] merges such a branch, or changes nothing. [Repo.Ready] reports
// beforehand what would go wrong. Nothing is ever reset, cleaned, stashed or pushed. Work that
// exists nowhere else is removed only with [RemoveAnyway].
package gitrepo
