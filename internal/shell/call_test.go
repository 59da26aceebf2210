package shell

import "testing"

func TestArgumentsThatMayChangeWhatRunsAreUnclear(t *testing.T) {
	for arguments, want := range map[string]bool{
		``: true, // what agents send
		`,"description":"Run tests","timeout":120000`:                                  true, // claude
		`,"description":"","run_in_background":false,"dangerouslyDisableSandbox":true`: true,
		`,"workdir":"/w","timeout_ms":1000,"with_escalated_permissions":true`:          true, // codex
		`,"sandbox_permissions":"require_escalated","justification":"x","login":false`: true,
		`,"prefix_rule":["go","test"],"yield_time_ms":1000,"max_output_tokens":9`:      true,
		`,"shell":"/bin/bash","tty":false`:                                             true,
		`,"shell":"zsh"`:                                                               true,
		`,"description":"x","dir_path":"/w","is_background":false`:                     true, // gemini
		`,"description":"x","directory":"/w","is_background":false,"timeout":"60000"`:  true, // qwen
		`,"cwd":"/w","description":"x"`:                                                true, // amp, ACP
		`,"timeout_secs":5`:                                                            true, // goose
		`,"description":"x","mode":"sync","initial_wait":30`:                           true, // copilot
		`,"workingDirectory":"","timeout":30000`:                                       true, // cursor
		`,"explanation":"x","is_background":false,"require_user_approval":false`:       true,
		`,"timeout_seconds":5`:                                                         true, // the worker
		`,"args":null,"env":{},"stdin":"","argv":[]`:                                   true, // not set
		`,"cwd":"/w//./"`:               true,
		`,"args":["-n"]`:                false,
		`,"args":["||","true"]`:         false,
		`,"env":{"PATH":"/fake"}`:       false,
		`,"environment":["PATH=/fake"]`: false,
		`,"shell":"/fake/sh"`:           false,
		`,"shell":"./sh"`:               false,
		`,"shell":"/bin/../fake/sh"`:    false,
		`,"shell":["sh","-n"]`:          false,
		`,"shell":"true"`:               false,
		`,"Shell":"sh"`:                 false,
		`,"shell":"sh","shell":"bash"`:  false,
		`,"stdin":"exit 0"`:             false,
		`,"host":"other"`:               false,
		`,"sessionId":"mine"`:           false, // its PATH may be any
		`,"mode":"async"`:               false,
		`,"async":true`:                 false,
		`,"detach":true`:                false,
		`,"run_in_background":true`:     false,
		`,"timeout":"5; true"`:          false,
		`,"timeout":{"PATH":"/fake"}`:   false,
		`,"timeout":1e999`:              false,
		`,"description":["||","true"]`:  false,
		`,"Description":"x"`:            false,
		`,"cwd":"/lk/../w"`:             false,
		`,"cwd":"/w/../w"`:              false,
		`,"cwd":"../w"`:                 false,
		`,"cwd":".."`:                   false,
	} {
		call := ReadCall([]byte(`{"command":"go test ./..."` + arguments + `}`))
		if got := call.ShowsResultIn("/w"); got != want || call.Line != "go test ./..." {
			t.Errorf("%s: %t, want %t: %+v", arguments, got, want, call)
		}
	}
}

// A tool without a command has arguments of its own, which say what it looked at.
func TestOtherArgumentsOfAToolWithoutACommand(t *testing.T) {
	call := ReadCall([]byte(`{"url":"http://localhost","args":["--headless"]}`))
	if call != (Call{}) || !call.ShowsResultIn("/w") {
		t.Errorf("%+v", call)
	}
}

func TestFolderBehindALinkIsAnother(t *testing.T) {
	for line, want := range map[string]bool{
		"cd /w && make": true, "cd /w/ && make": true, "cd /lk/../w && make": false, "cd /w/sub/.. && make": false,
	} {
		if got := Runs(line, "make", "/w"); got != want {
			t.Errorf("%s: %t", line, got)
		}
	}
	if odd := (Call{Line: "make", Dir: "../w"}); !odd.ShowsResultIn("../w") {
		t.Error("the same path is the same folder")
	}
}
