package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/xstate-engine/xstate/api/xstate/v1"
)

const folder = "../../../api/xstate/v1/"

// TestDocumentsAreUpToDate: the messages are those of the Go types, and so are the types of the clients.
func TestDocumentsAreUpToDate(t *testing.T) {
	all, err := servedMessages()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]func([]byte) []byte{
		protoFile:      all.File,
		pythonFile:     func([]byte) []byte { return all.Python() },
		typeScriptFile: func([]byte) []byte { return all.TypeScript() },
	} {
		present, err := os.ReadFile("../../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(present), string(text(present))); d != "" {
			t.Errorf("%s is not what the Go types say; run make generate (-have +want):\n%s", name, d)
		}
	}
}

// TestTypes: a field that may be absent or null says so, and one may be named like a word of Python.
func TestTypes(t *testing.T) {
	all := messages{
		"A": {name: "A", fields: []field{{"id", "string", false, false}, {"error", "B", false, true},
			{"marks", "repeated string", true, false}, {"code", "optional int32", true, false}}},
		"B": {name: "B", fields: []field{{"from", "A", true, false}, {"data", "map<string, string>", false, false}}},
	}
	want := pythonHead + `

class A(TypedDict):
    id: str
    error: B | None
    marks: NotRequired[list[str]]
    code: NotRequired[int]


B = TypedDict(
    "B",
    {
        "from": NotRequired["A"],
        "data": "dict[str, str]",
    },
)
`
	if d := cmp.Diff(want, string(all.Python())); d != "" {
		t.Errorf("Python() (-want +got):\n%s", d)
	}
	want = typeScriptHead + `
export interface A {
  id: string;
  error: B | null;
  marks?: string[];
  code?: number;
}

export interface B {
  from?: A;
  data: Record<string, string>;
}
`
	if d := cmp.Diff(want, string(all.TypeScript())); d != "" {
		t.Errorf("TypeScript() (-want +got):\n%s", d)
	}
}

// TestGeneratedCodeIsUpToDate compares the files with the descriptors in the generated code: names, types, numbers.
func TestGeneratedCodeIsUpToDate(t *testing.T) {
	for _, name := range []string{"documents.proto", "services.proto"} {
		text, err := os.ReadFile(folder + name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := protoregistry.GlobalFiles.FindFileByPath("xstate/v1/" + name)
		if err != nil {
			t.Fatal(err)
		}
		written, compiled := declared(string(text)), described(file)
		if len(written) < 40 {
			t.Errorf("%s declares %d things, want more", name, len(written))
		}
		if d := cmp.Diff(written, compiled); d != "" {
			t.Errorf("the Go code is not that of %s; run make generate (-written +compiled):\n%s", name, d)
		}
	}
}

var (
	declaredMessage = regexp.MustCompile(`^message (\w+) `)
	declaredService = regexp.MustCompile(`^service (\w+) `)
	declaredField   = regexp.MustCompile(`^ +(?:optional )?(repeated )?([\w.]+|map<.*>) (\w+) = (\d+);`)
	declaredMethod  = regexp.MustCompile(`^ +rpc (\w+)\((\w+)\) returns \((stream )?(?:\.xstate\.v1\.)?(\w+)\)`)
	noSideEffects   = "option idempotency_level = NO_SIDE_EFFECTS;"
)

// declared lists the fields and methods of a file, by their full names.
func declared(text string) map[string]string {
	all := map[string]string{}
	var in, method string
	for line := range strings.Lines(text) {
		if m := declaredMessage.FindStringSubmatch(line); m != nil {
			in = m[1]
		} else if m := declaredService.FindStringSubmatch(line); m != nil {
			in = m[1]
		} else if m := declaredField.FindStringSubmatch(line); m != nil {
			all[in+"."+m[3]] = fmt.Sprint(m[4], " ", m[1], m[2])
		} else if m := declaredMethod.FindStringSubmatch(line); m != nil {
			method = in + "." + m[1]
			all[method] = m[2] + " " + m[3] + m[4]
		} else if strings.Contains(line, noSideEffects) {
			all[method] += " reads"
		}
	}
	return all
}

// described lists the same of a file's descriptor.
func described(file protoreflect.FileDescriptor) map[string]string {
	all := map[string]string{}
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			kind := kindOf(f)
			switch {
			case f.IsMap():
				kind = "map<" + kindOf(f.MapKey()) + ", " + kindOf(f.MapValue()) + ">"
			case f.IsList():
				kind = "repeated " + kind
			}
			all[string(m.Name())+"."+string(f.Name())] = fmt.Sprint(f.Number(), " ", kind)
		}
	}
	for i := range file.Services().Len() {
		s := file.Services().Get(i)
		for j := range s.Methods().Len() {
			m := s.Methods().Get(j)
			text := string(m.Input().Name()) + " "
			if m.IsStreamingServer() {
				text += "stream "
			}
			text += string(m.Output().Name())
			if strings.Contains(fmt.Sprint(m.Options()), "NO_SIDE_EFFECTS") {
				text += " reads"
			}
			all[string(s.Name())+"."+string(m.Name())] = text
		}
	}
	return all
}

func kindOf(f protoreflect.FieldDescriptor) string {
	if f.Message() == nil {
		return f.Kind().String()
	}
	return strings.TrimPrefix(string(f.Message().FullName()), "xstate.v1.")
}

// TestNumbersAreKept: a field keeps its number when others come and go, and no number is used twice.
func TestNumbersAreKept(t *testing.T) {
	present := []byte("message M {\n  reserved 2;\n  string a = 1;\n  int32 b = 4;\n  repeated string gone = 7;\n}\n")
	m := message{name: "M", fields: []field{{name: "fresh", kind: "double"}, {name: "b", kind: "int32"},
		{name: "a", kind: "string"}, {name: "more", kind: "bool"}}}
	var b bytes.Buffer
	m.write(&b, numbersIn(present)["M"])
	want := `message M {
  reserved 2;
  reserved 7;
  double fresh = 8;
  int32 b = 4;
  string a = 1;
  bool more = 9;
}
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("message (-want +got):\n%s", d)
	}
}
