// Package inputs keeps what checks need beside the tree: dependency folders, virtual environments, .env files and other
// files that git ignores.
//
// A snapshot does not have them, and a commit will not have them. An agent can put its work there, a program built from
// other sources, or a changed library. So a view never shows the workspace's own: [Inputs] copies them while no agent
// works, and views get the copies as a layer under their own writes.
//
// # Whose file it is
//
// The rule is the same as for the trusted tree. Nobody but the user works between runs. So a file that differs from
// what the last run left is the user's, and is copied again. A file that does not is as an agent left it: the copy
// stays as it was, and a file that an agent added is not copied at all. [Inputs.Begin] and [Inputs.End] compare lists
// of files by size, times, inode and mode. A program can set a file's modification time back, but not its change time.
//
// # What is shown
//
// Every view has dependency folders and .env files: the layer [Needed]. Build output and other ignored files are in the
// layer [Rest], for checks that fail at the baseline without them.
//
// A dependency folder that is too large to copy is shown as it is. Then its lock file, which is part of the tree, says
// what belongs in it: if the folder changed and the lock file did not, installed libraries were edited. [Sort] tells
// such changes from those that a setup command, or a person, has to look at.
package inputs
