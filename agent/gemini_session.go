package agent

import (
	"bytes"
	"path/filepath"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

// maxSubagents limits how many files of sub-agents are followed.
const maxSubagents = 100

// geminiSession follows the files in which the CLI records a session and its sub-agents while they work: the stream has
// no tokens until its end. Calls that the CLI makes for itself, such as those that look for loops, are in no file. Seen
// with version 0.61.
type geminiSession struct{ files []geminiFile }

// geminiFile is what one file says. A message is written again when its tools have ended, so the tokens of the newest
// one are kept apart.
type geminiFile struct {
	sessionFile
	newest string // its ID
	last   ralph.Tokens
	before ralph.Tokens
}

// geminiRecord is one line of a file.
type geminiRecord struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Model  string `json:"model"`
	Tokens *struct {
		All    int64 `json:"total"`
		Input  int64 `json:"input"`
		Output int64 `json:"output"`
		Cached int64 `json:"cached"`
	} `json:"tokens"`
}

func (g *geminiStream) readSession() {
	if g.OwnFolder == "" || len(g.Session) < 8 {
		return
	}
	var spent ralph.Tokens
	g.session.find(g.OwnFolder, filepath.Base(g.Session))
	for i := range g.session.files {
		file := &g.session.files[i]
		if model := file.read(); i == 0 {
			g.Works(model)
		}
		spent = spent.Plus(file.before).Plus(file.last)
	}
	if spent != g.Spent {
		g.Spent = spent
		g.TellSpent()
	}
}

// find adds the files that are not known yet. The name of the folder between is the CLI's own choice.
func (s *geminiSession) find(folder, session string) {
	chats := filepath.Join(folder, "tmp", "*", "chats")
	pattern := filepath.Join(chats, "session-*-"+session[:8]+".jsonl")
	if len(s.files) > 0 {
		pattern = filepath.Join(filepath.Dir(s.files[0].path), session, "*.jsonl")
	}
	found, err := filepath.Glob(pattern)
	if err != nil {
		return // the folder's name is no pattern
	}
	for _, path := range found {
		known := func(f geminiFile) bool { return f.path == path }
		if len(s.files) <= maxSubagents && !slices.ContainsFunc(s.files, known) {
			s.files = append(s.files, geminiFile{sessionFile: sessionFile{path: path}})
		}
	}
}

// read counts what was added since the last call, and returns the model that answered last; "" if it is not known.
func (f *geminiFile) read() (model string) {
	for _, line := range f.newLines() {
		if !bytes.Contains(line, []byte(`"tokens"`)) {
			continue
		}
		var r geminiRecord
		stream.Decode(line, &r)
		if r.Type != "gemini" || r.Tokens == nil {
			continue
		}
		if r.ID != f.newest {
			f.before, f.newest = f.before.Plus(f.last), r.ID
		}
		t := r.Tokens
		f.last = geminiTokens{All: t.All, Input: t.Input, Output: t.Output, Cached: t.Cached}.split()
		model = r.Model
	}
	return model
}
