package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/telemetry"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
)

// printer words documents for people. It neither opens nor changes anything.
type printer struct {
	caller
	ui     *term.UI
	places *places // in the program that a verb shows; nil: not known
}

// app is what the verbs share.
type app struct {
	printer
	call          serve.Call
	asks          verb.Request     // what another door asks; nil: the command line calls
	tools         []journal.Source // that the caller offers the program
	server        *serve.Server    // that carries the call out; nil: it is this process's own
	lease         *serve.Lease     // the lease of a session of the server
	noticesBefore int              // what the store had noted before
	// usedServed: the call used the store that the server has open
	usedServed bool
	forwarded  atomic.Bool                    // a server has the call
	alone      bool                           // --no-server
	doer       func(*serve.Server) serve.Doer // carries out calls in this process
	exported   *telemetry.Telemetry           // what runs do; nil: nothing is
	runs       bool                           // what openWith opens is run
	ends       bool                           // the verb runs a program to its end
	bounds     bounding
	// mayBegin reports, by verb, whether a call may make a store: nothing is made where nothing can run.
	mayBegin map[string]func(args []string) error
	parsed   bool                        // a verb was found, and its flags and arguments are in order
	store    string                      // --store
	session  string                      // --session, or the argument that names it
	naming   func(session string) string // the present command with a session named
	family   bool                        // without --session: any one will do, where all share a past
	wait     time.Duration
}

// patience is a time to wait. No time at all is -1, because 0 means the usual time.
type patience time.Duration

func (p *patience) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("want a duration such as 30s or 10m")
	}
	if *p = patience(d); d == 0 {
		*p = -1
	}
	return nil
}

func (p *patience) String() string { return "" }

func (p *patience) Type() string { return "duration" }

// bounding is what a verb says of the bounds of what it executes.
type bounding struct {
	asked    levelFlag    // --sandbox
	record   choice       // --record-network
	standard policy.Level // where neither files nor session say more; "": off
	budgets  budgetFlag   // --budget
	executes bool         // what openWith opens is executed or planned, so it is bounded
}

// budgetFlag is limits on what a run spends: usd=1.50,calls=50.
type budgetFlag []policy.Budget

func (f *budgetFlag) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		name, amount, _ := strings.Cut(part, "=")
		b, err := policy.ParseBudget(strings.TrimSpace(name), strings.TrimSpace(amount))
		if err != nil {
			return errors.New("want limits such as usd=1.50, tokens=100000, calls=50, calls.search=10, wall=10m, " +
				"cpu=5m or executions=200, with commas between them")
		}
		b.At = policy.Place{File: "--budget"}
		*f = append(*f, b)
	}
	return nil
}

func (f *budgetFlag) String() string { return "" }
func (f *budgetFlag) Type() string   { return "budget" }

// levelFlag is a level of bounds.
type levelFlag policy.Level

func (l *levelFlag) Set(text string) error {
	level, ok := policy.ParseLevel(text)
	if !ok {
		return errors.New("want " + policy.Levels())
	}
	*l = levelFlag(level)
	return nil
}

func (l *levelFlag) String() string { return "" }
func (l *levelFlag) Type() string   { return "level" }

// helpOf is the way to the help of a verb.
func helpOf(cmd *cobra.Command) string { return "`" + cmd.CommandPath() + " --help`" }

// takes checks the number of arguments and names what is missing or too much.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		hint := helpOf(cmd) + " shows an example"
		if example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n"); example != "" {
			hint = "for example: `" + example + "`"
		}
		switch {
		case len(args) < least:
			return &usageError{err: fmt.Errorf("%s needs %s", cmd.CommandPath(), what), hint: hint}
		case len(args) > most && most == 0:
			return &usageError{
				err:  fmt.Errorf("%s takes no argument, but was given %q", cmd.CommandPath(), args[0]),
				hint: hint,
			}
		case len(args) > most:
			return &usageError{
				err:  fmt.Errorf("%s takes %s and no more, but was given %q, too", cmd.CommandPath(), what, args[most]),
				hint: hint,
			}
		}
		return nil
	}
}

// choice is a flag that may be given as true or false, or not at all.
type choice struct{ made *bool }

func (c *choice) Set(text string) error {
	made, err := strconv.ParseBool(text)
	c.made = &made
	return err
}

func (c *choice) String() string { return "" }
func (c *choice) Type() string   { return "bool" }
