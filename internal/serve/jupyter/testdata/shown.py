"""What cells show, in a form in which two runs compare, and why two runs may differ."""

import base64
import re
import struct

# What JupyterLab prefers to show, first to last.
_MEDIA = ("text/html", "image/svg+xml", "image/png", "image/jpeg", "text/latex", "text/markdown", "text/plain")

# What no two processes have in common.
_NEVER_EQUAL = (
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"\b0x[0-9a-f]{6,}"), "0xADDRESS"),
    (re.compile(r"/tmp/ipykernel_\d+/\d+\.py"), "<ipykernel>"),
    (re.compile(r"\bsk-(container|estimator)-id-\d+"), r"sk-\1-id"),  # scikit-learn counts what it displays
)
# A cell as the file of a warning: ipykernel and xstate name it each in their own way.
_CELL = re.compile(r"<ipykernel>|<cell-\d+>|<c\d+>")
# IPython words some of these in its own way, and adds file and line, which xstate has in the traceback.
_SYNTAX = re.compile(r"(SyntaxError|IndentationError|TabError|_IncompleteInputError): .*", re.DOTALL)

NOT_EXECUTED = "NotExecuted"  # the error of a cell below one that failed, in xstate


def clean(text, folder):
    text = text.replace(folder, "FOLDER")
    for pattern, instead in _NEVER_EQUAL:
        text = pattern.sub(instead, text)
    return text


def pixels(png):
    """A picture without its texts: matplotlib writes its version there, which xstate drops."""
    data = base64.b64decode(png)
    at, kept = 8, []
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind = data[at + 4 : at + 8]
        if kind not in (b"tEXt", b"iTXt", b"zTXt"):
            kept.append(data[at + 4 : at + 8 + size])
        at += size + 12
    return b"".join(kept)


def shown(outputs, folder):
    """The outputs of a cell as (kind, content), neighbouring texts of one stream as one."""
    found = []
    for o in outputs:
        if o["output_type"] == "stream":
            text = clean(o["text"], folder)
            if found and found[-1][0] == o["name"]:
                text = found.pop()[1] + text
            found.append((o["name"], text))
        elif o["output_type"] == "error":
            found.append(("error", clean(f"{o['ename']}: {o['evalue']}", folder)))
        else:
            media = next((m for m in _MEDIA if m in o["data"]), None) or min(o["data"], default="")
            content = "".join(o["data"].get(media, ""))
            found.append((media, pixels(content) if media == "image/png" else clean(content, folder)))
    return found


def failed(outputs):
    return any(kind == "error" and not text.startswith(NOT_EXECUTED) for kind, text in outputs)


class Differences:
    """Cells of xstate that show something else than cells of ipykernel, with the rules that explain it.

    varies says of the index of a cell whether ipykernel itself shows something else in another run, state what xstate
    says of the cell: volatile or blocked.
    """

    def __init__(self, have, want, varies, state=lambda i: ""):
        self.explained = {}  # rules, by the indices of cells
        self.wrong = []  # indices of cells
        for i, (mine, theirs) in enumerate(zip(have, want)):
            if mine == theirs:
                continue
            above = any(failed(h) and failed(w) for h, w in zip(have[:i], want[:i]))
            if _without_files(mine) == _without_files(theirs):
                self.explained[i] = "file"
            elif _without_returns(mine) == _without_returns(theirs):
                self.explained[i] = "terminal"
            elif failed(theirs) and _as_errors(mine) == _as_errors(theirs):
                self.explained[i] = "error"
            elif _is_syntax(mine) and _is_syntax(theirs):
                self.explained[i] = "syntax"
            elif above and (state(i) == "blocked" or _is_blocked(mine)):
                self.explained[i] = "blocked"
            elif _kinds(mine) == _kinds(theirs) and varies(i):
                self.explained[i] = "varies"
            elif _kinds(mine) == _kinds(theirs) and state(i) == "volatile":
                self.explained[i] = "volatile"
            else:
                self.wrong.append(i)


def _kinds(outputs):
    return [kind for kind, _ in outputs]


def _is_blocked(outputs):
    return bool(outputs) and outputs[-1][0] == "error" and outputs[-1][1].startswith(NOT_EXECUTED)


def _as_errors(outputs):
    """The outputs without their order, each once, and with printed exceptions as errors."""
    found = set()
    for kind, content in outputs:
        if kind == "stderr" and content.startswith("Traceback"):
            kind, content = "error", content.rstrip().splitlines()[-1]
        found.add((kind, content))
    return found


def _is_syntax(outputs):
    return len(outputs) == 1 and outputs[0][0] == "error" and _SYNTAX.fullmatch(outputs[0][1]) is not None


def _without_files(outputs):
    return [(kind, _CELL.sub("", text) if isinstance(text, str) else text) for kind, text in outputs]


def _without_returns(outputs):
    return [(kind, text.replace("\r\n", "\n") if isinstance(text, str) else text) for kind, text in outputs]
