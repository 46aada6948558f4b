package patch

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       ParseError // without Name
	}{
		{"a.py", "x = 1\n\x00\n", ParseError{CodeBinary, "", "the file is binary: byte 6 is NUL",
			"give the source, not a compiled or packed file", 2}},
		{"a.py", "\xff\xfex\x00", ParseError{CodeEncoding, "", "the file is UTF-16", hintUTF8, 0}},
		{"a.py", "", ParseError{CodeEmpty, "", "the file is empty", "write a statement or a code cell and run it again",
			0}},
		{"a.py", "\ufeff \n", ParseError{CodeEmpty, "", "the file is empty",
			"write a statement or a code cell and run it again", 0}},
		{"a.py", "# only\n# comments\n", ParseError{CodeEmpty, "", "there is no code in this file",
			"write a statement or a code cell and run it again", 0}},
		{"a.py", "# %% [markdown]\n# text\n", ParseError{CodeEmpty, "", "there is no code in this file",
			"write a statement or a code cell and run it again", 0}},
		{"a.py", "x = 1\ny = 'a\xe9'\n", ParseError{CodeEncoding, "", "the file is not UTF-8: byte 12 is 0xe9",
			hintUTF8, 2}},
		{"a.py", "# coding: latin-1\ny = 'a\xe9'\n", ParseError{CodeEncoding, "",
			"the file is not UTF-8: byte 24 is 0xe9, and the file declares \"latin-1\"", hintUTF8, 2}},
		{"a.py", "#!/usr/bin/python\n# -*- coding: latin-1 -*-\ny = 'é'\n",
			ParseError{CodeEncoding, "", "the file declares the encoding \"latin-1\", but xstate reads UTF-8",
				hintUTF8 + " and remove the declaration", 2}},
		{"a.py", "# coding=utf-7\nx = 1\n", ParseError{CodeEncoding, "",
			"the file declares the encoding \"utf-7\", but xstate reads UTF-8",
			hintUTF8 + " and remove the declaration", 1}},
		{"a.R", "x", ParseError{CodeUnsupported, "", "no reader for .r files",
			"give a .py, .ipynb, .md, .js, .ts or .sh file", 0}},
		{"Makefile", "x", ParseError{CodeUnsupported, "",
			"the file has no extension, and its content is of no known kind",
			"give a .py, .ipynb, .md, .js, .ts or .sh file", 0}},
		{"a.ipynb", "{\n \"cells\": [,]\n}", ParseError{CodeNotebook, "",
			"the notebook is not valid JSON: line 2, column 12: invalid character ',' looking for beginning of value",
			"save it again in Jupyter, or restore the file from version control", 2}},
		{"a.ipynb", "{\n \"cells\": [\n", ParseError{CodeNotebook, "",
			"the notebook is not valid JSON: line 3, column 1: unexpected end of JSON input",
			"save it again in Jupyter, or restore the file from version control", 3}},
		{"a.ipynb", "{\"cells\": [\n<<<<<<< HEAD\n]}", ParseError{CodeNotebook, "",
			"the notebook is not valid JSON: line 2, column 1: invalid character '<' looking for beginning of value",
			"resolve the merge conflict in the file", 2}},
		{"a.ipynb", "[]", ParseError{CodeNotebook, "", "the file is JSON, but not a notebook: it has no nbformat",
			"save it in Jupyter as nbformat 4", 0}},
		{"a.ipynb", `{"nbformat": 9}`, ParseError{CodeNotebook, "", "nbformat 9 is not known",
			"save it in Jupyter as nbformat 4", 0}},
		{"a.ipynb", `{"nbformat": 4}`, ParseError{CodeNotebook, "", "the notebook has no list of cells",
			"save it in Jupyter as nbformat 4", 0}},
		{"a.ipynb", `{"nbformat": 3}`, ParseError{CodeEmpty, "", "there is no code in this file",
			"write a statement or a code cell and run it again", 0}},
		{"a.ipynb", "{\"nbformat\": 4, \"cells\": [{},\n 1]}",
			ParseError{CodeNotebook, "", "cell 2 of the notebook is not an object", "save it in Jupyter as nbformat 4",
				2}},
		{"a.ipynb", `{"nbformat": 4, "cells": [{"cell_type": "code", "source": 1}]}`,
			ParseError{CodeNotebook, "", "cell 1 of the notebook has a source that is neither a string nor a list of " +
				"strings",
				"save it in Jupyter as nbformat 4", 1}},
		{"a.ipynb", `{"nbformat": 4, "cells": [], "metadata": {"kernelspec": {"language": "R"}}}`,
			ParseError{CodeLanguage, "", "the notebook is written in R, which xstate does not run",
				"choose a kernel of Python, JavaScript, TypeScript or Bash, and save the notebook again", 0}},
		{"a.ipynb", `{"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", ` +
			`"language": "ruby", "input": "x"}]}]}`,
			ParseError{CodeLanguage, "", "the notebook is written in ruby, which xstate does not run",
				"choose a kernel of Python, JavaScript, TypeScript or Bash, and save the notebook again", 0}},
		{"a.md", "# T\n\n```fish\nls\n```\n\n```r\n```\n\n```fish\n```\n",
			ParseError{CodeEmpty, "", "there is no fenced code of a known language in this file (found: fish, r)",
				"start a fence with ```python, ```js, ```ts or ```bash", 0}},
		{"a.md", "    x = 1\n", ParseError{CodeEmpty, "", "there is no fenced code of a known language in this file",
			"start a fence with ```python, ```js, ```ts or ```bash", 0}},
	} {
		_, err := Parse(c.name, []byte(c.text))
		var got *ParseError
		if !errors.As(err, &got) {
			t.Errorf("Parse(%s, %q) = %v, want a *ParseError", c.name, c.text, err)
			continue
		}
		c.want.Name = c.name
		if d := cmp.Diff(c.want, *got); d != "" {
			t.Errorf("Parse(%s, %q) (-want +got):\n%s", c.name, c.text, d)
		}
	}
}

func TestErrorText(t *testing.T) {
	_, err := Parse("dir/a.py", []byte("x\n\x00"))
	if got, want := err.Error(), "dir/a.py:2: the file is binary: byte 2 is NUL"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

// A declared encoding does not matter for a file whose bytes all encodings read alike.
func TestHarmlessCookies(t *testing.T) {
	for _, c := range []string{"latin-1", "iso-8859-15", "ascii", "cp1252", "UTF8", "utf-8-unix", "utf_8", "koi8-r"} {
		mustParse(t, "a.py", "# -*- coding: "+c+" -*-\nx = 1\n")
	}
	mustParse(t, "a.py", "x = 1\n# coding: latin-1\ny = 'é'\n") // behind code it is a comment
}

func TestGuess(t *testing.T) {
	for text, want := range map[string]Kind{
		"#!/usr/bin/env python3\nx = 1\n":  KindScript,
		"#!/usr/bin/python\n# %%\nx = 1\n": KindCells,
		strings.TrimSpace(v4):              KindNotebook,
	} {
		for _, name := range []string{"run", "", ".hidden", "a.b/run"} {
			p, err := Parse(name, []byte(text))
			if err != nil || p.Kind != want {
				t.Errorf("Parse(%q, %.20q) = %v, %v, want a %s", name, text, p, err, want)
			}
		}
	}
}
