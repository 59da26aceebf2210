package runlog

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/ralphloop/ralph"
)

var _ ralph.Chained = (*Log)(nil)

const (
	linkOpens  = `,"prev":"`
	linkCloses = `"`
	linkDigits = 2 * sha256.Size
	linkBytes  = len(linkOpens) + linkDigits + len(linkCloses)
)

// link ties a line to what stands before it: the SHA-256 of every byte from the beginning of the last line that has a link, or of the log if none
// has, up to the line itself. Commonly that is the one line before. A log that a version without links began, or went on with, is tied as a whole
// by the next link, and nothing falls between two of them.
type link [sha256.Size]byte

// linkOf hashes what stands between the last line with a link and the next one.
func linkOf(stretch []byte) link { return sha256.Sum256(stretch) }

// cutLink takes the link off the body of a line, which is the line up to its sum. It is nil if the line has none. A link can stand nowhere else: in
// a string its quotation marks would be escaped, and behind the last field of the data comes a brace.
func cutLink(body []byte) (rest, link []byte) {
	at := len(body) - linkBytes
	if at < 0 || string(body[at:at+len(linkOpens)]) != linkOpens || body[len(body)-1] != '"' {
		return body, nil
	}
	digits := body[at+len(linkOpens) : len(body)-len(linkCloses)]
	if bytes.IndexByte(digits, '"') >= 0 {
		return body, nil
	}
	return body[:at], digits
}

// Chain is the head of the log: the link that the next line will carry, in hexadecimal digits, or "" before the first event. Whoever knows it can
// tell later whether anything that was appended so far has changed.
func (l *Log) Chain() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seq == 0 {
		return ""
	}
	return hex.EncodeToString(l.link[:])
}

// linkFrom makes the next link of a log that is taken up again. It reads from the last line with a link on, which is one line, or a whole log that
// has none.
func (l *Log) linkFrom(start int64) error {
	file, err := os.Open(l.path)
	if err != nil {
		return unwritable("open", l.path, err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(file, start, l.size-start)); err != nil {
		return unwritable("read", l.path, err)
	}
	l.link = link(sum.Sum(nil))
	return nil
}

// Chain is what Verify found out about a log.
type Chain struct {
	Head     string // of the whole lines, as [Log.Chain] gives it
	Events   int64  // read; with a damaged line, those before it
	Linked   int64  // of them, those that carry a link. An old log has none
	Torn     int64  // bytes of a last line that was not written whole
	Recorded string // the head that result.json tells, "" if it tells none
	At       int64  // the event behind which Recorded was the head; 0 if there is none
	Break    *Break // the first; nil if the chain holds
}

// Break is where a log stops to be what was written.
type Break struct {
	Seq    int64 // the first event that does not fit; the change is in it or, with a wrong link, in what stands before it
	Offset int64 // of its line
	Why    string
}

// Verify reads a log, whole, and follows its chain: sums, sequence numbers and links. A changed, deleted, inserted or moved line breaks it. That
// lines are missing at the end, or that every link was made anew, shows when the head that result.json recorded beside the log is in it no more. A
// break is a value; an error means that the log cannot be read or is too new.
//
// The links are no signature: who may write both files can make both anew. Against that, keep the head elsewhere.
func Verify(path string) (Chain, error) {
	run, err := runOf(path)
	if err != nil {
		return Chain{}, fmt.Errorf("verify log: %w", err)
	}
	f := follower{sum: sha256.New(), chain: Chain{Recorded: recordedHead(path)}}
	r := &reader{run: run, path: path, decode: decodeNothing}
	err = r.read(f.visit)
	if damaged, ok := errors.AsType[*Damaged](err); ok {
		f.broken(damaged.Line, damaged.Offset, damaged.Why)
		err = nil
	}
	if err != nil {
		return Chain{}, fmt.Errorf("verify log: %w", err)
	}
	f.chain.Torn = r.tail
	if f.chain.Recorded != "" && f.chain.At == 0 {
		f.broken(r.seq+1, r.offset, "the head that result.json tells is not in the log")
	}
	return f.chain, nil
}

// Verify follows the chain of a run's log.
func (s *Store) Verify(run string) (Chain, error) { return Verify(s.logPath(run)) }

func decodeNothing(ralph.EventType, []byte) (any, error) { return nil, nil }

// follower follows a chain from line to line.
type follower struct {
	sum   hash.Hash // of the stretch since the last link
	chain Chain
	from  int64 // where the next line begins
}

func (f *follower) visit(e ralph.Event, line []byte) error {
	_, linked := cutLink(line[:len(line)-sumBytes])
	head := f.sum.Sum(nil)
	if linked != nil {
		f.chain.Linked++
		if string(linked) != hex.EncodeToString(head) {
			f.broken(e.Seq, f.from, "its link does not fit what stands before it")
		}
		f.sum.Reset()
	}
	f.sum.Write(line)
	f.sum.Write([]byte{'\n'})
	f.chain.Events, f.from = e.Seq, f.from+int64(len(line))+1
	f.chain.Head = hex.EncodeToString(f.sum.Sum(nil))
	if f.chain.Head == f.chain.Recorded {
		f.chain.At = e.Seq
	}
	return nil
}

// broken keeps the first break.
func (f *follower) broken(seq, offset int64, why string) {
	if f.chain.Break == nil {
		f.chain.Break = &Break{Seq: seq, Offset: offset, Why: why}
	}
}

// runOf is the run that the first line of a log belongs to: the others have to, too. "" if it cannot be told, which reading will complain about.
func runOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open log: %w", err)
	}
	defer file.Close()
	line, err := readLine(bufio.NewReader(file), nil)
	if errors.Is(err, io.EOF) || errors.Is(err, errNoEnd) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	first, err := parseLine(line[:len(line)-1])
	if err != nil {
		return "", nil //nolint:nilerr // a damaged first line is a break, and it is the reader that tells where and why
	}
	return string(first.run), nil
}

// recordedHead is the receipt in the result beside a log. A result that cannot be read tells none.
func recordedHead(path string) string {
	var result struct {
		Receipt string `json:"receipt"`
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(path), resultName))
	if err != nil || json.Unmarshal(text, &result) != nil {
		return ""
	}
	return result.Receipt
}
