package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/verb"
)

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

// stepFlag is a flag that is a step, which may be 0.
type stepFlag struct{ step **xstate.StepNumber }

func (s stepFlag) Set(text string) error {
	n, err := parseStep(text)
	*s.step = &n
	return err
}

func (s stepFlag) String() string { return "" }
func (s stepFlag) Type() string   { return "step" }

// stepOr0 is a step, or 0 where none is given.
func stepOr0(step *xstate.StepNumber) xstate.StepNumber {
	if step == nil {
		return 0
	}
	return *step
}

// stepNumber is a flag that is a step; 0 is none.
type stepNumber struct{ step *xstate.StepNumber }

func (s stepNumber) Set(text string) (err error) { *s.step, err = parseStep(text); return err }
func (s stepNumber) String() string              { return "" }
func (s stepNumber) Type() string                { return "step" }

// countFlag is a flag that is a number, which may be 0.
type countFlag struct{ n **int }

func (c countFlag) Set(text string) error {
	n, err := strconv.Atoi(text)
	*c.n = &n
	return err
}

func (c countFlag) String() string { return "" }
func (c countFlag) Type() string   { return "int" }

// countOr is a number that may be missing, at least 0.
func countOr(n *int, usual int) int {
	if n == nil {
		return usual
	}
	return max(*n, 0)
}

// momentFlags adds the flags for a place in the history of a session.
func momentFlags(cmd *cobra.Command, m *verb.Moment) {
	cmd.Flags().Var(stepFlag{&m.AtStep}, "at-step", "the program after step `N` (default: the last)")
	cmd.Flags().StringVar(&m.At, "at", "", "the program at a `TIME`, such as 2026-11-20T10:00")
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
