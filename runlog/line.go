package runlog

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
	"unique"

	"github.com/ralphloop/ralph"
)

// maxLine limits the size of one event, so that a garbage file without newlines cannot exhaust the
// memory of its readers.
const maxLine = 16 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	sumOpens  = `,"sum":"`
	sumCloses = `"}`
	sumDigits = 8
	sumBytes  = len(sumOpens) + sumDigits + len(sumCloses)
)

// appendLine appends e to buf as one line, newline included. before is the link to the lines before
// it in the log.
func appendLine(buf *bytes.Buffer, e ralph.Event, before link) error {
	if !isPlainName(string(e.Type)) || !isPlainName(e.Run) {
		return fmt.Errorf("encode event: %q of run %q is not a plain name", e.Type, e.Run)
	}
	start := buf.Len()
	fmt.Fprintf(buf, `{"v":%d,"seq":%d,"ts":"%s","run":"%s","iteration":%d,"type":"%s","data":`,
		e.Version, e.Seq, e.Time.UTC().Format(time.RFC3339Nano), e.Run, e.Iteration, e.Type)
	data := json.NewEncoder(buf)
	data.SetEscapeHTML(false)
	if err := data.Encode(e.Data); err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	buf.Truncate(buf.Len() - 1) // remove the encoder's newline
	if buf.Len()-start > maxLine-linkBytes-sumBytes-1 {
		return fmt.Errorf("encode event: %s of %d bytes is too large", e.Type, buf.Len()-start)
	}
	fmt.Fprintf(buf, "%s%x%s", linkOpens, before, linkCloses)
	buf.Write(append(appendSum(nil, buf.Bytes()[start:]), '\n'))
	return nil
}

// appendSum appends the end of a line to text: the sum of its body and the closing brace.
func appendSum(text, body []byte) []byte {
	var sum [sumDigits / 2]byte
	binary.BigEndian.PutUint32(sum[:], crc32.Checksum(body, castagnoli))
	text = append(text, sumOpens...)
	text = hex.AppendEncode(text, sum[:])
	return append(text, sumCloses...)
}

// isPlainName reports whether a name needs no quoting in JSON and is safe as the name of a folder.
func isPlainName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case '0' <= c && c <= '9', 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', c == '_', c == '-':
		default:
			return false
		}
	}
	return name != ""
}

// envelope is a line whose data has not been decoded.
type envelope struct {
	version   int
	seq       int64
	time      time.Time
	run       []byte
	iteration int
	kind      ralph.EventType
	data      []byte
	linked    bool // has a link to the lines before it
}

var errSum = errors.New("the checksum does not match")

// parseLine checks the sum of a line (without its newline) and splits it into fields. The result
// points into line.
func parseLine(line []byte) (envelope, error) {
	body := len(line) - sumBytes
	if body < 0 {
		return envelope{}, errSum
	}
	var sum [sumBytes]byte
	if !bytes.Equal(line[body:], appendSum(sum[:0], line[:body])) {
		return envelope{}, errSum
	}
	own, linked := cutLink(line[:body])
	e, ok := parseOwn(own)
	if !ok {
		var err error
		if e, err = parseAny(line); err != nil {
			return envelope{}, err
		}
	}
	e.linked = linked != nil
	return e, nil
}

// parseOwn reads the envelope exactly as appendLine writes it, without its link. It is the fast
// path for lines that this version wrote.
func parseOwn(body []byte) (e envelope, ok bool) {
	t := lineScanner{rest: body}
	t.literal(`{"v":`)
	e.version = int(t.number())
	t.literal(`,"seq":`)
	e.seq = t.number()
	t.literal(`,"ts":"`)
	stamp := t.plainUntilQuote()
	t.literal(`","run":"`)
	e.run = t.plainUntilQuote()
	t.literal(`","iteration":`)
	e.iteration = int(t.number())
	t.literal(`,"type":"`)
	kind := t.plainUntilQuote()
	t.literal(`","data":`)
	if t.failed || e.time.UnmarshalText(stamp) != nil {
		return envelope{}, false
	}
	e.kind, e.data = ralph.EventType(unique.Make(string(kind)).Value()), t.rest
	return e, isPlainName(string(e.kind))
}

// parseAny parses a line as JSON, for fields in another order or fields that a later version added.
func parseAny(line []byte) (envelope, error) {
	var v struct {
		Version   int             `json:"v"`
		Seq       int64           `json:"seq"`
		Time      time.Time       `json:"ts"`
		Run       string          `json:"run"`
		Iteration int             `json:"iteration"`
		Type      ralph.EventType `json:"type"`
		Data      json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(line, &v); err != nil {
		return envelope{}, fmt.Errorf("not an event: %w", err)
	}
	return envelope{
		version: v.Version, seq: v.Seq, time: v.Time, run: []byte(v.Run), iteration: v.Iteration, kind: v.Type, data: v.Data,
	}, nil
}

// lineScanner consumes known pieces from the front of a text and remembers if one was missing.
type lineScanner struct {
	rest   []byte
	failed bool
}

func (t *lineScanner) literal(text string) {
	if len(t.rest) < len(text) || string(t.rest[:len(text)]) != text {
		t.failed = true
		return
	}
	t.rest = t.rest[len(text):]
}

// number consumes a whole number of at most 18 digits, which cannot overflow.
func (t *lineScanner) number() int64 {
	var n int64
	i := 0
	for i < len(t.rest) && i < 18 && '0' <= t.rest[i] && t.rest[i] <= '9' {
		n = n*10 + int64(t.rest[i]-'0')
		i++
	}
	t.failed = t.failed || i == 0
	t.rest = t.rest[i:]
	return n
}

func (t *lineScanner) plainUntilQuote() []byte {
	end := bytes.IndexByte(t.rest, '"')
	if end < 0 || bytes.IndexByte(t.rest[:end], '\\') >= 0 {
		t.failed = true
		return nil
	}
	text := t.rest[:end]
	t.rest = t.rest[end:]
	return text
}
