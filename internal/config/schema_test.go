package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
)

func resolvedSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var schema jsonschema.Schema
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func fromYAML(t *testing.T, text string) any {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	var value any
	if err := json.Unmarshal(encoded, &value); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return value
}

func TestSchemaTakesWhatTheLoaderTakes(t *testing.T) {
	schema := resolvedSchema(t)
	texts := []string{
		"max_cost: null\nchecks:\nralph_loop:\n",
		"checks: [go test ./..., true]\nagent: claude\ncompletion_tag: DONE\n",
		"checks: go test\nmax_time: 90s\nmax_wait: 1h30m\niteration_delay: 1.5\n",
		"ralph_loop:\n  max_iterations: 25\n  max_cost: null\n  max_time: null\n  completion_tag: COMPLETE\n  agent: build\n",
	}
	for _, key := range Keys() {
		if key.Ready() {
			text, _ := sample(key)
			texts = append(texts, yamlOf(key, text))
		}
	}
	for _, text := range texts {
		if err := schema.Validate(fromYAML(t, text)); err != nil {
			t.Errorf("schema refuses %q: %v", text, err)
		}
		if _, err := parseFile("c.yaml", []byte(text), LayerUser); err != nil {
			t.Errorf("loader refuses %q: %v", text, err)
		}
	}
}

func TestSchemaRefusesWhatTheLoaderRefuses(t *testing.T) {
	schema := resolvedSchema(t)
	texts := []string{
		"max_iteration: 3", "max_iterations: -1", "max_iterations: ten", "max_iterations: 1.5", "max_iterations: 1000000001",
		"max_iterations: [1]",
		"max_time: soon", "max_time: -5", "max_time: 5d", "gate: {status: maybe}", "checks: {timout: 5m}", "checks: ['']",
		"checks: [[a]]",
		"ralph_loop: {checks: [a]}", "breaker: {output_decline: 101}", "sandbox: gvisor", "agent: {colour: red}",
		"allow_unverified: perhaps",
	}
	for _, key := range Keys() {
		if !key.Ready() {
			texts = append(texts, yamlOf(key, "x"))
		}
	}
	for _, text := range texts {
		if schema.Validate(fromYAML(t, text)) == nil {
			t.Errorf("schema takes %q", text)
		}
		if _, err := parseFile("c.yaml", []byte(text), LayerUser); err == nil {
			t.Errorf("loader takes %q", text)
		}
	}
}

func TestSchemaIsStable(t *testing.T) {
	if got := string(Schema()); !strings.HasSuffix(got, "}\n") {
		t.Errorf("the schema does not end with a line break: %q", got[len(got)-10:])
	}
	golden(t, "testdata/schema.golden", string(Schema()))
}
