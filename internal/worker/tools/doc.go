// Package tools provides the tools of the worker's model: run commands, and read, write and find
// files of one workspace.
//
//	root, err := os.OpenRoot(dir)
//	…
//	for _, tool := range tools.Set(tools.Options{Root: root, Env: env, Marker: marker}) {
//		fmt.Println(tool.Spec().Name)
//	}
//
// One Go file and one Markdown page make a tool; the model reads the page. A tool returns no Go
// error: it reports any problem, including a senseless call, to the model in a sentence and sets
// [Output.Failed].
//
// # Where tools reach
//
// [os.Root] keeps the file tools inside the workspace. Absolute paths are accepted if they lead
// into it, by any name. Links are followed as long as they stay inside. Files in .git can be read
// but not written, because others would run a hook there. Devices, pipes and sockets are not
// opened. The tool bash is not confined to the workspace; use a sandbox for that, with
// [Options.Enter]. Long outputs of commands can be read as if they were in the folder ralph-output
// of the workspace ([Options.Outputs]).
//
// # What tools cost
//
// Every result is limited, and so is the memory to make it, however much a command prints and
// however large a file is. A note says what was left out and where. A command's whole process tree
// is gone when its call returns.
//
// # What a call looks like
//
// [Decode] reads the input of a call into a struct, strictly, and [Schema] describes the same
// struct to the model, so that the two cannot disagree.
package tools
