package agent

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ralphloop/ralph/agent/internal/stream"
)

// codexRecord is one line of the file in which the CLI records a session while it works. It has what the stream lacks:
// the model, and the tokens so far. Seen with version 0.166.
type codexRecord struct {
	Payload struct {
		Type  string `json:"type"`
		Model string `json:"model"`
		Info  struct {
			Total usage `json:"total_token_usage"`
		} `json:"info"`
		Limits struct {
			Primary   codexWindow `json:"primary"`
			Secondary codexWindow `json:"secondary"`
		} `json:"rate_limits"`
	} `json:"payload"`
}

// codexWindow is the use of one window of a subscription.
type codexWindow struct {
	Percent float64 `json:"used_percent"`
	Minutes int64   `json:"window_minutes"`
	Resets  int64   `json:"resets_at"` // in seconds since 1970
}

func (c *codexStream) readSession() {
	if c.OwnFolder == "" || c.Session == "" {
		return
	}
	if c.session.path == "" {
		c.session.path = findCodexSession(c.OwnFolder, c.Session, c.Now())
	}
	for _, line := range c.session.newLines() {
		if !bytes.Contains(line, []byte(`"token_count"`)) && !bytes.Contains(line, []byte(`"turn_context"`)) {
			continue
		}
		var record codexRecord
		stream.Decode(line, &record)
		c.Works(record.Payload.Model)
		spent := withoutCache(codexUsage.of(record.Payload.Info.Total))
		for _, w := range []codexWindow{record.Payload.Limits.Primary, record.Payload.Limits.Secondary} {
			if w.Minutes > 0 {
				c.Window(w.Minutes, w.Percent/100, w.Resets)
			}
		}
		if record.Payload.Type == "token_count" && spent != nil {
			c.Spent = *spent
			c.TellSpent()
		}
	}
}

// findCodexSession returns the file of a session that began today. Its folders are named after the day, in a time zone
// that is not known here.
func findCodexSession(folder, session string, now time.Time) string {
	for _, day := range []time.Time{now, now.AddDate(0, 0, -1), now.AddDate(0, 0, 1)} {
		dir := filepath.Join(folder, "sessions", filepath.FromSlash(day.Format("2006/01/02")))
		found, err := fs.Glob(os.DirFS(dir), "rollout-*-"+filepath.Base(session)+".jsonl")
		if err == nil && len(found) > 0 {
			return filepath.Join(dir, found[0])
		}
	}
	return ""
}
