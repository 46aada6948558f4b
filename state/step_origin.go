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

// Origin tells who made a step, by what and why. All fields are optional.
type Origin struct {
	Agent  string            `cbor:"agent,omitempty" json:"agent,omitempty"`
	Model  string            `cbor:"model,omitempty" json:"model,omitempty"`
	CallID string            `cbor:"call,omitempty" json:"call_id,omitempty"` // the call of the model that answered with it
	Action string            `cbor:"action,omitempty" json:"action,omitempty"`
	Reason string            `cbor:"reason,omitempty" json:"reason,omitempty"`
	Labels map[string]string `cbor:"labels,omitempty" json:"labels,omitempty"`

	Author      Author  `cbor:"author,omitempty" json:"author,omitempty"`
	Client      string  `cbor:"client,omitempty" json:"client,omitempty"`            // the program that it came through, such as an editor
	Prompt      string  `cbor:"prompt,omitempty" json:"prompt_digest,omitempty"`     // digest of what the model was asked
	Answers     *Answer `cbor:"answers,omitempty" json:"answers,omitempty"`          // what it is an answer to
	TraceParent string  `cbor:"traceparent,omitempty" json:"trace_parent,omitempty"` // W3C Trace Context
	TokensIn    int64   `cbor:"in,omitempty" json:"tokens_in,omitempty"`             // that the call took; see Further
	TokensOut   int64   `cbor:"out,omitempty" json:"tokens_out,omitempty"`           // that the call gave
	Cost        Dollars `cbor:"cost,omitempty" json:"cost_usd,omitempty"`            // of the call
	Unknown     Fields  `cbor:"unknown,omitempty" json:"-"`                          // fields of a JSON origin that have no other place, as they were
}

// Author tells a person from a program.
type Author string

// The authors there are; "" where it is not known.
const (
	Human   Author = "human"
	Machine Author = "machine"
)

// Answer names what a step answers: a step and, where that is a failure, the block that failed in it.
type Answer struct {
	Step  StepNumber `cbor:"step" json:"step"`
	Block BlockID    `cbor:"block,omitempty" json:"block,omitempty"`
}

// String writes an answer as flags take it: 12 or clean@12.
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

// Dollars is an amount in billionths of a US dollar: amounts add up exactly, and a token may cost that little.
// In JSON it is a number of dollars.
type Dollars int64

const perDollar = 1_000_000_000

var amount = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,32})?([eE][-+]?[0-9]{1,2})?$`)

// ParseDollars reads a decimal number of dollars, such as 0.0125. What is finer than a billionth is cut off.
func ParseDollars(text string) (Dollars, error) {
	if amount.MatchString(text) {
		if r, ok := new(big.Rat).SetString(text); ok {
			r.Mul(r, big.NewRat(perDollar, 1))
			if n := new(big.Int).Quo(r.Num(), r.Denom()); n.IsInt64() {
				return Dollars(n.Int64()), nil
			}
		}
	}
	return 0, fmt.Errorf("%q is no amount of dollars", text)
}

// Dollars returns the amount as a number of dollars, about.
func (d Dollars) Dollars() float64 { return float64(d) / perDollar }

// String writes the number of dollars without needless zeros.
func (d Dollars) String() string {
	text := big.NewRat(int64(d), perDollar).FloatString(9)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// MarshalJSON writes a number.
func (d Dollars) MarshalJSON() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalJSON reads a number.
func (d *Dollars) UnmarshalJSON(data []byte) (err error) {
	*d, err = ParseDollars(string(data))
	return err
}

// known are the fields of an Origin that have a name in JSON.
type known Origin

var knownFields = func() map[string]bool {
	names := map[string]bool{}
	t := reflect.TypeFor[known]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names[name] = true
	}
	return names
}()

// MarshalJSON writes one object: the known fields, then the others by name.
func (o Origin) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(known(o)); err != nil {
		return nil, err
	}
	data := bytes.TrimSuffix(out.Bytes(), []byte("}\n"))
	for _, name := range slices.Sorted(maps.Keys(o.Unknown)) {
		if knownFields[name] {
			continue // a later version knows it, or it was put there by hand
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

// UnmarshalJSON reads an object over what is there: a field that it does not name stays. Fields that it names and nobody
// knows are kept as they are.
func (o *Origin) UnmarshalJSON(data []byte) error {
	var fields Fields
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if err := json.Unmarshal(data, (*known)(o)); err != nil {
		return err
	}
	o.Unknown = maps.Clone(o.Unknown)
	for name, value := range fields {
		if knownFields[name] {
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

// Further is the origin of a second step of the same call: without what the call cost, so that sums over steps are sums
// over calls.
func (o Origin) WithoutCost() Origin {
	o.TokensIn, o.TokensOut, o.Cost = 0, 0, 0
	return o
}

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

// Check tells what is wrong with an origin.
func (o *Origin) Check() error {
	switch {
	case o.Author != "" && o.Author != Human && o.Author != Machine:
		return fmt.Errorf("an author is human or machine, not %q", o.Author)
	case o.TokensIn < 0 || o.TokensOut < 0 || o.Cost < 0:
		return fmt.Errorf("tokens and cost are not negative")
	case o.TraceParent != "" && !traceParent.MatchString(o.TraceParent):
		return fmt.Errorf("%q is no traceparent, such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", o.TraceParent)
	}
	return nil
}
