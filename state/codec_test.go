package state

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python"
)

func TestDigestBinary(t *testing.T) {
	full := DigestOf([]byte("x"))
	seen := make(map[string]Digest)
	for _, d := range []Digest{
		"", full, "lineage", Digest(strings.Repeat("a", 30)), Digest(strings.Repeat("a", 31)),
		Digest(strings.Repeat("a", 32)), Digest(strings.ToUpper(string(full))), full + "00", full[:63],
	} {
		b, err := d.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[string(b)]; ok {
			t.Errorf("MarshalBinary(%q) = MarshalBinary(%q)", d, other)
		}
		seen[string(b)] = d
		var back Digest
		if err := back.UnmarshalBinary(b); err != nil || back != d {
			t.Errorf("UnmarshalBinary(MarshalBinary(%q)) = %q, %v", d, back, err)
		}
	}
}

func TestSealCoversPlace(t *testing.T) {
	value := seal([]byte("b"), []byte("key"), []byte("payload"))
	if got, err := unseal([]byte("b"), []byte("key"), value); err != nil || string(got) != "payload" {
		t.Fatalf("unseal = %q, %v", got, err)
	}
	for _, place := range [][2]string{{"b", "kex"}, {"c", "key"}, {"bk", "ey"}} {
		if _, err := unseal([]byte(place[0]), []byte(place[1]), value); err == nil {
			t.Errorf("unseal at %v succeeds", place)
		}
	}
	for i := range value {
		for bit := range 8 {
			value[i] ^= 1 << bit
			if _, err := unseal([]byte("b"), []byte("key"), value); err == nil {
				t.Errorf("unseal succeeds with bit %d of byte %d flipped", bit, i)
			}
			value[i] ^= 1 << bit
		}
	}
}

// fullBlock has every field set, so that a field that records drop is noticed.
func fullBlock() Block {
	was := DigestOf([]byte("1"))
	reason := Reason{Code: "input-changed", Key: "var:x", Was: was, Now: "lineage", By: "b1", Limit: 5}
	return Block{
		ID: "b", Title: "load", Dialect: python.IPython, Version: DigestOf([]byte("text")),
		Edited: 1, Status: StatusFailed, RanAt: 2, Waiting: true,
		Nodes: []NodeResult{
			{
				Code:    DigestOf([]byte("c")),
				Trace:   DigestOf([]byte("t")),
				Status:  StatusRan,
				Reason:  reason,
				Seconds: 0.1,
			},
		},
		Err: &ExecError{Type: "ValueError", Message: "bad", Traceback: []string{"line"}, Block: "b", Line: 3},

		Verified: 3,
	}
}

func fullTrace() Trace {
	return Trace{
		Code: DigestOf(
			[]byte("c"),
		), Reads: []Access{{"var:x", DigestOf([]byte("1"))}, {"var:y", Absent}}, Writes: []Access{{"var:z", "lineage"}},
		ReadAliases: []Alias{
			{"x@0", "y@1"},
		}, AliasSensitive: []string{"x"}, AliasesBefore: []Alias{{"x@0", "q@2"}}, AliasesAfter: []Alias{{"x@0", "z@0"}},
		BindOrder: []string{"z", "-q"}, FileOrder: []string{"b.txt", "a.txt"},
		Outputs: DigestOf(
			[]byte("out"),
		), Err: &ExecError{Type: "E"}, Ending: &Ending{Code: 3, Err: &ExecError{Type: "S"}}, Marks: []string{"clock"},
		CitedBlocks: []string{"<b>"}, CitedSource: DigestOf([]byte("l")), Limit: 5, Once: true,
		Bounds: DigestOf([]byte("b")), Denied: []Denial{{Action: "write", Target: "/x", Rule: "files.write"}},
		Seconds: 1.5, At: time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC),
		Info:  map[depgraph.Key]ValueInfo{"var:z": {Type: "int", Repr: "1", Shape: "()", Bytes: 28}},
		Paths: map[depgraph.Key]string{"module:m": "/m.py"},
		Trust: Trust{TierTrusted, "signer", true},
	}
}

func TestRecordsKeepEveryField(t *testing.T) {
	for _, v := range []any{
		fullBlock(), fullTrace(), Value{"j", []string{"a"}, "b", []Digest{"p"}, 3, []Need{{"k", "d"}}, 2,
			Trust{TierTrusted, "signer", true}},
	} {
		for i := range reflect.ValueOf(v).NumField() {
			if reflect.ValueOf(v).Field(i).IsZero() {
				t.Errorf("%T.%s is not set: set it in this test", v, reflect.TypeOf(v).Field(i).Name)
			}
		}
		back := reflect.New(reflect.TypeOf(v))
		if err := decode(encode(v), back.Interface()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(v, back.Elem().Interface()); diff != "" {
			t.Errorf("decode(encode(%T)): (-want +got)\n%s", v, diff)
		}
	}
}

// TestTraceIdentity holds that every field of a trace is part of its identity, or is one of those that are not.
func TestTraceIdentity(t *testing.T) {
	outside := map[string]string{
		"Seconds": "cost", "At": "cost", "Info": "describes what Writes names", "FileOrder": "times",
		"Trust": "who says so",
	}
	full := fullTrace()
	for i := range reflect.TypeOf(full).NumField() {
		name := reflect.TypeOf(full).Field(i).Name
		without := full
		reflect.ValueOf(&without).Elem().Field(i).SetZero()
		_, want := outside[name]
		if same := without.Identity() == full.Identity(); same != want {
			t.Errorf("Identity without %s is the same: %v, want %v", name, same, want)
		}
	}
}
