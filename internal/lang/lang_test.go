package lang

import (
	"slices"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for dialect, want := range map[Dialect]string{
		"": "python", Python: "python", IPython: "python", JavaScript: "javascript", ESM: "javascript",
		TypeScript: "javascript", TSX: "javascript", Bash: "bash",
	} {
		if v, ok := Of(dialect); !ok || v.Language.Name != want {
			t.Errorf("Of(%q) = %+v, %v; want a dialect of %s", dialect, v, ok, want)
		}
	}
	if v, ok := Of("ruby"); ok {
		t.Errorf("Of(ruby) = %+v", v)
	}
}

func TestNamed(t *testing.T) {
	for name, want := range map[string]Dialect{
		"python": Python, " Python3 ": Python, "python3.12": Python, "py": Python, "ipython": IPython, "js": JavaScript,
		"mjs": ESM, "TypeScript": TypeScript, "jsx": TSX, "shell": Bash, "": "", "py2": "", "bash5": "", "ruby": "",
		"python3-x": "", "text": "",
	} {
		got := Dialect("")
		if v, ok := Named(name); ok {
			got = v.Dialect
		}
		if got != want {
			t.Errorf("Named(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestFiles(t *testing.T) {
	for ext, want := range map[string]Dialect{".PY": Python, ".mjs": ESM, ".jsx": TSX, ".bash": Bash} {
		if v, ok := WithExtension(ext); !ok || v.Dialect != want {
			t.Errorf("WithExtension(%q) = %+v, %v; want %s", ext, v, ok, want)
		}
	}
	if v, ok := WithExtension(".ipynb"); ok {
		t.Errorf("WithExtension(.ipynb) = %+v", v)
	}
	for dialect, want := range map[Dialect]string{IPython: ".py", TSX: ".tsx", Bash: ".sh"} {
		if v, _ := Of(dialect); v.Extension() != want {
			t.Errorf("the extension of %s is %q, want %q", dialect, v.Extension(), want)
		}
	}
	for program, want := range map[string]Dialect{
		"python3.11": Python, "ipython": Python, "deno": TypeScript, "dash": Bash,
	} {
		if v, ok := RunBy(program); !ok || v.Dialect != want {
			t.Errorf("RunBy(%q) = %+v, %v; want %s", program, v, ok, want)
		}
	}
	if v, ok := RunBy("perl"); ok {
		t.Errorf("RunBy(perl) = %+v", v)
	}
}

func TestCommented(t *testing.T) {
	for line, want := range map[string]string{"# a": "python", "// a": "javascript", "/* a": "", " # a": "", "": ""} {
		got := ""
		if l, ok := Commented(line); ok {
			got = l.Name
		}
		if got != want {
			t.Errorf("Commented(%q) = %q, want %q", line, got, want)
		}
	}
}

// TestRegisterRefuses: a row that lacks something, or repeats what another has.
func TestRegisterRefuses(t *testing.T) {
	row := func(change func(l *Language)) *Language {
		l := &Language{Name: "toy", Space: "toy", Comment: ";", Widest: "toy", Variants: []Variant{{
			Dialect: "toy", Names: []string{"toy"}, Extensions: []string{".toy"}, Kernel: Kernel{"Toy", "toy", "toy"}}}}
		change(l)
		return l
	}
	for want, change := range map[string]func(l *Language){
		"lacks its name":      func(l *Language) { l.Name = "" },
		"lacks its":           func(l *Language) { l.Comment = "" },
		"is not of this name": func(l *Language) { l.Variants[0].Dialect = "other" },
		"has no extension":    func(l *Language) { l.Variants[0].Extensions = nil },
		"no variant":          func(l *Language) { l.Widest = "wide" },
		"one name or space":   func(l *Language) { l.Space = SpaceJS },
		"both have .py":       func(l *Language) { l.Variants[0].Extensions = []string{".py"} },
		"both have sh":        func(l *Language) { l.Variants[0].Names = []string{"sh"} },
		"both have %%bash":    func(l *Language) { l.Variants[0].Magics = []string{"%%bash"} },
		"toy have no kernel":  func(l *Language) { l.Variants[0].Kernel = Kernel{} },
		"python and toy both": func(l *Language) { l.Variants[0].Names = []string{"py"} },
	} {
		x := newIndex()
		for _, l := range table {
			l.Variants = slices.Clone(l.Variants)
			if err := x.add(&l); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.add(row(change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Register says %v, want %q", err, want)
		}
	}
	if got := Dialects(); !slices.Equal(got, []Dialect{Python, IPython, JavaScript, ESM, TypeScript, TSX, Bash}) {
		t.Errorf("Dialects() = %q", got)
	}
}
