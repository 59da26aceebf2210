// Package ignored finds out what happened to files that are not part of the tree: files that git
// ignores, such as build output and installed dependencies.
//
// A snapshot of the tree does not have them, and a commit will not have them. An agent can put its
// work there, a program built from other sources, or a changed library. So they are listed before
// the agent starts ([Record]), and again with each claim. [Changes] compares two lists by size,
// times, inode and mode. Contents are not read: a program can set a file's modification time back,
// but not its change time.
//
// # What a change means
//
// [Sort] says what views do about changes. Files that were added or changed are absent from views.
// Nothing can show their old contents, because no copy is kept. What did not change stays visible:
// the user's own dependencies, settings and build output.
//
// Dependency folders such as node_modules are an exception, because checks need them. Their lock
// file, which is part of the tree, says what belongs in them:
//
//   - If the folder changed and the lock file did not, installed libraries were edited. That
//     changes the environment of the checks, and the claim is refused.
//   - If both changed, or if the folder is new and the tree has a lock file for it, the change may
//     be honest. A setup command can install the folder again in the view. Without such a command
//     the view shows the folder as it is, and a person decides.
//
// Caches that tools write into such folders when tests run do not count.
package ignored
