package inputs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph/internal/atomicfile"
)

// Identity returns a digest of the list. It changes with the files, unless the system clock is set back.
func (l List) Identity() string {
	sum := sha256.New()
	l.print(sum)
	return hex.EncodeToString(sum.Sum(nil))
}

// print prints one file a line. Names are quoted because they may hold any bytes.
func (l List) print(to io.Writer) {
	for _, f := range l {
		fmt.Fprintf(to, "%d %d %d %d %d %d %q %q\n",
			f.Size, f.Mode, f.Written, f.Changed, f.Inode, f.Links, f.Name, f.Target)
	}
}

// write stores a list.
func (l List) write(file string) error {
	var text bytes.Buffer
	l.print(&text)
	if err := atomicfile.Write(file, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("record ignored files: %w", err)
	}
	return nil
}

func readList(file string) (List, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read recorded files: %w", err)
	}
	list := List{}
	for line := range strings.Lines(string(text)) {
		f, ok := parseLine(strings.TrimSuffix(line, "\n"))
		if !ok {
			return nil, fmt.Errorf("read recorded files: line %d of %s is damaged", len(list)+1, file)
		}
		list = append(list, f)
	}
	return list, nil
}

func parseLine(line string) (f File, ok bool) {
	parts := strings.SplitN(line, " ", 7)
	if len(parts) != 7 {
		return f, false
	}
	var numbers [6]int64
	for i := range numbers {
		number, err := strconv.ParseInt(parts[i], 10, 64)
		if unsigned, again := strconv.ParseUint(parts[i], 10, 64); err != nil && again == nil {
			number, err = int64(unsigned), nil // an inode, turned back below
		}
		if err != nil {
			return f, false
		}
		numbers[i] = number
	}
	quoted, err := strconv.QuotedPrefix(parts[6])
	if err != nil {
		return f, false
	}
	name, nameErr := strconv.Unquote(quoted)
	target, targetErr := strconv.Unquote(strings.TrimPrefix(parts[6][len(quoted):], " "))
	return File{
		Name: name, Size: numbers[0], Mode: fs.FileMode(numbers[1]), Written: numbers[2], Changed: numbers[3],
		Inode: uint64(numbers[4]), Links: uint64(numbers[5]), Target: target,
	}, nameErr == nil && targetErr == nil
}
