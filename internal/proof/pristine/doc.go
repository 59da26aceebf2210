// Package pristine shows checks the files that they should see, not the folder that an agent left.
//
// A [View] has layers of files, none of which an agent can reach, and edits on top: files added and
// files removed. Checks run in it one after the other, and then it is discarded. Only a view that
// explains a failure has the workspace itself as its layer.
//
// # Three modes
//
// [Overlay] covers the workspace in a mount namespace, at its own path. Nothing is copied,
// regardless of size, and nothing that a check writes reaches a layer. It requires Linux and a
// system that allows user namespaces. Each check sees what earlier checks wrote. If the file
// system of [Options.Folder] cannot serve as the upper layer, writes are held in memory, and then
// every check starts with only the edits. For users other than root, a folder that existed before
// can be renamed in the view only as mv does it, by copying.
//
// [Copy] copies the layers into another folder. Checks run at another path. The number of files and
// bytes is limited.
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
// shell profiles, configuration of git and of package managers. [SaveSurroundings] saves
// them before the agent starts. A view shows the files that changed since in their original state.
// If none changed, it does nothing, so an honest run sees no difference.
//
// # Not a sandbox
//
// Checks run code that the agent wrote. A view protects the evidence from accidents and known
// cheats. It is not a sandbox.
package pristine
