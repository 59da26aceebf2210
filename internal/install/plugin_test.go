package install

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the plugin's files anew")

// The plugin for Claude Code has the texts and hooks that `ralph install claude` writes, for a ralph on PATH.
func TestPluginIsWhatInstallWrites(t *testing.T) {
	p := newPlace(t, "claude")
	want := map[string][]byte{}
	for _, name := range p.texts() {
		text, err := content.ReadFile("content/" + name)
		if err != nil {
			t.Fatal(err)
		}
		want[name] = text
	}
	hooks, _, err := withHooks(nil, onPath)
	if err != nil {
		t.Fatal(err)
	}
	want["hooks/hooks.json"] = hooks
	root := filepath.Join("..", "..", "plugins", "ralph")
	for name, text := range want {
		path := filepath.Join(root, filepath.FromSlash(name))
		if *update {
			write(t, path, string(text))
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s differs from what ralph install writes (%v); renew it: go test ./internal/install -update", path, err)
		}
	}
}

func TestMarketplaceNamesThePlugin(t *testing.T) {
	root := filepath.Join("..", "..")
	var market struct {
		Name    string
		Plugins []struct{ Name, Source string }
	}
	var manifest struct{ Name string }
	read := func(path string, into any) {
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	read(filepath.Join(root, ".claude-plugin", "marketplace.json"), &market)
	if len(market.Plugins) != 1 {
		t.Fatal(market)
	}
	read(filepath.Join(root, filepath.FromSlash(market.Plugins[0].Source), ".claude-plugin", "plugin.json"), &manifest)
	if market.Name != "ralph" || market.Plugins[0].Name != "ralph" || manifest.Name != "ralph" {
		t.Errorf("%+v %+v", market, manifest)
	}
}
