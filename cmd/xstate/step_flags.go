package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
)

// stepFlags is a place in the history of a session; the zero value is its last step.
type stepFlags struct {
	step optionalStep
	time string
}

// optionalStep is the number of a step, which may be 0, or none.
type optionalStep struct {
	given bool
	n     xstate.StepNumber
}

func (s *optionalStep) Set(text string) error {
	n, err := parseStep(text)
	s.n, s.given = n, err == nil
	return err
}

func (s *optionalStep) String() string { return "" }
func (s *optionalStep) Type() string   { return "step" }

func parseStep(text string) (xstate.StepNumber, error) {
	var n xstate.StepNumber
	if _, err := fmt.Sscanf(text+";", "%d;", &n); err != nil {
		return 0, &usageError{
			err:  fmt.Errorf("%q is not the number of a step", text),
			hint: "`xstate log` lists the steps",
		}
	}
	return n, nil
}

func (m *stepFlags) flags(cmd *cobra.Command) {
	cmd.Flags().Var(&m.step, "at-step", "the program after step `N` (default: the last)")
	cmd.Flags().StringVar(&m.time, "at", "", "the program at a `TIME`, such as 2026-11-20T10:00")
}

// timeForms are how a time may be written, with the unit of its last digit.
var timeForms = []struct {
	layout string
	unit   time.Duration
}{
	{
		time.RFC3339Nano,
		time.Nanosecond,
	}, {"2006-01-02T15:04:05.999999999", time.Nanosecond}, {"2006-01-02T15:04:05", time.Second},
	{
		"2006-01-02T15:04",
		time.Minute,
	}, {"2006-01-02 15:04:05", time.Second}, {"2006-01-02 15:04", time.Minute}, {"2006-01-02", 24 * time.Hour},
}

// parseTime reads a time, in this machine's time zone if it names none. It means its end, so that the time that log
// shows of a step, which is cut, finds that step: 10:00 is until 10:01, a date is until midnight.
func parseTime(text string, zone *time.Location) (time.Time, error) {
	for _, f := range timeForms {
		t, err := time.ParseInLocation(f.layout, text, zone)
		if err != nil {
			continue
		}
		if f.unit == time.Nanosecond && t.Nanosecond() == 0 {
			f.unit = time.Second
		}
		if f.unit == 24*time.Hour {
			return t.AddDate(0, 0, 1).Add(-time.Nanosecond), nil
		}
		return t.Add(f.unit - time.Nanosecond), nil
	}
	return time.Time{}, &usageError{
		err:  fmt.Errorf("%q is not a time", text),
		hint: "write it as 2026-11-20T10:00, 2026-11-20T10:00:00Z or 2026-11-20",
	}
}

func isNumber(text string) bool {
	_, err := parseStep(text)
	return err == nil
}
