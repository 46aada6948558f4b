"""Commands of a shell as blocks of Bash: what adapters of sandboxes send to a session, and what they read of it.

A sandbox has a past: a command was executed once, on the files as they were. So each command is a new block at the end
of the program, and none corrects an earlier one. The pin `# xstate: never` keeps its result when its inputs change
later, as they do in a sandbox: `make` does not run again because a later command edits a source. The block begins with
a number that no other call has. Without it, a command that is asked for again could be served the result of the first
one, and `date` would show an old time where its reading of the clock cannot be observed.
"""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Iterator

from .._results import ExecResult

# How many characters of code a block has at most, less room for its frame. The engine takes a million.
_LIMIT = 900_000

BUDGET = 1_000_000  #: bytes of text of a result, at most
WHOLE = 100_000_000  #: the same for a file that is read

#: for the message of a command that is too long for a block
TOO_LONG = "the command is too long: write it to a file, in parts"

_END = re.compile(r"exit code (\d+)\n")


def fits(command: str) -> bool:
    """Reports whether a block can hold the command."""
    return len(command) <= _LIMIT


def shell(command: str, timeout: float | None) -> str:
    """Returns the command that executes a text as `bash -c` does, for at most some seconds, if any, then exits 124."""
    return f"{{ {limit(timeout)}bash -c {shlex.quote(command)} </dev/null; }} 2>&1"


def program(words: list[str], timeout: float | None) -> str:
    """Returns the command that executes a program with its arguments, in the same way."""
    return f"{limit(timeout)}{shlex.join(words)} </dev/null"


def limit(timeout: float | None) -> str:
    """Returns the words before a program that end it, and all that it started, after some seconds."""
    return f"timeout -k 5 {timeout:g} " if timeout else ""


def block(command: str, number: str) -> str:
    """Returns the code of the block of a command, or of a list of them. The number is that of the call."""
    return f'# xstate: never\n{{ : {number}; {command}; echo "exit code $?"; }}'


def unfinished(result: ExecResult) -> bool:
    """Reports whether the block did not come to its end, because a limit of the policy ended the command. It is to be
    taken back then: the next command would try it again. One that waits for a decision stays."""
    return result.status not in ("ran", "reused", "waiting") and not result.taken_back


def outcome(text: str) -> tuple[str, int | None]:
    """Returns what a command printed, and its exit code, from the text of a result. None: it did not end by itself.

    What the bounds denied is left out: it comes after the exit code, and programs read what a tool for files printed.
    """
    found = list(_END.finditer(text))
    return (text[: found[-1].start()], int(found[-1][1])) if found else (text, None)


def writes(path: str, data: bytes) -> Iterator[str]:
    """Yields commands that write a file, and make the folders that it needs. Each is to succeed before the next."""
    file = shlex.quote(path)
    made = f'mkdir -p -- "$(dirname -- {file})"'
    text = _text(data)
    if text is not None and fits(words := f"{{ {made} && printf %s {shlex.quote(text)} > {file}; }} 2>&1"):
        yield words
        return
    size = _LIMIT // 4 * 3 - len(file) - 3000
    for start in range(0, len(data), size):
        part = base64.b64encode(data[start : start + size]).decode()
        yield f"{{ {made} && printf %s {part} | base64 -d {'>>' if start else '>'} {file}; }} 2>&1"


def reads(path: str) -> str:
    """Returns the command that prints a file in base64."""
    return f"{{ base64 < {shlex.quote(path)}; }} 2>&1"


def _text(data: bytes) -> str | None:
    """Returns the text of a file that an argument of a command can hold; None if there is none."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
