package model_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
	"github.com/ralphloop/ralph/model"
)

// The standard scenarios, as seen by a client that retries: temporary faults are waited for,
// permanent ones are returned.
func TestStandardScenarios(t *testing.T) {
	type outcome struct {
		Kind  model.FaultKind // "": a reply
		Waits int
	}
	for scenario, want := range map[string]outcome{
		"text": {}, "thinking": {}, "empty": {}, "500-once": {Waits: 1}, "429-once": {Waits: 1}, "limit-short": {Waits: 1},
		"cut-once": {Waits: 1},
		"401":      {Kind: auth}, "403": {Kind: auth}, "limit": {Kind: limit}, "429": {Kind: limit, Waits: 7},
		"500": {Kind: provider, Waits: 7}, "529": {Kind: provider, Waits: 7},
		"cut": {Kind: provider, Waits: 7}, "error-event": {Kind: provider, Waits: 7}, "no-such-scenario": {Kind: refused},
	} {
		// Each format has a separate server, so that faults that occur once occur for both.
		eachWire(t, func(t *testing.T, w wireFormat) {
			own, err := scriptedmodel.Listen("127.0.0.1:0", scriptedmodel.New(scriptedmodel.Standard()))
			if err != nil {
				t.Fatal(err)
			}
			defer own.Close()
			var got outcome
			client := &model.Retrier{
				Client:  w.connect(own.URL()+"/"+scenario, limits{}),
				OnPause: func(model.Pause) { got.Waits++ },
				Sleep:   func(context.Context, time.Duration) error { return nil },
			}
			reply, err := client.Send(t.Context(), ask, nil)
			if fault, ok := errors.AsType[*model.Fault](err); ok {
				got.Kind = fault.Kind
			} else if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", scenario, diff)
			}
			if reply.Empty() != (want.Kind != "" || scenario == "empty") {
				t.Errorf("%s: %+v", scenario, reply)
			}
		})
	}
}
