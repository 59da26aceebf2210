package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
)

// keptOutput is what remains of a check's output: a file of limited size, the end in memory, and a hash of all of it.
// Its errors are [*process.IOError] values.
type keptOutput struct {
	first firstLine           // as the check printed it
	file  *process.OutputFile // nil if nothing is stored
	seen  tail
	whole hash.Hash
	bytes int64
}

// keepOutput creates the file for a check's output. This comes first: a state folder that cannot be written must be
// noticed before a program runs. A check that is canceled before it starts gets no file.
func (s Shell) keepOutput(ctx context.Context, in ralph.CheckInput) (*keptOutput, error) {
	kept := &keptOutput{whole: sha256.New()}
	path, err := outputPath(in)
	if err != nil {
		return nil, fmt.Errorf("keep output of check %q: %w: %w", in.Name, ralph.ErrIO, err)
	}
	if path == "" || ctx.Err() != nil {
		return kept, nil
	}
	if kept.file, err = process.CreateOutput("stdout", path, s.outputLimit()); err != nil {
		return nil, runError(in.Name, err)
	}
	return kept, nil
}

func (k *keptOutput) Write(p []byte) (int, error) {
	k.bytes += int64(len(p))
	_, _ = k.seen.Write(p)  // it never fails
	_, _ = k.whole.Write(p) // it never fails
	if k.file == nil {
		return len(p), nil
	}
	return k.file.Write(p)
}

// Close completes the file.
func (k *keptOutput) Close() error {
	if k.file == nil {
		return nil
	}
	return k.file.Close()
}

func (k *keptOutput) hash() string { return hex.EncodeToString(k.whole.Sum(nil)) }

// unchanged passes output on as it is.
type unchanged struct{ io.Writer }

func (unchanged) Close() error { return nil }
