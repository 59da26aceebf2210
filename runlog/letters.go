package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
)

var _ ralph.Post = (*Log)(nil)

// LetterLimit is how many bytes of text a letter may have. It all goes into a prompt.
const LetterLimit = 16 << 10

const (
	letterEnding = ".json"
	// letterFileLimit bounds what is read of one file: text and question, each byte of them escaped.
	letterFileLimit = 16 * LetterLimit
)

// ErrUnfit says that a letter was not taken for what it says, not because of the disk.
var ErrUnfit = errors.New("unfit letter")

// BadLetter is a file among the letters that cannot be read as one. It is left where it is.
type BadLetter struct {
	Path string
	Why  string
}

func (b *BadLetter) Error() string { return fmt.Sprintf("not a letter: %s: %s", b.Why, b.Path) }

// Post leaves a letter for the run under way, or for the next one, and returns when it is on stable storage. The letter gets an id of its own;
// later ids are greater. One that nobody could act on is ErrUnfit.
func (s *Store) Post(letter ralph.Letter) (id string, err error) {
	if err := fit(letter); err != nil {
		return "", fmt.Errorf("post letter: %w", err)
	}
	folder := lettersIn(s.dir)
	err = s.prepare()
	if err == nil {
		err = makeFolder(folder)
	}
	if err != nil {
		return "", fmt.Errorf("post letter: %w", err)
	}
	letter.ID = ralph.NewRunID(time.Now())
	content, err := json.Marshal(letter)
	if err != nil {
		return "", fmt.Errorf("post letter: %w", err)
	}
	if err := replaceFile(letterPath(folder, letter.ID), append(content, '\n')); err != nil {
		return "", fmt.Errorf("post letter: %w", err)
	}
	return letter.ID, nil
}

// fit reports whether the letter says something, to somebody, at a bearable length.
func fit(letter ralph.Letter) error {
	switch letter.Kind {
	case ralph.LetterSteer, ralph.LetterAnswer:
	default:
		return fmt.Errorf("%w: its kind is %q", ErrUnfit, letter.Kind)
	}
	switch {
	case strings.TrimSpace(letter.Text) == "":
		return fmt.Errorf("%w: it says nothing", ErrUnfit)
	case len(letter.Text) > LetterLimit:
		return fmt.Errorf("%w: its text has %d bytes, and %d are the most", ErrUnfit, len(letter.Text), LetterLimit)
	case len(letter.Question) > LetterLimit:
		return fmt.Errorf("%w: the question that it answers has %d bytes, and %d are the most", ErrUnfit, len(letter.Question), LetterLimit)
	}
	return nil
}

// Letters gives the letters that nobody took yet, oldest first, and leaves them where they are. Files that are none are passed over; the error
// then joins a *BadLetter for each, beside the letters that are good.
func (s *Store) Letters() ([]ralph.Letter, error) {
	letters, bad, err := readLetters(lettersIn(s.dir))
	if err != nil {
		return nil, fmt.Errorf("read letters: %w", err)
	}
	return letters, errors.Join(bad...)
}

// Took takes a letter away, after it was recorded. It may be gone already.
func (s *Store) Took(id string) error { return tookLetter(lettersIn(s.dir), id) }

// Letters gives the letters of the run's workspace, oldest first. A file that is none does not stop a run: Store.Letters names it to whoever looks.
func (l *Log) Letters() ([]ralph.Letter, error) {
	letters, _, err := readLetters(lettersIn(l.workspaceDir()))
	if err != nil {
		return nil, fmt.Errorf("read letters: %w", err)
	}
	return letters, nil
}

// Took takes a letter away, after it was recorded. It may be gone already.
func (l *Log) Took(id string) error { return tookLetter(lettersIn(l.workspaceDir()), id) }

// workspaceDir is the folder of the workspace's state, two floors above that of the run.
func (l *Log) workspaceDir() string { return filepath.Dir(filepath.Dir(l.Dir())) }

func lettersIn(dir string) string { return filepath.Join(dir, "letters") }

func letterPath(folder, id string) string { return filepath.Join(folder, id+letterEnding) }

// readLetters reads a folder in the order of its names, which is that of time. Names that we never give, such as that of a letter that is being
// written, are nobody's.
func readLetters(folder string) (letters []ralph.Letter, bad []error, err error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range entries {
		id, named := strings.CutSuffix(entry.Name(), letterEnding)
		if !named || !isPlain(id) {
			continue
		}
		path := letterPath(folder, id)
		letter, err := readLetter(path, entry)
		switch {
		case errors.Is(err, fs.ErrNotExist): // taken in this moment
		case err != nil:
			bad = append(bad, &BadLetter{Path: path, Why: err.Error()})
		default:
			letter.ID = id
			letters = append(letters, letter)
		}
	}
	return letters, bad, nil
}

func readLetter(path string, entry fs.DirEntry) (ralph.Letter, error) {
	if !entry.Type().IsRegular() {
		return ralph.Letter{}, errors.New("not a file")
	}
	file, err := os.Open(path)
	if err != nil {
		return ralph.Letter{}, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, letterFileLimit+1))
	if err != nil {
		return ralph.Letter{}, err
	}
	if len(content) > letterFileLimit {
		return ralph.Letter{}, fmt.Errorf("more than %d bytes", letterFileLimit)
	}
	var letter ralph.Letter
	if err := json.Unmarshal(content, &letter); err != nil {
		return ralph.Letter{}, err
	}
	return letter, fit(letter)
}

// tookLetter flushes the folder, too: a letter that came back after a power cut would be delivered twice.
func tookLetter(folder, id string) error {
	if !isPlain(id) {
		return fmt.Errorf("take letter: %q cannot be the id of one", id)
	}
	path := letterPath(folder, id)
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err = unwritable("remove", path, err); err == nil {
		err = flushFolder(folder)
	}
	if err != nil {
		return fmt.Errorf("take letter: %w", err)
	}
	return nil
}
