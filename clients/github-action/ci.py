"""Runs xstate in a CI job and shows its results where the CI shows results.

usage: python3 ci.py "run FILE… | test … | evidence OF…"

The argument is a command line of xstate. The exit code is that of xstate. The store is .xstate in the working
directory. GitHub gets annotations and a summary of the job, GitLab a report of code quality, any other place lines
FILE:LINE: MESSAGE. evidence writes evidence.json, and evidence.intoto.json where XSTATE_KEY holds a key in PEM. XSTATE
is the path of the program.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

XSTATE = os.environ.get("XSTATE") or "xstate"
COMMON = ["--no-server", "--store", ".xstate"]  # a server would hold the store while the CI saves it


class Problem:
    """What failed, and where: file and line may be None."""

    def __init__(self, file, line, message):
        self.file, self.line, self.message = file and in_repository(file), line, message.strip()

    def text(self):
        return ":".join(str(part) for part in (self.file, self.line, " " + self.message) if part).strip()

    def github(self):
        place = [f"file={escaped(self.file, ':,')}"] if self.file else []
        place += [f"line={self.line}"] if self.line else []
        return f"::error {','.join(place)}::{escaped(self.message)}"

    def gitlab(self):
        return {
            "description": self.message,
            "check_name": "xstate",
            "fingerprint": hashlib.sha256(self.text().encode()).hexdigest(),
            "severity": "major",
            "location": {"path": self.file or ".xstate", "lines": {"begin": self.line or 1}},
        }


def escaped(text, also=""):
    """The text as commands of GitHub's runner hold it."""
    for sign in "%\r\n" + also:
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text


def in_repository(file):
    """The path by which the CI knows a file of the working directory."""
    top = os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or "."
    return os.path.relpath(os.path.realpath(file), os.path.realpath(top))


def found(file, session):
    """The path of a file of the program, from the working directory. It is None for a file of a library."""
    for folder in ("", os.path.dirname(session)):  # tests of a session are named from its folder
        path = os.path.relpath(os.path.join(folder, file))
        if os.path.isfile(path) and not path.startswith("..") and "site-packages" not in path:
            return path
    return None


def innermost(places, session, otherwise):
    """The last place in a file of the program. A place is a file and a line."""
    known = [(found(file, session), line) for file, line in places if line]
    return next((place for place in reversed(known) if place[0]), (found(otherwise, session), None))


def refused(document):
    """The problem of a command that did not run."""
    return [Problem(None, None, document["error"]["message"])] if "error" in document else []


def run(args):
    """Runs a program, shows its output as it comes, and returns exit code, document and problems."""
    process = subprocess.Popen([XSTATE, "run", "--json-lines", *COMMON, *args], stdout=subprocess.PIPE, text=True)
    document, text = {}, ""
    assert process.stdout
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "output":
            text = event["output"].get("text") or event["output"].get("data", {}).get("text/plain", "")
            print(text, end="", flush=True)
        document = event.get("result") or event
    if text and not text.endswith("\n"):
        print()
    program = document.get("session", "")
    problems = refused(document)
    for block in document.get("blocks", []):
        error = block["error"]
        if error:
            places = ((frame["file"], frame.get("line")) for frame in error.get("frames", []))
            file, line = innermost(places, program, program)
            where = f"block {block['id']}" + (f", line {error['line']}" if error.get("line") and not line else "")
            problems.append(Problem(file, line, f"{error['type']}: {error['message']} ({where})"))
    for d in document.get("verified", {}).get("differences", []):
        have, want = (" ".join(d[side].split()) for side in ("have", "want"))
        where = f" of block {d['block']}" if d.get("block") else ""  # none in what the interpreter alone prints
        message = f"{d['what']}{where} differs from a run from scratch: {have}, not {want}"
        problems.append(Problem(found(program, program), None, message))
    return process.wait(), document, problems


PLACE = re.compile(r'^(?:\s*File "([^"<]+)", line (\d+)|([^\s:]+):(\d+):)', re.M)


def test(args):
    """Runs tests, shows the reports of those that failed, and returns exit code, document and problems."""
    done = subprocess.run([XSTATE, "test", "--json", *COMMON, *args], stdout=subprocess.PIPE, text=True)
    document = json.loads(done.stdout or "{}")
    session = document.get("session", "")
    problems = refused(document)
    for t in document.get("tests", []):
        if t["status"] != "would-run" and t["outcome"] not in ("passed", "skipped", "xfailed", "xpassed"):
            report = t.get("text", "")
            print(f"{t['id']}  {t['outcome']}\n{report}\n")
            places = ((m[1] or m[3], int(m[2] or m[4])) for m in PLACE.finditer(report))
            file, line = innermost(places, session, t["id"].split("::")[0])
            problems.append(Problem(file, line, f"{t.get('message') or t['outcome']} ({t['id']})"))
    return done.returncode, document, problems


def evidence(args):
    """Writes what a result depends on, signed where there is a key. Returns the exit code."""
    command = [XSTATE, "evidence", *COMMON, *args]
    with open("evidence.json", "w") as out:
        code = subprocess.run([*command, "--json"], stdout=out).returncode
    key = os.environ.get("XSTATE_KEY")
    if code or not key:
        return code
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(key.strip() + "\n")
        file.flush()
        return subprocess.run([*command, "--key", file.name, "--out", "evidence.intoto.json", "--force"]).returncode


def summary(document):
    """One sentence about a run."""
    if "ran" not in document:
        return "nothing ran"
    counts = ("ran", "reused", "failed", "blocked")
    said = ", ".join(f"{name} {document[name]}" for name in counts if document.get(name) or name in counts[:2])
    said += f"; {document['seconds']:.2f} s, {max(0, document['saved_seconds']):.2f} s saved"
    if "verified" in document:
        said += f"; {'equal' if document['verified']['equal'] else 'NOT equal'} to a run from scratch"
    return said


def report(command, document, problems):
    """Shows results in the way of this CI."""
    for p in problems:
        print(p.github() if os.environ.get("GITHUB_ACTIONS") else p.text())
    print(f"xstate {command}: {summary(document)}")
    if "GITHUB_STEP_SUMMARY" in os.environ:
        with open(os.environ["GITHUB_STEP_SUMMARY"], "a") as out:
            items = "".join(f"- {p.text().splitlines()[0]}\n" for p in problems)
            out.write(f"### xstate {command}\n\n{summary(document)}\n\n{items}\n")
    if os.environ.get("GITLAB_CI"):
        with open("gl-code-quality-report.json", "w") as out:
            json.dump([p.gitlab() for p in problems], out)


def main(command):
    verb, *args = shlex.split(command) or [""]
    if verb == "evidence":
        return evidence(args)
    if verb not in ("run", "test"):
        sys.exit(f'ci.py: there is no command "{verb}"; want run, test or evidence')
    code, document, problems = run(args) if verb == "run" else test(args)
    report(command, document, problems)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
