package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ralphloop/ralph/model"
)

// Fault returns the reason why there is no reply: the error of the context given to Watch, if that
// has ended, and otherwise a [*model.Fault]. begun is the response if a stream had started, or nil.
func (ep Endpoint) Fault(w *Watch, err error, begun *http.Response) error {
	if e := w.given.Err(); e != nil {
		return e
	}
	status := 0
	if begun != nil {
		status = begun.StatusCode
	}
	if w.ctx.Err() != nil {
		return &model.Fault{
			Kind: model.FaultProvider, Status: status, Message: fmt.Sprintf("the model sent nothing for %s", w.idle),
			Err: errIdle,
		}
	}
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return ep.refused(refusal)
	}
	if f, ok := errors.AsType[*model.Fault](err); ok {
		return f
	}
	return &model.Fault{Kind: model.FaultProvider, Status: status, Message: ep.Clean(sentence(err)), Err: err}
}

func sentence(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		host, server := e.URL, e.URL
		if u, err := url.Parse(e.URL); err == nil {
			host, server = u.Host, u.Scheme+"://"+u.Host
		}
		if connectionRefused(err) {
			return fmt.Sprintf("reach %s: connection refused (is the server at %s running?)", host, server)
		}
		return fmt.Sprintf("reach %s: %v", host, e.Err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "the reply was cut short"
	}
	return fmt.Sprintf("read the reply: %v", err)
}

// connectionRefused reports whether the server itself refused the connection, and not a proxy
// before it.
func connectionRefused(err error) bool {
	dial, ok := errors.AsType[*net.OpError](err)
	return ok && dial.Op == "dial" && errors.Is(err, syscall.ECONNREFUSED)
}

func (ep Endpoint) refused(r *Refusal) *model.Fault {
	f := &model.Fault{Status: r.Status, Kind: kindOf(r.Status, r.Body), Message: ep.Clean(words(r.Body))}
	switch {
	// this is not a model API, so asking again does not help
	case r.Status < 300 && (f.Message == "" || isPage(r.Header)):
		f.Kind, f.Message = model.FaultRefused, ep.Clean(fmt.Sprintf("%s returned %s; check the base URL", r.From,
			r.what()))
	case f.Message != "":
	case r.Status < 400:
		f.Message = ep.Clean("the provider redirects to " + r.Header.Get("Location"))
	default:
		f.Message = http.StatusText(r.Status)
	}
	f.Message = cmp.Or(f.Message, "the provider refused the request")
	setRetry(f, r.Header, r.Body)
	return f
}

// what describes the response that came instead of a reply.
func (r *Refusal) what() string {
	if isPage(r.Header) {
		return "a web page (" + kindOfBody(r.Header) + ")"
	}
	return "JSON that is not a model reply (" + kindOfBody(r.Header) + ")"
}

// setRetry sets when to ask again. A quota with a time is an ordinary limit: some providers call
// the limit for a minute a quota.
func setRetry(f *model.Fault, h http.Header, body []byte) {
	if f.Kind != model.FaultLimit && f.Kind != model.FaultProvider {
		return
	}
	f.RetryAfter = retryAfter(h, body, time.Now())
	f.Quota = f.Kind == model.FaultLimit && f.RetryAfter == 0 &&
		(f.Status == http.StatusPaymentRequired || containsAny(ownWords(body), quotaWords))
}

// ownWords returns the provider's own words in lower case. The body may also contain the request,
// and with it any text at all.
func ownWords(body []byte) string {
	label := labelOf(body)
	return strings.ToLower(words(body) + " " + label.Type + " " + label.code())
}

// StreamFault returns the fault for an error event of a stream that started well. It may be worth
// another attempt unless its kind says otherwise.
func (ep Endpoint) StreamFault(data []byte) *model.Fault {
	f := &model.Fault{Kind: kindOf(http.StatusOK, data), Status: http.StatusOK}
	f.Message = cmp.Or(ep.Clean(words(data)), "the provider reported an error during its reply")
	setRetry(f, nil, data)
	return f
}

