// Package tools is what the worker's model can do: run commands, and read, write and find files of one workspace.
//
//	root, err := os.OpenRoot(dir)
//	…
//	for _, tool := range tools.Set(tools.Options{Root: root, Env: env, Marker: marker}) {
//		fmt.Println(tool.Spec().Name)
//	}
//
// One file of Go and one page of Markdown make a tool; the page is what the model reads. A tool never fails in the sense of Go: whatever goes wrong,
// a call that makes no sense included, is told to the model in a sentence, and [Output.Failed] says that it is one of those.
//
// # Where tools reach
//
// The file tools are held inside of the workspace by [os.Root]. Absolute paths are taken if they lead into it, by whatever name. Links are followed as long
// as they stay inside. What git keeps in .git can be read and not written: a hook there would be run by others. Devices, pipes and sockets are not
// opened. The tool bash is not bound to the workspace: that is a sandbox's matter, which [Options.Enter] lets in.
//
// # What tools cost
//
// Every result is bounded, and so is the memory that it takes to make it, however much a command prints and however large a file is. What was left out
// is said where it was. A command's whole process tree is gone when its call returns.
//
// # What a call looks like
//
// [Decode] reads the input of a call into a struct, strictly, and [Schema] describes the same struct to the model, so that the two cannot disagree.
package tools
