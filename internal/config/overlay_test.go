package config

import (
	"reflect"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
)

func TestSettingsOfIsTheInverseOfPolicy(t *testing.T) {
	policy := ralph.DefaultPolicy()
	policy.MaxTime, policy.MaxCost, policy.MaxTokens = ralph.Span(time.Hour), 2.5, 1000
	policy.AllowUnverified, policy.CallsPerHour, policy.IterationDelay = true, 7, ralph.Span(time.Second)
	policy.StatusPhrases, policy.Breaker.Cooldown = []string{"all good"}, ralph.Span(time.Minute)
	if got := settingsOf(policy).Policy(); !reflect.DeepEqual(got, policy) {
		t.Errorf("settingsOf(p).Policy() = %+v, want %+v", got, policy)
	}
}

func TestPolicyOverlayChangesOnlyWhatIsSet(t *testing.T) {
	overlay, err := PolicyOverlay([]string{"gate.unfinished=refuse", "breaker.no_progress=1"})
	if err != nil {
		t.Fatal(err)
	}
	want := ralph.DefaultPolicy()
	got := overlay(want)
	want.Unfinished, want.Breaker.NoProgress = ralph.UnfinishedRefuse, 1
	if !reflect.DeepEqual(got, want) {
		t.Errorf("overlay = %+v, want %+v", got, want)
	}
}

func TestPolicyOverlayRefusesWhatHasNoEffect(t *testing.T) {
	for _, pair := range []string{"agent.model=x", "gate.unfinished=perhaps", "gate.nope=1"} {
		if _, err := PolicyOverlay([]string{pair}); err == nil {
			t.Errorf("PolicyOverlay(%q) = nil error, want a refusal", pair)
		}
	}
}
