package patch

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/patch/syntax"
)

const v4 = `{
 "cells": [
  {"cell_type": "markdown", "metadata": {}, "source": ["# T"]},
  {
   "cell_type": "code",
   "id": "a1-b2",
   "execution_count": 3,
   "metadata": {"x-unknown": [1.50, "é"]},
   "outputs": [{"output_type": "stream", "name": "stdout", "text": ["{\"source\": 1}"]}],
   "source": [
    "%matplotlib inline\n",
    "x = \"é\""
   ]
  },
  {"cell_type": "code", "id": "empty", "source": [" \n"], "outputs": []},
  {"cell_type": "raw", "source": "raw"},
  {"cell_type": "code", "id": "a1-b2", "source": "def load():\n    pass\n", "metadata": {}},
  {"cell_type": "code", "source": null},
  {"cell_type": "code", "metadata": {"name": "named"}, "source": "y = 2"},
  {"cell_type": "code", "source": "#@title Form { run: \"auto\" }\nz = (3"}
 ],
 "metadata": {"kernelspec": {"language": "python", "name": "python3"}},
 "nbformat": 4, "nbformat_minor": 5
}
`

func TestNotebook(t *testing.T) {
	p := mustParse(t, "a.ipynb", v4)
	want := []Block{
		{ID: "a1-b2", Dialect: syntax.IPython, Source: "%matplotlib inline\nx = \"é\"", Line: 11},
		{Title: "load", Dialect: syntax.IPython, Source: "def load():\n    pass\n", Line: 17},
		{Title: "named", Dialect: syntax.IPython, Source: "y = 2", Line: 19},
		{Title: "Form", Dialect: syntax.IPython, Source: "#@title Form { run: \"auto\" }\nz = (3", Line: 20},
	}
	if d := cmp.Diff(want, p.Blocks); d != "" {
		t.Errorf("blocks (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]int{1, 4, 6, 7}, p.Cells); d != "" || p.Kind != KindNotebook {
		t.Errorf("%s, cells (-want +got):\n%s", p.Kind, d)
	}
}

func TestOldNotebook(t *testing.T) {
	p := mustParse(t, "a.ipynb", "\ufeff"+`{"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, `+
		`"worksheets": [
{"cells": [{"cell_type": "heading", "level": 1, "source": ["T"]},
{"cell_type": "code", "collapsed": false, "input": ["x = 1\n", "x"], "language": "python", "outputs": []},
{"cell_type": "code", "input": "y", "language": "ruby"}]},
{"cells": [{"cell_type": "code", "input": "z = 2"}]}]}`)
	want := []Block{
		{Dialect: syntax.IPython, Source: "x = 1\nx", Line: 3},
		{Dialect: syntax.IPython, Source: "z = 2", Line: 5},
	}
	if d := cmp.Diff(want, p.Blocks); d != "" {
		t.Errorf("blocks (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]int{1, 3}, p.Cells); d != "" {
		t.Errorf("cells (-want +got):\n%s", d)
	}
}

func TestLanguages(t *testing.T) {
	for metadata, ok := range map[string]bool{
		`{}`:                                     true,
		`{"kernelspec": {"name": "my-env"}}`:     true,
		`{"kernelspec": {"language": "Python"}}`: true,
		`{"language_info": {"name": "ipython"}}`: true,
		`{"language_info": {"name": "python", "version": "3.12"}, "kernelspec": {"language": "sage"}}`: true,
		`{"kernelspec": {"language": "R", "name": "ir"}}`:                                              false,
		`{"language_info": {"name": "julia"}}`:                                                         false,
		`[]`:                                                                                           true,
	} {
		_, err := Parse("a.ipynb",
			[]byte(`{"nbformat": 4, "cells": [{"cell_type": "code", "source": "x"}], "metadata": `+metadata+`}`))
		if (err == nil) != ok {
			t.Errorf("Parse with metadata %s = %v, want ok = %t", metadata, err, ok)
		}
	}
}
