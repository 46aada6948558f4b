package main

import (
	"testing"
	"time"
)

// TestParseTime: a time means its end, to the unit that it is written in.
func TestParseTime(t *testing.T) {
	defer func(l *time.Location) { time.Local = l }(time.Local)
	time.Local = time.FixedZone("here", 2*60*60)
	for text, want := range map[string]string{
		"2026-11-20":                     "2026-11-20T21:59:59.999999999Z",
		"2026-11-20T10:00":               "2026-11-20T08:00:59.999999999Z",
		"2026-11-20 10:00":               "2026-11-20T08:00:59.999999999Z",
		"2026-11-20 10:00:05":            "2026-11-20T08:00:05.999999999Z",
		"2026-11-20T10:00:05":            "2026-11-20T08:00:05.999999999Z",
		"2026-11-20T10:00:05Z":           "2026-11-20T10:00:05.999999999Z",
		"2026-11-20T10:00:05+01:00":      "2026-11-20T09:00:05.999999999Z",
		"2026-11-20T10:00:05.25":         "2026-11-20T08:00:05.25Z",
		"2026-11-21T11:44:28.726705013Z": "2026-11-21T11:44:28.726705013Z",
	} {
		got, err := parseTime(text, time.Local)
		if err != nil || got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("parseTime(%s) = %s, %v, want %s", text, got.UTC().Format(time.RFC3339Nano), err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "10:00", "2026-13-01", "2026-11-20T25:00"} {
		if got, err := parseTime(text, time.Local); err == nil {
			t.Errorf("parseTime(%q) = %s, want an error", text, got)
		}
	}
}
