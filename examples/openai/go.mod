module github.com/ralphloop/ralph/examples/openai

go 1.26.0

require (
	github.com/openai/openai-go/v3 v3.90.0
	github.com/ralphloop/ralph v0.0.0
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/oklog/ulid/v2 v2.1.2 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/tidwall/gjson v1.19.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	mvdan.cc/sh/v3 v3.14.1 // indirect
)

replace github.com/ralphloop/ralph => ../..
