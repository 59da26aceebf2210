// Package pristine shows checks the workspace as it should be, not as an agent left it.
//
// A [View] is the workspace plus a list of edits: files added and files removed. It is opened after
// the last process of the agent is gone. Checks run in it one after the other, and then it is
// discarded.
//
// # Three modes
//
// [Overlay] covers the workspace in a mount namespace, at its own path. Nothing is copied,
// regardless of size, and nothing that a check writes reaches the workspace. It requires Linux and
// a system that allows user namespaces. Each check sees what earlier checks wrote. If the file
// system of [Options.Folder] cannot serve as the upper layer, writes are held in memory, and then
// every check starts with only the edits. A file system mounted below the workspace is visible in
// the view, but writes to it go through and edits there are refused. Only root can have such a
// mount below an overlay at all. For other users, a folder that existed before can be renamed in
// the view only as mv does it, by copying.
//
// [Copy] copies the files of the tree into another folder and links what git ignores: dependencies,
// build output, the .git folder itself. Checks run at another path. What they write through such a
// link reaches the workspace. The same is true for links that lead back into the workspace, such as
// packages of one workspace linked into node_modules. The number of files and bytes is limited.
//
// [InPlace] is the workspace as it is. Nothing is edited or restored there: the user may work on the
// same files, and a process that is killed could not restore them. Files that checks write remain.
//
// [StrongestMode] returns the strongest mode that works here. [View.Touched] returns the files that
// commands wrote, in views that record it.
//
// # Surroundings
//
// An agent has the user's permissions, so it can reach files outside the tree that affect checks:
// shell profiles, configuration of git and of package managers, hooks. [SaveSurroundings] saves
// them before the agent starts. A view shows the files that changed since in their original state.
// If none changed, it does nothing, so an honest run sees no difference. Caches and toolchains are
// left alone: checks need them, and there is no way to tell what in them is right.
//
// # Not a sandbox
//
// Checks run code that the agent wrote. A view protects the evidence from accidents and known
// cheats. It is not a sandbox.
package pristine
