package install

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// content holds the texts for agents. The plugin in plugins/ralph has the same.
//
//go:embed content
var content embed.FS

// ownCall matches Ralph's commands in a text.
var ownCall = regexp.MustCompile(`\bralph (goal|status-block)\b`)

// textFor returns a text that calls a program, with a stamp that shows whether anyone has edited it since.
func textFor(name, program string) ([]byte, error) {
	text, err := content.ReadFile("content/" + name)
	if err != nil {
		return nil, fmt.Errorf("read text: %w", err)
	}
	if program != onPath {
		called := strings.ReplaceAll(program, "$", "$$")
		text = ownCall.ReplaceAll(text, []byte(called+" $1"))
	}
	return append(text, stampOf(text)...), nil
}

const (
	stampBegins = "\n<!-- ralph install "
	stampEnds   = ": Ralph updates this file while this line fits the text above -->\n"
)

func stampOf(text []byte) string {
	hash := sha256.Sum256(text)
	return stampBegins + hex.EncodeToString(hash[:8]) + stampEnds
}

// isStamped reports whether a text is as some version of Ralph wrote it.
func isStamped(text []byte) bool {
	at := strings.LastIndex(string(text), stampBegins)
	return at >= 0 && string(text[at:]) == stampOf(text[:at])
}
