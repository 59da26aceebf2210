package main

import (
	"cmp"
	_ "embed" // for supplement.json
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// makers are the providers whose own prices are kept, with the models that people use to write
// code. Resellers charge other prices.
var makers = map[string]*regexp.Regexp{
	"alibaba":    regexp.MustCompile(`^qwen3`),
	"anthropic":  regexp.MustCompile(`^claude-`),
	"deepseek":   regexp.MustCompile(`^deepseek-`),
	"google":     regexp.MustCompile(`^gemini-`),
	"minimax":    regexp.MustCompile(`^MiniMax-`),
	"mistral":    regexp.MustCompile(`^(codestral|devstral|magistral|mistral-(large|medium|small))-`),
	"moonshotai": regexp.MustCompile(`^kimi-`),
	"openai":     regexp.MustCompile(`^(gpt-(4o|4\.1|[5-9]|daybreak)|o\d)`),
	"xai":        regexp.MustCompile(`^grok-`),
	"zai":        regexp.MustCompile(`^glm-`),
}

// notForCode matches the names of models that are not meant for code.
var notForCode = regexp.MustCompile(`-(vl|omni|tts|live|image|realtime|computer-use|vision|multi-agent)\b|glm-[\d.]+v`)

// snapshot is the part of api.json that matters here.
type snapshot map[string]struct {
	Models map[string]struct {
		ToolCall    bool   `json:"tool_call"`
		LastUpdated string `json:"last_updated"`
		Modalities  struct{ Output []string }
		Limit       struct{ Context int64 }
		Cost        *cost
	}
}

type cost struct {
	Input      float64
	Output     float64
	Reasoning  float64
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
}

// row is one line of the table. A cache price of zero means none.
type row struct {
	provider, model string
	cost            cost
	context         int64
}

// list is the table.
type list struct {
	asOf   string
	rows   []row
	newest map[string]string // for each family of Claude
}

//go:embed supplement.json
var supplement []byte

func selectModels(api []byte) (list, error) {
	var all snapshot
	if err := json.Unmarshal(api, &all); err != nil {
		return list{}, fmt.Errorf("parse snapshot: %w", err)
	}
	l := list{asOf: all.day()}
	for provider, models := range makers {
		if len(all[provider].Models) == 0 {
			return list{}, fmt.Errorf("find provider: the snapshot has no models of %s", provider)
		}
		for id, m := range all[provider].Models {
			text := len(m.Modalities.Output) == 1 && m.Modalities.Output[0] == "text"
			if models.MatchString(id) && !notForCode.MatchString(id) && m.ToolCall && text && m.Cost != nil && m.Cost.usable() {
				l.rows = append(l.rows, row{provider, id, *m.Cost, m.Limit.Context})
			}
		}
	}
	if err := l.fill(supplement); err != nil {
		return list{}, err
	}
	slices.SortFunc(l.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.provider, b.provider), cmp.Compare(a.model, b.model))
	})
	l.newest = newestClaudes(l.rows)
	return l, l.checkUnique()
}

// day returns the newest date in the snapshot, which has no date field for the whole.
func (s snapshot) day() (newest string) {
	for _, provider := range s {
		for _, m := range provider.Models {
			if _, err := time.Parse(time.DateOnly, m.LastUpdated); err == nil {
				newest = max(newest, m.LastUpdated)
			}
		}
	}
	return newest
}

// usable excludes free models, since it is unknown for how long they stay free. It also excludes
// models whose thinking costs more than other output: agents report only the sum of both.
func (c cost) usable() bool {
	return c.Input > 0 && c.Output >= c.Input && (c.Reasoning == 0 || c.Reasoning == c.Output)
}

// fill adds rows that the snapshot lacks, and cache prices to rows that have none.
func (l *list) fill(supplement []byte) error {
	var more map[string]map[string]struct {
		cost
		Context int64
		Source  string
	}
	if err := json.Unmarshal(supplement, &more); err != nil {
		return fmt.Errorf("parse supplement: %w", err)
	}
	for provider, models := range more {
		for id, m := range models {
			at := slices.IndexFunc(l.rows, func(r row) bool { return r.provider == provider && r.model == id })
			if at < 0 {
				l.rows = append(l.rows, row{provider, id, m.cost, m.Context})
				continue
			}
			known := &l.rows[at].cost
			known.CacheRead = cmp.Or(known.CacheRead, m.CacheRead)
			known.CacheWrite = cmp.Or(known.CacheWrite, m.CacheWrite)
		}
	}
	return nil
}

// checkUnique makes sure that a name identifies one row, since lookups ignore case.
func (l list) checkUnique() error {
	seen := map[string]string{}
	for _, r := range l.rows {
		name := strings.ToLower(r.model)
		if other := seen[name]; other != "" {
			return fmt.Errorf("list models: both %s and %s sell %s", other, r.provider, name)
		}
		seen[name] = r.provider
	}
	return nil
}

var claudeVersion = regexp.MustCompile(`^claude-(opus|sonnet|haiku|fable)-(\d{1,2})(?:-(\d{1,2}))?$`)

// newestClaudes resolves the short names of Claude Code: the highest version of each family.
func newestClaudes(rows []row) map[string]string {
	newest, versions := map[string]string{}, map[string]string{}
	for _, r := range rows {
		m := claudeVersion.FindStringSubmatch(r.model)
		if m == nil {
			continue
		}
		version := fmt.Sprintf("%2s.%2s", m[2], m[3])
		if version > versions[m[1]] {
			newest[m[1]], versions[m[1]] = r.model, version
		}
	}
	return newest
}
