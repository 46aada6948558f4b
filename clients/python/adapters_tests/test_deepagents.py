import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from common import BINARY, HERE, Folder, Page
from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from xstate_engine import Engine
from xstate_engine.adapters.deepagents import Sandbox

THREAD = {"configurable": {"thread_id": "one"}}


class Model(GenericFakeChatModel):
    """The fake model of langchain_core, which has no tools of its own."""

    def bind_tools(self, tools, **options):
        return self


def scripted(*calls):
    """A model that makes these calls, each in an answer of its own: the name of a tool, and its arguments."""
    answers = [
        AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{number}"}])
        for number, (name, arguments) in enumerate(calls)
    ]
    return Model(messages=iter([*answers, AIMessage("done")]))


def command(text, **more):
    return "execute", {"command": text, **more}


class Killed(Sandbox):
    """A sandbox whose process is killed when the sandbox has answered, before the answer is in a checkpoint."""

    def execute(self, command, **options):
        super().execute(command, **options)
        os.kill(os.getpid(), signal.SIGKILL)


def resumable(folder, kind=Sandbox, **asked):
    """Runs an agent whose checkpoints are in a file, in a process of its own. It continues if nothing is asked. Its
    command runs until the folder of the sandbox has a file `go`."""
    engine = Engine(Path(folder, "work"), Path(folder, ".xstate"), binary=BINARY)
    with SqliteSaver.from_conn_string(f"{folder}/checkpoints") as saver, engine:
        text = "echo run >> log; while [ ! -e go ]; do sleep 0.1; done; wc -l < log"
        model = scripted(command(text)) if asked else scripted()
        agent = create_deep_agent(model, backend=kind(engine.session("chat")), checkpointer=saver)
        state = agent.invoke({"messages": [("user", "do it")]} if asked else None, THREAD)
        print([m.content for m in state["messages"] if isinstance(m, ToolMessage)])


