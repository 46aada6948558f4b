package verb

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/wording"
)

// fill gives each field of a value something that is not zero, as far as depth.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth-1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() && v.Type().Field(i).Tag.Get("json") != "-" {
				fill(f, depth-1)
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.Set(reflect.ValueOf(json.RawMessage(`{"a":1}`)))
		} else if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), depth-1)
		}
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(3)
	case reflect.Float64:
		v.SetFloat(1.5)
	}
}

// TestRequestsCross: each request is the same on the other side of a socket.
func TestRequestsCross(t *testing.T) {
	for _, r := range requests {
		fill(reflect.ValueOf(r).Elem(), 4)
		wire, err := Pack(Call{Request: r, Store: "/s", Door: wording.API})
		if err != nil {
			t.Fatal(err)
		}
		got, err := wire.Unpack()
		if d := cmp.Diff(r, got); err != nil || d != "" {
			t.Errorf("%T (-want +got, %v):\n%s", r, err, d)
		}
	}
	if r, err := (&Wire{Type: "Nothing"}).Unpack(); r != nil || err == nil {
		t.Errorf("Unpack of an unknown type = %v, %v, want an error", r, err)
	}
}

// TestDocumentsCross: each document is written, after it crossed a socket, as it was before.
func TestDocumentsCross(t *testing.T) {
	for _, d := range documents {
		for depth := range 8 {
			value := reflect.New(reflect.TypeOf(d))
			fill(value.Elem(), depth)
			want, err := json.Marshal(value.Interface())
			if err != nil {
				t.Fatalf("%T: %v", d, err)
			}
			var events []api.Event
			r := &Reader{Event: func(e api.Event) { events = append(events, e) }}
			w := Writer{To: r}
			w.Event(api.Event{Event: "begin"})
			if err := w.End(value.Interface(), nil); err != nil {
				t.Fatal(err)
			}
			answer, failed := r.End()
			if failed != nil {
				t.Errorf("%T: %+v", d, failed)
				continue
			}
			got, err := json.Marshal(answer)
			if diff := cmp.Diff(string(want), string(got)); err != nil || diff != "" || len(events) != 1 {
				t.Errorf("%T, %d events (-want +got, %v):\n%s", d, len(events), err, diff)
			}
		}
	}
}

// TestFailuresCross: an error crosses whole, and an operation that ends without an answer fails.
func TestFailuresCross(t *testing.T) {
	want := &api.Error{}
	fill(reflect.ValueOf(want).Elem(), 8)
	r := &Reader{}
	if err := (Writer{To: r}).End(nil, want); err != nil {
		t.Fatal(err)
	}
	answer, failed := r.End()
	was, _ := json.Marshal(want)
	is, _ := json.Marshal(failed)
	if answer != nil || string(was) != string(is) {
		t.Errorf("End = %v, %s; want %s", answer, is, was)
	}
	for _, text := range []string{"", "garbage\n", `{"type":"Nothing","answer":{}}` + "\n", `{"answer":`} {
		r := &Reader{}
		_, _ = r.Write([]byte(text))
		if answer, failed := r.End(); answer != nil || failed == nil || failed.Code != api.CodeInternal {
			t.Errorf("End after %q = %v, %v, want an internal error", text, answer, failed)
		}
	}
}

// TestRequestsAreListed: the list of requests is complete.
func TestRequestsAreListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "requests.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var named, listed []string
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "Verb" {
			named = append(named, f.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name)
		}
	}
	for _, r := range requests {
		listed = append(listed, typeOf(r).Name())
	}
	slices.Sort(named)
	slices.Sort(listed)
	if d := cmp.Diff(named, listed); d != "" {
		t.Errorf("requests (-there +listed):\n%s", d)
	}
}

func TestAs(t *testing.T) {
	if d := As[api.Log](api.Log{Session: "s"}); d == nil || d.Session != "s" {
		t.Errorf("As of a value = %v", d)
	}
	if d := As[api.Log](&api.Log{Session: "s"}); d == nil || d.Session != "s" {
		t.Errorf("As of a pointer = %v", d)
	}
	if d := As[api.Log](api.Run{}); d != nil {
		t.Errorf("As of another document = %v, want nil", d)
	}
}
