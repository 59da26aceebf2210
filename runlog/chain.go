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

// link ties a line to the lines before it. It is the SHA-256 of every byte from the start of the
// last line that has a link (or of the log, if none has) up to the line itself. Usually that is
// just the previous line. If a version without links began or continued a log, the next link covers
// all its lines, so nothing falls between two links.
type link [sha256.Size]byte

// linkOf hashes the bytes between the last line with a link and the next line.
func linkOf(stretch []byte) link { return sha256.Sum256(stretch) }

// cutLink removes the link from the body of a line, which is the line up to its sum. The link is
// nil if the line has none. A link cannot occur anywhere else: inside a string its quotation marks
// would be escaped, and the last field of the data is followed by a brace.
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

// Chain returns the head of the log: the link that the next line will carry, in hexadecimal, or ""
// before the first event. With it, a reader can tell later whether anything appended so far has
// changed.
func (l *Log) Chain() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seq == 0 {
		return ""
	}
	return hex.EncodeToString(l.link[:])
}

// linkFrom computes the next link of a reopened log. It reads from the last line with a link, which
// is one line, or a whole log without links.
func (l *Log) linkFrom(start int64) error {
	file, err := os.Open(l.path)
	if err != nil {
		return ioError("open", l.path, err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(file, start, l.size-start)); err != nil {
		return ioError("read", l.path, err)
	}
	l.link = link(sum.Sum(nil))
	return nil
}

// Chain is the result of Verify.
type Chain struct {
	Head     string // head of the whole lines, as [Log.Chain] returns it
	Events   int64  // number of events read; those before a damaged line
	Linked   int64  // number of events with a link; 0 in an old log
	Torn     int64  // bytes of an incomplete last line
	Recorded string // the head recorded in result.json, "" if none
	At       int64  // the event after which Recorded was the head; 0 if none
	Break    *Break // the first break; nil if the chain holds
}

// Break is the point from which a log is not what was written.
type Break struct {
	// Seq is the first event that does not fit. The change is in it or, if its link is wrong, in the
	// lines before it.
	Seq    int64
	Offset int64 // of its line
	Why    string
}

// Verify reads a whole log and follows its chain: sums, sequence numbers and links. A changed,
// deleted, inserted or moved line breaks it. If lines are missing at the end, or if all links were
// recomputed, the head recorded in result.json no longer occurs in the log. A break is a value; an
// error means that the log cannot be read or is too new.
//
// The links are not a signature: anyone who may write both files can recompute both. To guard
// against that, keep the head elsewhere.
func Verify(path string) (Chain, error) {
	run, err := firstRun(path)
	if err != nil {
		return Chain{}, fmt.Errorf("verify log: %w", err)
	}
	f := chainVerifier{sum: sha256.New(), chain: Chain{Recorded: recordedHead(path)}}
	r := &reader{run: run, path: path, decode: decodeNothing}
	err = r.read(f.visit)
	if damaged, ok := errors.AsType[*Damaged](err); ok {
		f.recordBreak(damaged.Line, damaged.Offset, damaged.Why)
		err = nil
	}
	if err != nil {
		return Chain{}, fmt.Errorf("verify log: %w", err)
	}
	f.chain.Torn = r.tail
	if f.chain.Recorded != "" && f.chain.At == 0 {
		f.recordBreak(r.seq+1, r.offset, "the head recorded in result.json is not in the log")
	}
	return f.chain, nil
}

// Verify follows the chain of a run's log.
func (s *Store) Verify(run string) (Chain, error) { return Verify(s.logPath(run)) }

func decodeNothing(ralph.EventType, []byte) (any, error) { return nil, nil }

// chainVerifier follows a chain from line to line.
type chainVerifier struct {
	sum   hash.Hash // hash of the bytes since the last link
	chain Chain
	from  int64 // offset of the next line
}

func (f *chainVerifier) visit(e ralph.Event, line []byte) error {
	_, linked := cutLink(line[:len(line)-sumBytes])
	head := f.sum.Sum(nil)
	if linked != nil {
		f.chain.Linked++
		if string(linked) != hex.EncodeToString(head) {
			f.recordBreak(e.Seq, f.from, "its link does not match the lines before it")
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

// recordBreak keeps the first break.
func (f *chainVerifier) recordBreak(seq, offset int64, why string) {
	if f.chain.Break == nil {
		f.chain.Break = &Break{Seq: seq, Offset: offset, Why: why}
	}
}

// firstRun returns the run of a log's first line; all other lines must belong to it, too. It
// returns "" if that is unknown. Reading reports the error then.
func firstRun(path string) (string, error) {
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

// recordedHead returns the receipt in the result beside a log, or "" if the result is unreadable.
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