class TestDeepAgents(Page, Folder):
    def setUp(self):
        super().setUp()
        self.session = self.engine.session("chat")
        self.sandbox = Sandbox(self.session)

    def path(self, name):
        return str(self.folder / name)

    def told(self, *calls, backend=None, **options):
        """Runs an agent whose model makes these calls, and returns the messages of its tools."""
        agent = create_deep_agent(scripted(*calls), backend=backend or self.sandbox, name="coder", **options)
        state = agent.invoke({"messages": [("user", "do it")]})
        return [m for m in state["messages"] if isinstance(m, ToolMessage)]

    def output(self, text, sandbox=None):
        done = (sandbox or self.sandbox).execute(text)
        self.assertEqual(done.exit_code, 0, done.output)
        return done.output

    def in_another_process(self, *arguments):
        code = f"from test_deepagents import *; resumable({str(self.folder)!r}, {', '.join(arguments)})"
        return subprocess.Popen([sys.executable, "-c", code], cwd=HERE, stdout=subprocess.PIPE, text=True)

    def test_the_tools(self):
        notes = self.path("work/notes.txt")
        told = self.told(
            ("write_file", {"file_path": notes, "content": "it's 3\n"}),
            command("cat work/notes.txt"),
            ("edit_file", {"file_path": notes, "old_string": "3", "new_string": "$HOME"}),
            command("cat work/notes.txt"),
            ("read_file", {"file_path": notes}),
            ("grep", {"pattern": "$HOME", "path": self.path("work")}),
            ("glob", {"pattern": "*.txt", "path": str(self.folder)}),
            ("ls", {"path": self.path("work")}),
            ("delete", {"file_path": notes}),
            command("ls work"),
        )
        self.assertEqual([m.status for m in told], ["success"] * len(told), told)
        texts = [str(m.content) for m in told]
        self.assertTrue(texts[1].startswith("it's 3\n"), texts)
        self.assertTrue(texts[3].startswith("it's $HOME\n"), texts)
        for text in texts[4:8]:
            self.assertTrue("it's $HOME" in text or notes in text, texts)
        self.assertNotIn("notes", texts[9])

    def test_a_command_shows_what_is_there_now(self):
        self.assertEqual(self.output("cat x 2>&1 || true"), "cat: x: No such file or directory\n")
        for text in ("one", "two"):
            self.sandbox.write(self.path("x"), text)
            self.assertEqual(self.output("cat x"), text)
        self.output("cp x y; echo three > x")
        self.assertEqual(self.output("cat x y"), "three\ntwo")  # and y stays: the copy is not made again
        clock = "python3 -c 'import time; print(time.time_ns())'"
        self.assertNotEqual(self.output(clock), self.output(clock))

    def test_each_command_has_a_shell_of_its_own(self):
        self.output("cd /; x=1; export x")
        self.assertEqual(self.output('pwd; echo "[$x]"'), f"{self.folder}\n[]\n")
        self.assertEqual(self.output("cat"), "")  # nothing is typed

    def test_a_command_that_fails(self):
        told, more = self.told(command("echo out; echo err >&2; echo left > file; exit 3"), command("cat file"))
        self.assertTrue(told.content.startswith("out\nerr\n"), told.content)
        self.assertEqual((told.artifact["exit_code"], more.artifact["exit_code"]), (3, 0))
        self.assertTrue(more.content.startswith("left\n"), more.content)
        self.assertEqual(self.sandbox.execute("if then (").exit_code, 2)
        self.assertEqual(self.sandbox.execute("no-such-program").exit_code, 127)
        self.assertEqual(self.sandbox.execute("sleep 60", timeout=1).exit_code, 124)
        self.assertEqual(Sandbox(self.session, timeout=1).execute("sleep 60").exit_code, 124)
        self.assertEqual(self.sandbox.execute("x" * 2_000_000).exit_code, 126)
        self.assertEqual(self.output("cat file"), "left\n")

    def test_a_limit_of_the_policy(self):
        """It ends the command, and no later one tries the command again."""
        (self.folder / "xstate.toml").write_text('[limits]\nwall = "2s"\n')
        done = self.sandbox.execute("echo run >> log; sleep 60")
        self.assertIn("wall 2s", done.output)
        self.assertIsNone(done.exit_code)
        self.assertEqual(self.output("cat log 2>&1 || true"), "cat: log: No such file or directory\n")
        self.assertEqual(self.session.query(failed=True)["blocks"], [])

    def test_output_that_is_cut(self):
        done = self.sandbox.execute("seq 400000")
        self.assertTrue(done.truncated)
        self.assertEqual(done.exit_code, 0)
        self.assertTrue(done.output.startswith("1\n2\n") and done.output.endswith("\n400000\n"))
        self.assertLess(len(done.output), 1_100_000)

    def test_large_results_become_files(self):
        backend = CompositeBackend(default=self.sandbox, routes={}, artifacts_root=str(self.folder))
        (told,) = self.told(command("seq 30000"), backend=backend)
        self.assertIn(self.path("large_tool_results/call-0"), told.content)
        self.assertIn("\n30000\n", self.output("cat large_tool_results/*"))

    def test_files(self):
        noise = os.urandom(1_500_000)
        files = [(self.path("a/noise"), noise), (self.path("text"), b"it's\n"), ("/etc/no", b""), (self.path("a"), b"")]
        errors = [None, None, "permission_denied", "is_directory"]
        self.assertEqual([r.error for r in self.sandbox.upload_files(files)], errors)
        got = self.sandbox.download_files([self.path("a/noise"), self.path("text"), self.path("none"), self.path("a")])
        self.assertEqual([r.content for r in got], [noise, b"it's\n", None, None])
        self.assertEqual([r.error for r in got], [None, None, "file_not_found", "is_directory"])

    def test_it_reads_nothing_outside(self):
        outside = self.folder.parent / f"{self.folder.name}.outside"
        outside.write_text("secret")
        self.addCleanup(outside.unlink)
        (self.folder / "link").symlink_to(outside)
        got = self.sandbox.download_files([str(outside), self.path("link")])
        self.assertEqual([r.content for r in got], [None, None])
        self.assertIn("permission_denied", self.sandbox.read(self.path("link")).error)

    def test_who_called(self):
        self.told(command("echo 1"), command("echo 2"))
        origins = [s["origin"] for s in self.session.history()["steps"] if s["kind"] != "run"]
        self.assertEqual([o["agent"] for o in origins], ["coder", "coder"])
        self.assertEqual(len({o["call_id"] for o in origins}), 2)

    def test_undo(self):
        self.output("echo one > x")
        self.output("echo two > x")
        self.session.undo()
        self.assertEqual(self.output("cat x"), "one\n")
        self.assertEqual(self.session.why("b1")["status"], "ran")

    def test_a_server_that_is_restarted(self):
        """It executes no command again, also if files that a command read or wrote changed since."""
        self.output("cat in >> log; echo run >> log; rm -rf old; mkdir old")
        self.engine.stop()
        (self.folder / "in").write_text("new")
        self.assertEqual(self.output("cat log; ls"), "run\nin\nlog\nold\n")

    def test_a_call_made_again(self):
        """A tool of the user fails after its commands, and the run is resumed: they are executed once."""
        fails = [True]

        def build(target: str) -> str:
            """Builds it."""
            said = [self.output(f"echo {target} >> log; wc -l < log") for _ in range(2)]
            if fails and fails.pop():
                raise RuntimeError("the network is down")
            return ", ".join(said)

        agent = create_deep_agent(
            scripted(("build", {"target": "all"})), [build], backend=self.sandbox, checkpointer=InMemorySaver()
        )
        with self.assertRaises(RuntimeError):
            agent.invoke({"messages": [("user", "do it")]}, THREAD)
        state = agent.invoke(None, THREAD)
        self.assertEqual([m.content for m in state["messages"] if isinstance(m, ToolMessage)], ["1\n, 2\n"])
        self.assertEqual(self.output("cat log"), "all\nall\n")

    def test_equal_calls_of_one_answer(self):
        """Both are executed: they are calls of their own."""
        made = [{"name": "execute", "args": {"command": "echo run >> log"}, "id": id} for id in "ab"]
        model = Model(messages=iter([AIMessage("", tool_calls=made), AIMessage("done")]))
        create_deep_agent(model, backend=self.sandbox).invoke({"messages": [("user", "do it")]})
        self.assertEqual(self.output("cat log"), "run\nrun\n")

    def test_tools_without_deep_agents(self):
        """A tool of one's own, alone, and in a node that executes all calls of an answer: each call is its own."""

        @tool
        def log(text: str) -> str:
            """Logs a text."""
            return self.output(f"echo {text} >> log; cat log")

        self.assertEqual(log.invoke({"text": "run"}), "run\n")
        graph = StateGraph(MessagesState)
        graph.add_node("tools", ToolNode([log]))
        graph.add_edge(START, "tools")
        made = [{"name": "log", "args": {"text": "run"}, "id": id} for id in "ab"]
        graph.compile().invoke({"messages": [AIMessage("", tool_calls=made)]})
        self.assertEqual(self.output("cat log"), "run\nrun\nrun\n")

    def test_resume_after_the_process_was_killed(self):
        work = self.folder / "work"
        work.mkdir()
        (work / "go").touch()
        killed = self.in_another_process("Killed, asked=True")
        self.assertEqual(killed.communicate()[0], "")
        self.assertEqual(killed.returncode, -signal.SIGKILL)
        self.assertEqual((work / "log").read_text(), "run\n")
        self.assertIn("1\\n", self.in_another_process().communicate()[0])
        self.assertEqual((work / "log").read_text(), "run\n")

    def test_resume_after_it_was_killed_within_a_command(self):
        work = self.folder / "work"
        work.mkdir()
        agent = self.in_another_process("asked=True")
        while not (work / "log").exists():
            self.assertIsNone(agent.poll())
            time.sleep(0.05)
        agent.kill()
        agent.communicate()
        (work / "go").touch()
        self.assertIn("1\\n", self.in_another_process().communicate()[0])
        self.assertEqual((work / "log").read_text(), "run\n")

    def test_a_fork(self):
        self.output("echo run >> log; echo one > x")
        fork = self.session.fork("fork", private=True)
        other = Sandbox(fork)
        self.output("echo theirs > x; echo new > y", other)
        self.assertEqual(self.output("cat log x; ls"), "run\none\nlog\nx\n")
        self.assertEqual(self.output("cat log x; ls", other), "run\ntheirs\nlog\nx\ny\n")

    def test_two_agents_in_one_store(self):
        folders = [self.folder / name for name in ("first", "second")]
        for folder in folders:
            folder.mkdir()
            with Engine(folder, self.folder / ".xstate", binary=BINARY) as engine:
                sandbox = Sandbox(engine.session(folder.name))
                (told,) = self.told(command("echo run >> log; cat log"), backend=sandbox)
                self.assertTrue(told.content.startswith("run\n\n"), told.content)
        self.assertEqual([f.read_text() for f in self.folder.glob("*/log")], ["run\n", "run\n"])

    def test_the_page(self):
        script = "from test_deepagents import command, scripted\n\nmodel = scripted(command('echo $((6 * 7))'))\n"
        self.assertEqual(self.run_page("Deep Agents", script), "done")


if __name__ == "__main__":
    unittest.main()
