package patch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// notebookStyles are the ways in which programs write notebooks: Jupyter, Colab, tabs, one line, CRLF, without a last
// line end.
var notebookStyles = map[string]func(string) string{
	"one space":  func(s string) string { return s },
	"two spaces": func(s string) string { return strings.ReplaceAll(s, "\t", "  ") },
	"tabs":       func(s string) string { return s },
	"CRLF":       func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	"BOM":        func(s string) string { return syntax.BOM + s },
	"no end":     func(s string) string { return strings.TrimSuffix(s, "\n") },
	"one line": func(s string) string {
		return strings.NewReplacer("\n", "", "\t", "", ": ", ":").Replace(s)
	},
}

// TestWithResults: results are written as the rest of the file is, and all else keeps its bytes.
func TestWithResults(t *testing.T) {
	const file = "{\n\t\"nbformat\": 4,\n\t\"cells\": [\n\t\t{\n\t\t\t\"cell_type\": \"code\",\n\t\t\t" +
		"\"source\": \"1\",\n\t\t\t\"outputs\": %s,\n\t\t\t\"execution_count\": %s\n\t\t}\n\t],\n" +
		"\t\"metadata\": {}\n}\n"
	const shown = "[\n\t\t\t\t{\n\t\t\t\t\t\"name\": \"stdout\",\n\t\t\t\t\t\"output_type\": \"stream\",\n" +
		"\t\t\t\t\t\"text\": [\n\t\t\t\t\t\t\"é😀\\u0001\\n\"\n\t\t\t\t\t]\n\t\t\t\t}\n\t\t\t]"
	result := func(int) CellResult {
		return CellResult{Count: 7, Outputs: []any{
			map[string]any{"output_type": "stream", "name": "stdout", "text": []string{"é😀\x01\n"}}}}
	}
	for name, style := range notebookStyles {
		before, after := style(fmt.Sprintf(file, "[]", "null")), style(fmt.Sprintf(file, shown, "7"))
		if name == "one space" {
			before, after = strings.ReplaceAll(before, "\t", " "), strings.ReplaceAll(after, "\t", " ")
		}
		for _, from := range []string{before, after} {
			p, err := Parse("a.ipynb", []byte(from))
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.WithResults(result)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(after, string(got)); d != "" {
				t.Errorf("%s (-want +got):\n%s", name, d)
			}
		}
	}
}

// TestResultsThatSayTheSame: another wording of the same results is left as it is.
func TestResultsThatSayTheSame(t *testing.T) {
	now := []any{
		map[string]any{"output_type": "stream", "name": "stdout", "text": []string{"a\n", "b\n"}},
		map[string]any{"output_type": "execute_result", "execution_count": 1, "metadata": map[string]any{},
			"data": map[string]any{"text/plain": []string{"x\n", "y"}, "image/png": "iVBO"}},
		map[string]any{"output_type": "error", "ename": "E", "evalue": "v", "traceback": []string{"p", "q"}},
	}
	const result = `, {"output_type": "execute_result", "execution_count": 1, "metadata": {"image/png": {"width": 2}},
		"data": {"text/plain": "x\ny", "image/png": "iVBO\n"}}`
	const failure = `, {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["p\nq"]}`
	const first = `{"output_type": "stream", "name": "stdout", "text": "a\n"}, `
	const second = `{"output_type": "stream", "name": "stdout", "text": "b\n"}`
	for text, same := range map[string]bool{
		first + second + result + failure: true,
		second + result + failure:         false,
		first + second + result:           false,
		first + strings.Replace(second, "stdout", "stderr", 1) + result + failure:                              false,
		first + second + strings.Replace(result, `count": 1`, `count": 2`, 1) + failure:                        false,
		first + second + strings.Replace(result, "iVBO", "iVBP", 1) + failure:                                  false,
		first + second + result + strings.Replace(failure, `"v"`, `"w"`, 1):                                    false,
		first + second + strings.Replace(result, `"text/plain"`, `"text/html": "", "text/plain"`, 1) + failure: false,
	} {
		file := `{"nbformat": 4, "cells": [{"cell_type": "code", "source": "1", "execution_count": 1, "outputs": [` +
			text + `]}]}`
		p, err := Parse("a.ipynb", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.WithResults(func(int) CellResult { return CellResult{Count: 1, Outputs: now} })
		if err != nil {
			t.Fatal(err)
		}
		if (string(got) == file) != same {
			t.Errorf("WithResults of %s left it = %v, want %v", text, !same, same)
		}
	}
}

// TestEscapes: a file of ASCII stays one.
func TestEscapes(t *testing.T) {
	const file = `{"nbformat": 4, "cells": [{"cell_type": "code", "source": "'\u00e9'", "execution_count": null, ` +
		`"outputs": []}]}`
	p, err := Parse("a.ipynb", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.WithResults(func(int) CellResult {
		return CellResult{Outputs: []any{"é😀\"\\"}}
	})
	if want := strings.Replace(file, "[]", `["\u00e9\ud83d\ude00\"\\"]`, 1); err != nil || string(got) != want {
		t.Errorf("WithResults = %s, %v; want %s", got, err, want)
	}
}
