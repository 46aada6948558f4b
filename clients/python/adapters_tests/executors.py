"""Measures the adapters against the executors that the frameworks have themselves, on one scripted agent.

The agent is fixed: testdata/thirty_turns.py has its turns, one a cell, and a cell with the name of an earlier one
corrects it. The judge is python3, which runs the blocks of the program from the top as they stand after each turn.

usage: executors.py FRAMEWORK    measures the framework in whose environment it runs, a line of JSON for each arm
       executors.py              reads such lines, and prints the table; needs LlamaIndex for its tokenizer
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUNS = 3  # of each arm; seconds are the median, and all counts must be equal

# What the function of the world is where an executor has no tools: the code itself writes into the ledger.
BOOK = """def book(entry):
    with open("ledger.txt", "a") as ledger:
        ledger.write(entry + "\\n")
    return "booked"


"""

RULE = """
[[rule]]
when = 'call.tool == "book"'
then = "allow"
"""

JUDGE = """
import contextlib, io, json, sys
printed, names, failed = {}, {"__name__": "__main__"}, False
for name, code in json.load(sys.stdin).items():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            exec(code, names)
        except Exception:
            failed = True
    printed[name] = out.getvalue()
data = (bool, int, float, str, list, dict, tuple, set)
values = {name: repr(value) for name, value in names.items() if name[0] != "_" and isinstance(value, data)}
print(json.dumps([printed, None if failed else values]))
"""


class Turn:
    """One turn of the script, and what the program prints and holds after it, as the judge says."""

    def __init__(self, name, code, before, folder):
        self.name, self.code = name, code
        self.corrects = name in before and name != list(before)[-1]  # a block that others follow
        self.program = {**before, name: code}
        given = {"": BOOK, **self.program}
        done = subprocess.run(
            ["python3", "-c", JUDGE], input=json.dumps(given), cwd=folder, capture_output=True, text=True, check=True
        )
        self.printed, self.values = json.loads(done.stdout)  # no values if a block failed: such a run ends there
        self.entries = (folder / "ledger.txt").read_text() if (folder / "ledger.txt").exists() else ""


def script():
    """The turns of the agent, judged."""
    turns, program = [], {}
    for cell in re.split(r"^(?=# %% )", (HERE / "testdata/thirty_turns.py").read_text(), flags=re.MULTILINE)[1:]:
        with tempfile.TemporaryDirectory() as folder:
            turns.append(Turn(cell.split("\n")[0].removeprefix("# %% "), cell, program, Path(folder)))
        program = turns[-1].program
    return turns


class Arm:
    """One way to execute the code of the agent. sends says how much of the program a turn sends: "cell", "correction"
    (all blocks after a correction of a block that others follow, else the cell), or "program", all blocks."""

    def __init__(self, framework, arm, engine):
        self.framework, self.sends, self.engine = framework, "cell" if arm == "xstate" else arm, engine
        self.session = engine.session("main") if arm == "xstate" else None
        self.turns, self.wrong_values, self.executed, self.outside = script(), 0, 0, 0.0
        self.names = {name for turn in self.turns for name in turn.values or ()}

    def sent(self, turn):
        """The names of the blocks that a turn sends."""
        whole = self.sends == "program" or (self.sends == "correction" and turn.corrects)
        return list(turn.program) if whole else [turn.name]

    def codes(self):
        """Yields the code of each turn to the scripted model, which asks for the next when the last was executed."""
        last = self.last_step()
        for turn in self.turns:
            sent = self.sent(turn)
            code = "\n".join(turn.program[name] for name in sent)
            yield code if self.framework.tools else code.replace("\nentry = book", "\n" + BOOK + "entry = book")
            began = time.monotonic()
            if self.session:
                steps = self.session.history(limit=0)["steps"]
                runs = [s["run"]["blocks"] for s in steps if s["step"] > last and "run" in s]
                self.executed += sum(blocks["ran"] + blocks["failed"] for blocks in runs)
                last = self.last_step()
            else:
                self.executed += len(sent)
            if turn.values is not None:
                held = {name: self.value(name) for name in self.names}
                self.wrong_values += any(v is not ... and v != turn.values.get(name) for name, v in held.items())
            self.outside += time.monotonic() - began

    def last_step(self):
        if not self.session or "main" not in [s["session"] for s in self.engine.sessions()["sessions"]]:
            return 0
        return self.session.history(limit=1)["steps"][0]["step"]

    def value(self, name):
        """The text of a value: None if there is none, and ... if the executor keeps no values."""
        if not self.session:
            return self.framework.value(name)
        try:
            return self.session.value(name)["text"]
        except xstate_engine.XStateError:
            return None

    def wrong_outputs(self, told):
        """Counts the turns after which a block's output, as the model read it last, is not what the block prints."""
        stale, before, turns = set(), {}, 0
        for turn, text in zip(self.turns, told):
            # Some executors say only the error of code that fails: what was sent with it stays as it was read before.
            sent = self.sent(turn) if turn.values is not None else [turn.name]
            for name, printed in turn.printed.items():
                if name in sent or name in stale or before.get(name) != printed:
                    (stale.discard if squeezed(printed) in squeezed(text) else stale.add)(name)
            before, turns = turn.printed, turns + bool(stale)
        return turns


