package tools

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	// outputFolder is what the model calls the folder of outputs. It is not in the workspace, so that it is no part of the
	// work, and the model does not learn where it really is: the rest of the run's folder is not for the model.
	outputFolder = "ralph-output"
	// keptLimit is how many bytes of an output are kept, half of them from its end.
	keptLimit = 8 << 20
	// maxKept is how many outputs are kept, the latest ones.
	maxKept = 20
)

// keptOutput is the file with all of a command's output.
type keptOutput struct{ name, path string }

// keepOutput returns where the next command's output goes; nowhere if outputs are not kept.
func (w *workspace) keepOutput() (keptOutput, error) {
	if w.outputs == nil {
		return keptOutput{}, nil
	}
	n := w.commands.Add(1)
	name := func(n int64) string { return fmt.Sprintf("%s/%d.txt", outputFolder, n) }
	if err := w.Outputs.MkdirAll(outputFolder, 0o700); err != nil {
		return keptOutput{}, reason(err)
	}
	_ = w.Outputs.Remove(name(n - maxKept)) // most were too short to be kept
	return keptOutput{name(n), filepath.Join(w.outputs.dir, filepath.FromSlash(name(n)))}, nil
}

// remark says where the output is; "" if it is not kept. truncated means that not all of it is.
func (k keptOutput) remark(truncated bool) string {
	switch {
	case k.path == "":
		return ""
	case truncated:
		return fmt.Sprintf("[%s has the first and the last %d MB of the output; read_file and grep can read it]\n",
			k.name, keptLimit>>21)
	}
	return fmt.Sprintf("[%s has all of the output; read_file and grep can read it]\n", k.name)
}

// remove removes an output that was short.
func (k keptOutput) remove() {
	if k.path != "" {
		_ = os.Remove(k.path) // or it is removed with the others
	}
}

// isOutput reports whether a path is that of an output, or of their folder.
func (w *workspace) isOutput(name string) bool {
	first, _, _ := strings.Cut(path.Clean(filepath.ToSlash(name)), "/")
	return w.outputs != nil && first == outputFolder
}
