package process

import (
	"errors"
	"os"
)

// OutputFile is a [CappedFile] for the output of a program. Its errors are [*IOError] values that name the stream.
// It is for taps that change what is stored; otherwise [Sink.Path] is enough.
type OutputFile struct {
	*CappedFile
	stream, path string
}

// CreateOutput creates or truncates the file. The stream is "stdout" or "stderr", for errors.
func CreateOutput(stream, path string, limit int64) (*OutputFile, error) {
	file, err := CreateCapped(path, limit)
	f := &OutputFile{CappedFile: file, stream: stream, path: path}
	if err != nil {
		return nil, f.describe("create", err)
	}
	return f, nil
}

// Write stores p as [CappedFile.Write] does.
func (f *OutputFile) Write(p []byte) (int, error) {
	n, err := f.CappedFile.Write(p)
	return n, f.describe("write", err)
}

// Close completes the file as [CappedFile.Close] does.
func (f *OutputFile) Close() error { return f.describe("complete", f.CappedFile.Close()) }

func (f *OutputFile) describe(verb string, err error) error {
	if err == nil {
		return nil
	}
	return &IOError{Op: verb + " " + f.stream + " file", Path: f.path, Err: withoutPath(err)}
}

// withoutPath removes the path from an error that is shown with it anyway.
func withoutPath(err error) error {
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
