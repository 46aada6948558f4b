package state

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fullOrigin() Origin {
	return Origin{
		Agent:       "coder",
		Model:       "m/1",
		CallID:      "c1",
		Action:      "fix",
		Reason:      "why",
		Labels:      map[string]string{"task": "7"},
		Author:      Machine,
		Client:      "editor",
		Prompt:      "sha256:ab",
		Answers:     &Answer{Step: 12, Block: "clean"},
		TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		TokensIn:    1200,
		TokensOut:   80,
		Cost:        12_500_000,
		Unknown:     Fields{"seed": json.RawMessage(`7`), "run": json.RawMessage(`{"deep":[1,null,"é"]}`)},
	}
}

// TestOrigin: no field is lost in a record or in JSON, and empty looks at every field.
func TestOrigin(t *testing.T) {
	full := fullOrigin()
	v := reflect.ValueOf(full)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("fullOrigin has no %s", v.Type().Field(i).Name)
		}
		var one Origin
		reflect.ValueOf(&one).Elem().Field(i).Set(v.Field(i))
		if one.empty() {
			t.Errorf("an origin with %s alone counts as empty", v.Type().Field(i).Name)
		}
	}
	if o := (Origin{Labels: map[string]string{}, Unknown: Fields{}}); !o.empty() {
		t.Errorf("%+v does not count as empty", o)
	}
	var got Origin
	if err := decode(encode(full), &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(full, got); d != "" {
		t.Errorf("record (-want +got):\n%s", d)
	}
	data, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	got = Origin{}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(full, got); d != "" {
		t.Errorf("JSON %s (-want +got):\n%s", data, d)
	}
	if err := json.Unmarshal([]byte(`{"agent":"other","seed":8}`), &got); err != nil {
		t.Fatal(err)
	}
	full.Agent, full.Unknown = "other", Fields{"seed": json.RawMessage(`8`), "run": full.Unknown["run"]}
	if d := cmp.Diff(full, got); d != "" {
		t.Errorf("JSON over it (-want +got):\n%s", d)
	}
	if data, _ := json.Marshal(Origin{Unknown: Fields{"a": json.RawMessage("1")}}); string(data) != `{"a":1}` {
		t.Errorf("JSON of an unknown field alone = %s", data)
	}
}

func TestOriginCheck(t *testing.T) {
	full := fullOrigin()
	if err := full.Check(); err != nil {
		t.Errorf("Check = %v", err)
	}
	for _, bad := range []Origin{
		{Author: "robot"}, {TokensIn: -1}, {TokensOut: -1}, {Cost: -1}, {TraceParent: "00-xyz"},
	} {
		if bad.Check() == nil {
			t.Errorf("Check of %+v finds nothing", bad)
		}
	}
}

func TestDollars(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "12": "12", "0.0125": "0.0125", "0.1000000001": "0.1", "3e-6": "0.000003",
		"999999999.999999999": "999999999.999999999",
	} {
		if d, err := ParseDollars(text); err != nil || d.String() != want {
			t.Errorf("ParseDollars(%q) = %v, %v, want %s", text, d, err, want)
		}
	}
	for _, text := range []string{"", "-1", "1/3", "0x10", "1e99", "many", "1e999999999", "NaN"} {
		if d, err := ParseDollars(text); err == nil {
			t.Errorf("ParseDollars(%q) = %v, want an error", text, d)
		}
	}
}
