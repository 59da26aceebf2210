// Package pristine shows checks a workspace that is as it should be, not as an agent left it.
//
// A [View] is the workspace with a list of edits: files put there, files taken away. It is opened when the last process of the agent is gone,
// checks run in it one after the other, and it is thrown away.
//
// # Three ways
//
// [Overlay] covers the workspace in a mount namespace, at its own path. Nothing is copied, whatever its size, and nothing that a check writes reaches
// the workspace. It takes Linux, and a system that lets the user have namespaces. What one check writes the next one sees. Where the file system of
// [Options.Folder] cannot hold what is written, it is held in memory instead, and then every check starts with the edits alone. A file system that is
// mounted below the workspace is seen in it, but writes to it go through, edits there are refused, and only root can have it below an overlay at all.
// For others, a folder that was there before can be renamed in the view only as mv does it, by copying.
//
// [Copy] copies the files of the tree into another folder and links what git ignores: dependencies, build output, the .git folder itself. Checks run
// at another path, and what they write into something that is linked reaches the workspace. So does what they find by a link that leads there,
// as packages of one workspace that are linked into node_modules do. It is bounded in files and bytes.
//
// [InPlace] changes the workspace itself and puts it back afterwards. A journal is on disk before the first edit is made, so that whoever comes next
// after a crash can put it back, too: see [Recover]. What checks write stays.
//
// [Strongest] says which one works here. [View.Touched] says which files commands wrote, where the view keeps that apart.
//
// # Surroundings
//
// An agent works with the user's rights, so files outside of the tree that steer checks are in its reach: shell profiles, the configuration of git
// and of package managers, hooks. [Remember] keeps them as they were before the agent began. In a view those that were changed since are as they
// were. If none was, nothing at all is done, so that an honest run sees no difference. Caches and toolchains are left alone: checks need them, and
// there is no telling what in them is right.
//
// # What it is not
//
// Checks run code that the agent wrote. A view keeps accidents and the known cheats away from the evidence; it is no sandbox.
package pristine