def squeezed(text):
    """The text without white space: Jupyter's executor of AutoGen puts line ends where a kernel sends a part."""
    return "".join(text.split())


def run(framework, arm):
    """Runs the agent once, in a folder of its own, and returns the figures."""
    with tempfile.TemporaryDirectory(prefix="xse") as folder:
        os.environ["XDG_CONFIG_HOME"] = folder + "/config"
        (Path(folder) / "config/xstate").mkdir(parents=True)
        # The user allows the tool, as one must who wants no question before a call that cannot be undone.
        (Path(folder) / "config/xstate/xstate.toml").write_text(RULE)
        work = Path(folder) / "work"
        work.mkdir()
        os.chdir(work)
        engine = xstate_engine.Engine(work, binary=os.environ["XSTATE"], idle="1m")
        measured = Arm(framework, arm, engine)
        began = time.monotonic()
        told = framework.run(measured.codes(), arm)
        seconds = time.monotonic() - began - measured.outside - framework.looking
        if len(told) != len(measured.turns):
            raise SystemExit(f"{len(told)} results for {len(measured.turns)} turns: {told[-1:]}")
        ledger = Counter((work / "ledger.txt").read_text().splitlines())
        want = Counter(measured.turns[-1].entries.splitlines())
        if want - ledger:
            raise SystemExit(f"the ledger lacks {want - ledger}")
        if arm == "xstate":
            engine.stop()
        engine.close()
        os.chdir("/")
        return {
            "outputs": measured.wrong_outputs(told),
            "values": None if measured.value("tax") is ... else measured.wrong_values,
            "repeated": (ledger - want).total(),
            "executed": measured.executed,
            "told": "\n".join(told),
            "seconds": seconds,
        }


def measure(name):
    """Prints a line of JSON for each arm of a framework. Each run has a process of its own."""
    framework = executor_agents.FRAMEWORKS[name]
    for arm in ("xstate", *framework.arms):
        runs = []
        for _ in range(RUNS):
            done = subprocess.run([sys.executable, "-B", __file__, name, arm], stdout=subprocess.PIPE, text=True)
            if done.returncode:
                raise SystemExit(f"{name}, {arm}: failed")
            runs.append(json.loads(done.stdout.splitlines()[-1]))
        seconds = statistics.median(r.pop("seconds") for r in runs)
        counts = [{key: value for key, value in r.items() if key != "told"} for r in runs]  # texts have times, places
        if any(c != counts[0] for c in counts):
            raise SystemExit(f"{name}, {arm}: runs differ: {counts}")
        found = {**runs[0], "seconds": seconds, "framework": framework.title, "arm": framework.arms.get(arm, arm)}
        print(json.dumps({**found, "version": version(framework.package)}), flush=True)


def table():
    """Prints the table of what measure printed."""
    import llama_index.core
    import tiktoken

    # The package has the files of the tokenizer, which tiktoken would fetch.
    os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(llama_index.core.__file__).parent / "_static/tiktoken_cache")
    encoding = tiktoken.get_encoding("o200k_base")
    heads = ["framework", "executor", "outputs wrong", "values wrong", "effects repeated", "blocks executed"]
    print("|", " | ".join([*heads, "seconds", "tokens"]), "|")
    print("|---|---|---|---|---|---|---|---|")
    for line in sys.stdin:
        r = json.loads(line)
        values = "none kept" if r["values"] is None else r["values"]
        print(f"| {r['framework']} {r['version']} | {r['arm']} | {r['outputs']} | {values} | {r['repeated']} ", end="")
        print(f"| {r['executed']} | {r['seconds']:.2f} | {len(encoding.encode(r['told'])):,} |")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        table()
    else:
        import executor_agents
        import xstate_engine

        if len(sys.argv) == 2:
            measure(sys.argv[1])
        else:
            print(json.dumps(run(executor_agents.FRAMEWORKS[sys.argv[1]], sys.argv[2])))
