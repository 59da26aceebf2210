package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/secrets"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/textfile"
)

// SecretSettings names secrets that cannot be recognized by their names.
type SecretSettings struct {
	Variables []string `json:"variables,omitempty"`
	Files     []string `json:"files,omitempty"`
}

// Masker returns what masks the secrets of the user: variables with a name that sounds like a secret,
// logins in URLs, well-known forms of keys, and what the settings name. A relative path is below dir.
// A file that does not exist has no secrets.
func (s Settings) Masker(env Env, dir string) (*secrets.Masker, error) {
	var found []secrets.Secret
	named := append(slices.Clone(s.Secrets.Variables), s.Worker.APIKeyEnv, s.Evaluator.APIKeyEnv, s.Planner.APIKeyEnv)
	for _, entry := range env.Environ {
		name, value, _ := strings.Cut(entry, "=")
		values := secretParts(value)
		switch {
		case matches(name, named):
			values = []string{value}
		case isSecretName(name) && strings.Contains(value, "\n"):
			found = append(found, fileSecrets(name, value)...)
		case isSecretName(name):
			values = append(values, unordinary(value)...)
		}
		found = append(found, labeled(name, values)...)
	}
	for _, name := range s.Secrets.Files {
		path := name
		if below, ok := strings.CutPrefix(name, "~/"); ok && env.Home != "" {
			path = filepath.Join(env.Home, below)
		}
		content, err := textfile.Read(dir, path)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, textfile.ErrEmpty):
		case err != nil:
			return nil, &UsageError{Msg: fmt.Sprintf("secrets.files: %s: %v", name, err), Hint: "name a text file"}
		}
		found = append(found, fileSecrets(filepath.Base(path), content)...)
	}
	return secrets.New(found), nil
}

// Recorded returns the settings in the record of a run, with the secrets that were masked there.
func Recorded(text []byte, env Env, dir string) (s Settings, err error) {
	if err := json.Unmarshal(text, &s); err != nil {
		return s, err
	}
	mask, err := s.Masker(env, dir)
	if err != nil || mask == nil {
		return s, err
	}
	if text, err = secrets.MapJSON(text, mask.Reveal); err != nil {
		return s, err
	}
	s = Settings{}
	return s, json.Unmarshal(text, &s)
}

// NotRestored returns a setting, with its secrets masked, that [Recorded] would return as another one; "" if there is
// none.
func (s Settings) NotRestored(mask *secrets.Masker) (found string, err error) {
	text, err := json.Marshal(s)
	if err == nil {
		_, err = secrets.MapJSON(text, func(value string) string {
			if found == "" && !mask.Restores(value) {
				found = mask.String(value)
			}
			return value
		})
	}
	return found, err
}

func labeled(label string, values []string) []secrets.Secret {
	return text.Mapped(values, func(value string) secrets.Secret { return secrets.Secret{Label: label, Value: value} })
}

// secretParts returns what is secret in a value, whatever its name: the login of a URL, and keys in
// a well-known form.
func secretParts(value string) []string {
	found := knownShape().FindAllString(value, -1)
	if u, err := url.Parse(value); err == nil && u.User != nil && u.Host != "" {
		password, set := u.User.Password()
		if !set {
			password = u.User.Username() // a token instead of a login
		}
		found = append(found, unordinary(password)...)
	}
	return found
}

// isURL reports whether a value is a URL, of which only the login is secret.
func isURL(value string) bool {
	u, err := url.Parse(value)
	return err == nil && u.Scheme != "" && u.Host != "" && u.RawQuery == ""
}

const (
	longestWords  = 19
	longestNumber = 15
)

var (
	words  = text.LazyRegexp(`^([a-z]+|[A-Z]+|[A-Z][a-z]+)([-_. ]([a-z]+|[A-Z]+|[A-Z][a-z]+))*$`)
	number = text.LazyRegexp(`^[0-9.,:+-]+$`)
)

// unordinary returns the values that can be masked without making a text unreadable. These are not:
// words of fewer than 20 bytes, numbers of fewer than 16, the path of a file or folder that exists,
// and a URL without a query.
func unordinary(values ...string) []string {
	return slices.DeleteFunc(values, func(value string) bool {
		value = strings.TrimSpace(value)
		if len(value) <= longestWords && words().MatchString(value) ||
			len(value) <= longestNumber && number().MatchString(value) || isURL(value) {
			return true
		}
		_, err := os.Lstat(value)
		return filepath.IsAbs(value) && err == nil
	})
}

// setting matches a line of a file that gives a value a name, as in .env, YAML and JSON.
var setting = text.LazyRegexp(`^(?:export\s+)?["']?[A-Za-z_][\w.-]*["']?\s*[=:]\s*(.+?),?$`)

// fileSecrets returns the values in a text: those of a JSON document, or those of settings and all other lines.
func fileSecrets(name, content string) []secrets.Secret {
	var found []secrets.Secret
	var document any
	if json.Unmarshal([]byte(content), &document) == nil {
		for i, value := range jsonStrings(document) {
			found = append(found, labeled(fmt.Sprintf("%s:%d", name, i+1), append(secretParts(value), unordinary(value)...))...)
		}
		return found
	}
	at := 0
	for line := range strings.Lines(content) {
		at++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "-----") {
			continue
		}
		value := line
		if parts := setting().FindStringSubmatch(line); parts != nil && len(parts[1]) >= secrets.Shortest {
			value = unquoted(parts[1])
		}
		found = append(found, labeled(fmt.Sprintf("%s:%d", name, at), append(secretParts(value), unordinary(value)...))...)
	}
	return found
}

// jsonStrings returns the strings in a JSON document, without the names.
func jsonStrings(value any) (found []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			found = append(found, jsonStrings(item)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			found = append(found, jsonStrings(v[name])...)
		}
	}
	return found
}

// unquoted returns a value without its quotes and the escapes of JSON.
func unquoted(value string) string {
	var plain string
	if json.Unmarshal([]byte(value), &plain) == nil {
		return plain
	}
	if quote := value[0]; (quote == '\'' || quote == '"') && value[len(value)-1] == quote {
		return value[1 : len(value)-1]
	}
	return value
}