// Cut returns the fault for a stream that ends before the reply is complete.
func Cut(message string) *model.Fault {
	return &model.Fault{Kind: model.FaultProvider, Status: http.StatusOK, Message: message}
}

// kindOf classifies a response. With a status below 300 it is an error that came later in the
// stream, and only the body says what it is.
func kindOf(status int, body []byte) model.FaultKind {
	late := status < 300
	if late {
		status = labelOf(body).status()
	}
	text := ownWords(body)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return model.FaultAuth
	case status == http.StatusRequestEntityTooLarge,
		status != http.StatusTooManyRequests && containsAny(text, overflowWords):
		return model.FaultOverflow
	case status == http.StatusTooManyRequests, status == http.StatusPaymentRequired,
		status < 500 && containsAny(text, quotaWords):
		return model.FaultLimit
	case status == http.StatusBadRequest && containsAny(text, keyWords):
		return model.FaultAuth
	case late, status >= 500, slices.Contains(transientStatuses, status):
		return model.FaultProvider
	}
	return model.FaultRefused
}

// transientStatuses are statuses below 500 that may not recur.
var transientStatuses = []int{
	http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly,
}

func containsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// overflowWords are phrases, in lower case, by which servers say that a request is too long.
var overflowWords = []string{
	"prompt is too long", "exceed context limit", // Anthropic
	// OpenAI, DeepSeek, OpenRouter, older vLLM
	"context_length_exceeded", "maximum context length", "exceeds the context window",
	"model's context length is only", "longer than the maximum model length", // vLLM
	"available context size", "exceed_context_size_error", // llama.cpp, and Ollama, which runs it
	"exceeds the context length", "exceeds context length", "exceeds maximum context length", // Ollama
	"greater than the context length", "context size has been exceeded", // LM Studio
	"exceeds the maximum number of tokens allowed", "input token count is", // Gemini, Vertex
	"maximum prompt length is", "exceeds the maximum allowed input length", "exceeded model token limit",
	"context window exceeds limit",
	// xAI, Poolside, Kimi, MiniMax, Mistral, Bedrock, Groq
	"too large for model with", "input is too long for requested model", "reduce the length of the messages",
}

// quotaWords are phrases by which providers say that an account's quota is used up.
var quotaWords = []string{
	"insufficient_quota", "credit balance", "insufficient balance", "insufficient credits", "exceeded your current quota",
	"billing_error",
}

// keyWords are phrases by which some providers report a wrong key with status 400 instead of 401.
var keyWords = []string{
	"api key not valid", "api_key_invalid", "invalid_api_key", "invalid api key", "incorrect api key",
}

// typeStatus maps error types to statuses, for streams that send only the type.
var typeStatus = map[string]int{
	"authentication_error": 401, "invalid_api_key": 401, "permission_error": 403, "billing_error": 402,
	"insufficient_quota": 429,
	"rate_limit_error":   429, "rate_limit_exceeded": 429, "request_too_large": 413, "context_length_exceeded": 413,
}

// label holds the machine-readable fields of an error.
type label struct {
	Type string `json:"type"`
	Code any    `json:"code"` // a number or a word
}

func labelOf(body []byte) label {
	var told struct {
		Error label `json:"error"`
	}
	_ = json.Unmarshal(bytes.TrimSpace(body), &told) // an unreadable body has no label
	return told.Error
}

func (l label) code() string {
	word, _ := l.Code.(string)
	return word
}

// status returns the HTTP status that matches the label. An unknown label counts as a problem of
// the provider.
func (l label) status() int {
	if n, ok := l.Code.(float64); ok && n >= 400 && n < 600 {
		return int(n)
	}
	for _, word := range []string{l.code(), l.Type} {
		if status, ok := typeStatus[word]; ok {
			return status
		}
	}
	return http.StatusInternalServerError
}
