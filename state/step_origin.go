package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Origin records who made a step, with what and why. All fields are optional.
type Origin struct {
	Agent  string            `cbor:"agent,omitempty" json:"agent,omitempty"`
	Model  string            `cbor:"model,omitempty" json:"model,omitempty"`
	CallID string            `cbor:"call,omitempty" json:"call_id,omitempty"` // the model call that produced the step
	Action string            `cbor:"action,omitempty" json:"action,omitempty"`
	Reason string            `cbor:"reason,omitempty" json:"reason,omitempty"`
	Labels map[string]string `cbor:"labels,omitempty" json:"labels,omitempty"`

	Author Author `cbor:"author,omitempty" json:"author,omitempty"`
	// Client: the program that submitted it, such as an editor
	Client string `cbor:"client,omitempty" json:"client,omitempty"`
	Prompt string `cbor:"prompt,omitempty" json:"prompt_digest,omitempty"` // digest of the prompt
	// Answers: the step or failure that it responds to
	Answers     *Answer `cbor:"answers,omitempty" json:"answers,omitempty"`
	TraceParent string  `cbor:"traceparent,omitempty" json:"trace_parent,omitempty"` // W3C Trace Context
	// TokensIn: tokens that the call read; see WithoutCost
	TokensIn  int64   `cbor:"in,omitempty" json:"tokens_in,omitempty"`
	TokensOut int64   `cbor:"out,omitempty" json:"tokens_out,omitempty"` // tokens that the call produced
	Cost      Dollars `cbor:"cost,omitempty" json:"cost_usd,omitempty"`  // the call's
	// Unknown: fields of a JSON origin that this version does not know, unchanged
	Unknown Fields `cbor:"unknown,omitempty" json:"-"`
}

// Author distinguishes a person from a program.
type Author string

// The authors; "" means not known.
const (
	Human   Author = "human"
	Machine Author = "machine"
)

// Answer names what a step responds to: a step and, if it responds to a failure, the block that failed in it.
type Answer struct {
	Step  StepNumber `cbor:"step" json:"step"`
	Block BlockID    `cbor:"block,omitempty" json:"block,omitempty"`
}

// String returns the form that flags accept: 12 or clean@12.
func (a *Answer) String() string {
	switch {
	case a == nil:
		return ""
	case a.Block == "":
		return fmt.Sprint(a.Step)
	}
	return fmt.Sprintf("%s@%d", a.Block, a.Step)
}

// Fields are JSON values by name.
type Fields map[string]json.RawMessage

// Dollars is an amount in billionths of a US dollar, in JSON a number of dollars. Integers add up exactly, and one
// token may cost as little as a billionth.
type Dollars int64

const perDollar = 1_000_000_000

var amount = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,32})?([eE][-+]?[0-9]{1,2})?$`)

// ParseDollars parses a decimal number of dollars, such as 0.0125. It truncates below a billionth.
func ParseDollars(text string) (Dollars, error) {
	if amount.MatchString(text) {
		if r, ok := new(big.Rat).SetString(text); ok {
			r.Mul(r, big.NewRat(perDollar, 1))
			if n := new(big.Int).Quo(r.Num(), r.Denom()); n.IsInt64() {
				return Dollars(n.Int64()), nil
			}
		}
	}
	return 0, fmt.Errorf("%q is not an amount of dollars", text)
}

// Dollars returns the amount as a number of dollars, rounded to a float64.
func (d Dollars) Dollars() float64 { return float64(d) / perDollar }

// String returns the number of dollars without trailing zeros.
func (d Dollars) String() string {
	text := big.NewRat(int64(d), perDollar).FloatString(9)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// MarshalJSON writes a JSON number.
func (d Dollars) MarshalJSON() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalJSON reads a JSON number.
func (d *Dollars) UnmarshalJSON(data []byte) (err error) {
	*d, err = ParseDollars(string(data))
	return err
}

// originFields are the fields of an Origin without its methods, so that encoding/json treats them as a plain struct.
type originFields Origin

var originFieldNames = func() map[string]bool {
	names := map[string]bool{}
	t := reflect.TypeFor[originFields]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names[name] = true
	}
	return names
}()

// MarshalJSON writes one object: the known fields, then the unknown ones by name.
func (o Origin) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(originFields(o)); err != nil {
		return nil, err
	}
	data := bytes.TrimSuffix(out.Bytes(), []byte("}\n"))
	for _, name := range slices.Sorted(maps.Keys(o.Unknown)) {
		if originFieldNames[name] {
			continue // the field itself was written already
		}
		if len(data) > 1 {
			data = append(data, ',')
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		data = append(append(append(data, quoted...), ':'), o.Unknown[name]...)
	}
	return append(data, '}'), nil
}

// UnmarshalJSON merges an object into the origin: a field that the object lacks keeps its value. Unknown fields are
// stored unchanged, so that a newer client loses nothing through an older store.
func (o *Origin) UnmarshalJSON(data []byte) error {
	var fields Fields
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if err := json.Unmarshal(data, (*originFields)(o)); err != nil {
		return err
	}
	o.Unknown = maps.Clone(o.Unknown)
	for name, value := range fields {
		if originFieldNames[name] {
			continue
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil {
			return err
		}
		if o.Unknown == nil {
			o.Unknown = Fields{}
		}
		o.Unknown[name] = compact.Bytes()
	}
	return nil
}

// WithoutCost is the origin of a second step of the same model call. It has no tokens and cost, so that sums over
// steps count each call once.
func (o Origin) WithoutCost() Origin {
	o.TokensIn, o.TokensOut, o.Cost = 0, 0, 0
	return o
}

// empty reports whether no field is set. An empty map or label set counts as unset.
func (o *Origin) empty() bool {
	plain := *o
	if len(o.Labels) == 0 {
		plain.Labels = nil
	}
	if len(o.Unknown) == 0 {
		plain.Unknown = nil
	}
	return reflect.ValueOf(plain).IsZero()
}

// traceParent is a header of W3C Trace Context, version 00.
var traceParent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// Check returns an error if a field has an invalid value.
func (o *Origin) Check() error {
	switch {
	case o.Author != "" && o.Author != Human && o.Author != Machine:
		return fmt.Errorf("an author is human or machine, not %q", o.Author)
	case o.TokensIn < 0 || o.TokensOut < 0 || o.Cost < 0:
		return fmt.Errorf("tokens and cost are not negative")
	case o.TraceParent != "" && !traceParent.MatchString(o.TraceParent):
		return fmt.Errorf(
			"%q is not a traceparent, such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
			o.TraceParent,
		)
	}
	return nil
}
