package scriptedmodel

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// maxBody limits a request; keptRequests limits the log.
const (
	maxBody      = 64 << 20
	keptRequests = 10_000
)

// Request is the log entry for one request and its answer.
type Request struct {
	Time     time.Time `json:"time"`
	Method   string    `json:"method"`
	Path     string    `json:"path"`
	Scenario string    `json:"scenario"`
	Wire     string    `json:"wire,omitempty"` // anthropic, responses, chat or gemini
	Model    string    `json:"model,omitempty"`
	Stream   bool      `json:"stream"`
	Side     bool      `json:"side"`            // it is not part of the conversation
	Agent    int       `json:"agent"`           // the fresh agent it comes from, from 1; 0 if none
	Turn     int       `json:"turn"`            // from 1
	Fault    FaultKind `json:"fault,omitempty"` // served instead of the turn
	Status   int       `json:"status"`          // the status that is sent; 0 if none
	Tools    []string  `json:"tools,omitempty"` // the tools that are offered
	Body     []byte    `json:"-"`               // only for an observer; not kept
}

// Server answers as its script says. It is an http.Handler and safe for concurrent use.
type Server struct {
	scenarios map[string]*progress
	names     []string
	observe   func(Request)

	mu       sync.Mutex
	requests []Request

	closing  chan struct{}
	close    sync.Once
	answers  sync.WaitGroup
	admitted sync.RWMutex
}

// Option configures a server.
type Option func(*Server)

// Observe registers a function that is called for every request, once its answer is chosen and
// before anything is sent. It must not block for long.
func Observe(observe func(Request)) Option { return func(s *Server) { s.observe = observe } }

// New returns a server for a script that Parse has read, or that follows the same rules.
func New(script Script, options ...Option) *Server {
	s := &Server{
		scenarios: map[string]*progress{}, names: script.Names(), closing: make(chan struct{}), observe: func(Request) {},
	}
	for name, scenario := range script {
		s.scenarios[name] = newProgress(scenario)
	}
	for _, option := range options {
		option(s)
	}
	return s
}

// Requests returns all requests so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Close ends all current requests, including those that hang, and waits for them.
func (s *Server) Close() {
	s.close.Do(func() { close(s.closing) })
	s.admitted.Lock() // no request is between the check of closing and the counter
	defer s.admitted.Unlock()
	s.answers.Wait()
}

func (s *Server) admit() bool {
	s.admitted.RLock()
	defer s.admitted.RUnlock()
	select {
	case <-s.closing:
		return false
	default:
		s.answers.Add(1)
		return true
	}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.admit() {
		panic(http.ErrAbortHandler)
	}
	defer s.answers.Done()
	scenario, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	rest = "/" + rest
	entry := Request{Time: time.Now(), Method: r.Method, Path: r.URL.Path, Scenario: scenario}
	at, known := s.scenarios[scenario]
	format := wireFor(rest)
	switch {
	case !known:
		s.refuse(w, entry, http.StatusNotFound,
			fmt.Sprintf("unknown scenario %q: the base URL must end with one of: %s", scenario,
				strings.Join(s.names, ", ")))
	case r.Method == http.MethodHead:
		s.note(entry, http.StatusOK)
	case strings.HasSuffix(rest, "/models") && r.Method == http.MethodGet:
		s.respond(w, entry, modelList())
	case strings.HasSuffix(rest, "/count_tokens"):
		s.respond(w, entry, object{"input_tokens": DefaultUsage.Input})
	case strings.HasSuffix(rest, ":countTokens"):
		s.respond(w, entry, object{"totalTokens": DefaultUsage.Input})
	case format == nil || r.Method != http.MethodPost:
		s.refuse(w, entry, http.StatusNotFound, "unsupported request: "+r.Method+" "+rest)
	default:
		var a ask
		body, err := readBody(r)
		if err == nil {
			a, err = format.read(rest, body)
		}
		if err != nil {
			s.refuse(w, entry, http.StatusBadRequest, err.Error())
			return
		}
		a.asArray = format.name() == "gemini" && a.streaming && r.URL.Query().Get("alt") != "sse"
		if m := folderSentence.FindSubmatch(body); m != nil {
			a.folder = string(m[1])
		}
		entry.Body = body
		x := exchange{server: s, progress: at, wire: format, ask: a, entry: entry, to: w, request: r}
		x.serve()
	}
}

func readBody(r *http.Request) ([]byte, error) {
	from := io.Reader(r.Body)
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, fmt.Errorf("read request: %w", err)
		}
		from = unzipped
	default:
		return nil, fmt.Errorf("read request: unknown encoding %q", encoding)
	}
	body, err := io.ReadAll(io.LimitReader(from, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("read request: it is longer than %d bytes", maxBody)
	}
	return body, nil
}

func modelList() object {
	model := object{
		"id": "scripted-1", "object": "model", "type": "model", "display_name": "Scripted", "created": 0,
		"created_at": "2026-01-01T00:00:00Z", "owned_by": "script",
	}
	return object{"object": "list", "data": []object{model}, "has_more": false, "first_id": "scripted-1",
		"last_id": "scripted-1",
		"models": []object{
			{"name": "models/scripted-1", "displayName": "Scripted", "supportedGenerationMethods": []string{"generateContent"}},
		}}
}

// note logs a request.
func (s *Server) note(entry Request, status int) {
	entry.Status = status
	s.observe(entry)
	entry.Body = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) >= keptRequests {
		s.requests = s.requests[keptRequests/2:]
	}
	s.requests = append(s.requests, entry)
}

func (s *Server) respond(w http.ResponseWriter, entry Request, value any) {
	s.note(entry, http.StatusOK)
	writeJSON(w, http.StatusOK, value)
}

func (s *Server) refuse(w http.ResponseWriter, entry Request, status int, why string) {
	s.note(entry, status)
	writeJSON(w, status, object{
		"type":  "error",
		"error": object{"type": anthropicKinds[status], "code": status, "message": "scripted model: " + why},
	})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client may be gone
}
