"""Makes varied notebooks, and compares what Jupyter and xstate wrote into them. See .ci/notebooks.

usage: judge.py make FOLDER; judge.py compare MADE JUPYTER OWN
"""

import json
import pathlib
import re
import sys

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

FRAME = "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2, 3], 'b': ['x', 'é', '<z>']})\n"
BOOKS = {  # name: (cells, how the file is written)
    "plain": (["x = 1\nprint('hé', x)", "x + 1", "", "print('a')\n'last'"], {}),
    "colab": ([FRAME + "df", "df.describe()", "display(df, 'text')\ndf['a']"], {"indent": 2, "sort_keys": False}),
    "tabs": (
        ["import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", "fig, ax = plt.subplots()"],
        {"indent": "\t"},
    ),
    "ascii": (["def f(x):\n    return 1 / x", "print('é before')\nf(0)", "print('after')"], {"ensure_ascii": True}),
    "short": (["1;", "# only a comment", "print('no line end', end='')"], {"indent": None, "separators": (",", ":")}),
    "crlf": (
        ["for i in range(3):\n    print(i)\n    display(i)", "import sys\nprint('e', file=sys.stderr)"],
        {"crlf": True},
    ),
    "no-end": (["import numpy as np\nnp.arange(10)", "np.eye(2)", "import pandas as pd\npd.DataFrame(np.zeros((2, 21)))"], {"no_end": True}),
    "values": (["[1, 2, 3]", "{'b': 1, 'a': 2}", "'text'", "None", "(1,)", "1.5, 2j, b'x'", "'a\\nb'", "{3, 1, 2}"], {}),
    "last": (
        ["rows = [1]", "len(rows)", "", "rows", "None", "print(_, __)", "_2 + 1", "7;", "_, _4, ___", "_ is _8"],
        {},
    ),
    "rich": (
        [
            "class Rich:\n    def __repr__(self): return 'rich'\n    def _repr_html_(self): return '<b>x</b>'\n"
            "    def _repr_latex_(self): return '$x$'\nRich()",
            "class Media:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
            "        return {'text/plain': 'media', 'text/html': '<i>b</i>'}\nMedia()",
        ],
        {},
    ),
    "sympy": (
        [
            "from sympy import *\nx, y = symbols('x y')\nf = Function('f')",
            "x**2 + 1",
            "init_printing()",
            "Rational(3, 2)*pi + exp(I*x) / (x**2 + y)",
            "[x, y**2, sqrt(2)]",
            "[1, 2.5, 'a']",
            "{x: 1, y: [x, x**3]}",
            "Matrix([[1, x], [y, 2]])",
            "display(x**2)\nprint(x**2)",
            "Eq(f(x).diff(x), f(x))",
            "solve(x**2 - 2, x)",
            "3.14159, 5, True",
            "series(cos(x), x, 0, 6)",
            "init_printing(use_latex=False)",
            "x**2 / y",
            "init_printing(pretty_print=False)",
            "x**2 / y",
        ],
        {},
    ),
    "formatters": (
        [
            "ip = get_ipython()\ntext = ip.display_formatter.formatters['text/plain']\n"
            "before = text.for_type(int, lambda n, p, cycle: p.text('int %d' % n))",
            "[1, (2, 3), {4: 5}]",
            "class Point:\n    def __init__(self, a): self.a = a\n    def __repr__(self): return f'Point({self.a})'\n"
            "html = ip.display_formatter.formatters['text/html']\nhtml.for_type(Point, lambda p: f'<b>{p.a}</b>')",
            "Point(3)",
            "[Point(1)]",
            "html.for_type_by_name('datetime', 'date', lambda d: '<i>%s</i>' % d)\nimport datetime",
            "datetime.date(2020, 1, 2)",
            "%precision 3",
            "[3.14159, 2.0], 2.0",
            "text.pop(int) is not None, int in text",
            "class Below(Point): pass\nBelow(2)",
            "class Media:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
            "        return {'text/plain': 'media', 'text/html': '<i>m</i>'}\n"
            "    def _repr_latex_(self): return '$m$'\nMedia()",
            "html.for_type(Media, lambda m: '<u>other</u>')\nMedia()",
            "sorted(ip.display_formatter.format(Point(4))[0].items())",
        ],
        {},
    ),
    "ipython": (
        [
            "from IPython.display import HTML, JSON, Image, Latex, Markdown, SVG, display, publish_display_data",
            "display(HTML('<b>x</b>'), 'text')",
            "display(Markdown('*x*'))\nprint('after')",
            "JSON({'a': [1, 2]})",
            "SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>')",
            "display({'text/plain': 'P', 'text/html': '<i>H</i>'}, raw=True)",
            "publish_display_data({'text/plain': 'Q'})",
            "Latex('$x$')",
        ],
        {},
    ),
}


def make(folder):
    folder.mkdir(parents=True)
    for name, (sources, style) in BOOKS.items():
        cells = [new_markdown_cell("# %s\n\nTëxt with a picture", attachments={"a.png": {"image/png": "iVBORw0KGgo="}})]
        cells += map(new_code_cell, sources)
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        book = new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})
        options = {"indent": 1, "sort_keys": True, "ensure_ascii": False, **style}
        crlf, no_end = options.pop("crlf", False), options.pop("no_end", False)
        text = json.dumps(book, **options) + ("" if no_end else "\n")
        (folder / (name + ".ipynb")).write_bytes(text.replace("\n", "\r\n" if crlf else "\n").encode())


def said(cell):
    """Returns the outputs of a cell, without what must differ: pixels, colours, and how tracebacks name a cell."""
    found = []
    for output in map(dict, cell.outputs):
        output.pop("metadata", None)
        if "data" in output:  # the text of a wide frame fits the terminal; pandas wraps it under Jupyter
            frame = 'class="dataframe"' in output["data"].get("text/html", "")
            unlike = {"image/png"} | ({"text/plain"} if frame else set())
            output["data"] = {k: k if k in unlike else v for k, v in output["data"].items()}
        if "traceback" in output:
            output["traceback"] = re.sub(r"\x1b\[[0-9;]*m", "", output["traceback"][-1])
        if found and output["output_type"] == "stream" and found[-1].get("name") == output["name"]:
            found[-1]["text"] += output["text"]
        else:
            found.append(output)
    return found


def without_results(text):
    """Returns a notebook without what --write may change, and its layout."""
    book = json.loads(text)
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return book, b"\r\n" in text, text.endswith(b"\n"), text.isascii()


def compare(made, jupyter, own):
    cells = bad = 0
    for path in sorted(made.glob("*.ipynb")):
        was, now = path.read_bytes(), (own / path.name).read_bytes()
        if without_results(was) != without_results(now):
            bad += 1
            print("%s: more than results changed" % path.name)
        theirs, ours = nbformat.read(jupyter / path.name, 4), nbformat.read(own / path.name, 4)
        nbformat.validate(ours)
        for i, (a, b) in enumerate(zip(theirs.cells, ours.cells, strict=True)):
            if a.cell_type != "code":
                continue
            cells += 1
            if (said(a), a.execution_count) != (said(b), b.execution_count):
                bad += 1
                print("%s, cell %d\n  Jupyter %s %s\n  xstate  %s %s" % (
                    path.name, i, a.execution_count, said(a), b.execution_count, said(b)))
    if not cells:
        sys.exit("no cells were compared")
    print("%d cells of %d notebooks, %d differ" % (cells, len(BOOKS), bad))
    sys.exit(bad > 0)


{"make": make, "compare": compare}[sys.argv[1]](*map(pathlib.Path, sys.argv[2:]))
