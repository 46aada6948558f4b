import asyncio
import io
import json
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from agents import Runner, RunState
from agents.run_config import RunConfig, SandboxRunConfig
from agents.sandbox import Manifest, SandboxAgent
from agents.sandbox.capabilities import Filesystem, Shell
from agents.sandbox.entries import File
from agents.sandbox.errors import ExecTimeoutError, WorkspaceReadNotFoundError
from agents.sandbox.snapshot import LocalSnapshot, LocalSnapshotSpec, NoopSnapshotSpec
from common import BINARY, HERE, Folder, Page
from openai.types.responses import ResponseFunctionToolCall
from test_openai_agents import Script
from xstate_engine.adapters.openai_sandbox import SandboxClient

START = {"in.txt": File(content=b"hello\n")}


def call(id, text):
    return ResponseFunctionToolCall(
        type="function_call", name="exec_command", call_id=id, arguments=json.dumps({"cmd": text, "login": False})
    )


def made(turns, ask=False):
    """An agent whose model makes these calls."""

    def configure(tools):
        tools.exec_command.needs_approval = ask

    return SandboxAgent(
        name="coder",
        model=Script(turns),
        default_manifest=Manifest(entries=START),
        capabilities=[Shell(configure_tools=configure), Filesystem()],
    )


async def killed(folder):
    """Prints the state of a sandbox and is killed within a command."""
    client = SandboxClient(folder, binary=BINARY)
    sandbox = await client.create(manifest=Manifest(entries=START))
    await sandbox.start()
    await sandbox.exec("echo run >> log")
    print(json.dumps(client.serialize_session_state(sandbox.state)), flush=True)
    await sandbox.exec("echo run >> log; echo begun > begun; while true; do sleep 0.1; done")


class TestOpenAISandbox(Page, Folder):
    def setUp(self):
        super().setUp()
        self.client = SandboxClient(self.folder, binary=BINARY, idle="1m")

    def config(self, **options):
        return RunConfig(
            tracing_disabled=True, sandbox=SandboxRunConfig(client=self.client, snapshot=NoopSnapshotSpec(), **options)
        )

    def use(self, steps):
        """Runs steps with a sandbox that has the file in.txt."""

        async def run():
            async with await self.client.create(manifest=Manifest(entries=START)) as sandbox:
                await steps(sandbox)

        asyncio.run(run())

    async def output(self, sandbox, text):
        done = await sandbox.exec(text)
        self.assertTrue(done.ok(), done.stderr)
        return done.stdout.decode()

    def test_an_agent(self):
        async def run():
            turns = [[call("a", "cat in.txt; echo err >&2; exit 3")], [call("b", "echo new > x; cat x; pwd")]]
            done = await Runner.run(made(turns), "do it", run_config=self.config())
            return [i["output"] for i in done.to_input_list() if i.get("type") == "function_call_output"]

        first, second = asyncio.run(run())
        self.assertIn("Process exited with code 3\n", first)
        self.assertIn("Output:\nhello\nerr\n", first)
        self.assertRegex(second, r"Output:\nnew\n.*/sandbox-[0-9a-f-]+\n")
        self.assertEqual([p.name for p in self.folder.iterdir()], [".xstate"])  # the SDK deletes a sandbox that it made

    def test_an_approval_and_its_resume(self):
        """The SDK deletes the workspace when the run is interrupted. To resume it restores the files."""

        async def run():
            turns = [[call("a", "echo run >> log; cat log in.txt")]]
            stopped = await Runner.run(made(turns, ask=True), "do it", run_config=self.config())
            first = stopped.to_state()
            first.approve(stopped.interruptions[0])
            agent = made([[call("b", "echo run >> log; cat log")]], ask=True)
            stopped = await Runner.run(made(turns[1:], ask=True), first, run_config=self.config())
            self.assertEqual(stopped.interruptions, [])
            stopped = await Runner.run(agent, "again", run_config=self.config(session_state=stored(first)))
            text = stopped.to_state().to_string()
            state = await RunState.from_string(agent, text)
            state.approve(state.get_interruptions()[0])
            done = await Runner.run(agent, state, run_config=self.config())
            return done.to_input_list()[-2]["output"]

        def stored(state):
            payload = state.to_json()["sandbox"]["session_state"]
            return self.client.deserialize_session_state(json.loads(json.dumps(payload)))

        self.assertIn("Output:\nrun\nrun\n", asyncio.run(run()))

    def test_commands(self):
        async def steps(sandbox):
            done = await sandbox.exec("echo out; echo err >&2; echo left > file; exit 3")
            self.assertEqual((done.stdout, done.stderr, done.exit_code), (b"out\n", b"err\n", 3))
            self.assertEqual(await self.output(sandbox, "cat file"), "left\n")
            self.assertEqual((await sandbox.exec("printf", "%s", "it's $x", shell=False)).stdout, b"it's $x")
            self.assertEqual((await sandbox.exec("no-such-program")).exit_code, 127)
            self.assertEqual((await sandbox.exec("x" * 2_000_000)).exit_code, 126)
            with self.assertRaises(ExecTimeoutError):
                await sandbox.exec("sleep 60", timeout=1)
            self.assertEqual(len(await self.output(sandbox, "seq 400000")), 2_688_895)  # whole: the tools cut it
            clock = "python3 -c 'import time; print(time.time_ns())'"
            self.assertNotEqual(await self.output(sandbox, clock), await self.output(sandbox, clock))
            self.assertEqual(await self.output(sandbox, "cd /; export x=1; true; pwd"), "/\n")
            self.assertEqual(await self.output(sandbox, 'pwd; echo "[$x]"'), f"{sandbox.state.manifest.root}\n[]\n")

        self.use(steps)

    def test_files(self):
        noise = bytes(range(256)) * 5000

        async def steps(sandbox):
            await sandbox.write(Path("a/noise"), io.BytesIO(noise))
            self.assertEqual((await sandbox.read(Path("a/noise"))).read(), noise)
            for text in (b"it's one", b"two"):
                await sandbox.write(Path("x"), io.BytesIO(text))
                self.assertEqual(await self.output(sandbox, "cat x"), text.decode())
            await sandbox.exec("cp x y")
            await sandbox.write(Path("x"), io.BytesIO(b"three"))
            self.assertEqual(await self.output(sandbox, "cat x y"), "threetwo")
            with self.assertRaises(WorkspaceReadNotFoundError):
                await sandbox.read(Path("none"))
            await sandbox.rm("a", recursive=True)
            root = sandbox.state.manifest.root
            names = sorted(f.path.removeprefix(f"{root}/") for f in await sandbox.ls("."))
            self.assertEqual(names, ["in.txt", "x", "y"])

        self.use(steps)

    def test_history(self):
        async def steps(sandbox):
            await sandbox.exec("echo one > x")
            await sandbox.exec("echo two > x")
            await sandbox._inner.xstate.undo()
            self.assertEqual(await self.output(sandbox, "cat x"), "one\n")

        self.use(steps)

    def test_a_fork(self):
        async def steps(sandbox):
            await sandbox.exec("echo run >> log")
            async with await self.client.fork(sandbox) as other:
                self.assertEqual(await self.output(other, "echo theirs >> log; cat log in.txt"), "run\ntheirs\nhello\n")
                self.assertEqual(await self.output(sandbox, "echo mine >> log; cat log"), "run\nmine\n")
                self.assertEqual(await self.output(other, "cat log"), "run\ntheirs\n")

        self.use(steps)

    def test_delete(self):
        """It deletes the folders that the client made, with fork or without."""

        async def run():
            kept = self.folder / "mine"
            other = await self.client.create(manifest=Manifest(root=str(kept), entries=START))
            async with other, await self.client.create() as sandbox:
                await sandbox.exec("true")
                async with await self.client.fork(sandbox) as forked:
                    return [await self.client.delete(s) for s in (other, sandbox, forked)]

        roots = [Path(s.state.manifest.root) for s in asyncio.run(run())]
        self.assertEqual([root.exists() for root in roots], [True, False, False])

    def test_two_sandboxes_of_one_store(self):
        async def steps(sandbox):
            async with await self.client.create() as other:
                await sandbox.exec("echo run >> log")
                await other.exec("echo run >> log")
                texts = [await self.output(s, "cat log; ls") for s in (sandbox, other)]
                self.assertEqual(texts, ["run\nin.txt\nlog\n", "run\nlog\n"])

        self.use(steps)

    def test_a_snapshot(self):
        """A snapshot of the SDK begins another sandbox, as in another store."""

        async def run():
            base = self.folder / "snapshots"
            first = await self.client.create(
                manifest=Manifest(entries=START), snapshot=LocalSnapshotSpec(base_path=base)
            )
            async with first:
                await first.exec("mkdir d; echo one > d/x; ln -s d/x link")
            snapshot = LocalSnapshot(id=str(first.state.session_id), base_path=base)
            async with await self.client.create(snapshot=snapshot) as other:
                return await self.output(other, "cat in.txt link; ls -A")

        self.assertEqual(asyncio.run(run()), "hello\none\nd\nin.txt\nlink\n")

    def test_resume_after_the_process_was_killed(self):
        code = f"import asyncio; from test_openai_sandbox import *; asyncio.run(killed({str(self.folder)!r}))"
        process = subprocess.Popen([sys.executable, "-c", code], cwd=HERE, stdout=subprocess.PIPE, text=True)
        with process.stdout:
            payload = json.loads(process.stdout.readline())
            root = Path(payload["manifest"]["root"])
            while not (root / "begun").exists():
                time.sleep(0.05)
            process.kill()
        self.assertEqual(process.wait(), -signal.SIGKILL)

        async def run():
            async with await self.client.resume(self.client.deserialize_session_state(payload)) as sandbox:
                return await self.output(sandbox, "cat log in.txt; ls")

        self.assertEqual(asyncio.run(run()), "run\nhello\nin.txt\nlog\n")

    def test_the_page(self):
        script = "from test_openai_sandbox import Script, call\n\nmodel = Script([[call('a', 'echo $((6 * 7))')]])\n"
        state = str(self.folder / "state")  # where the SDK keeps a snapshot of its own
        self.assertEqual(self.run_page("OpenAI Agents SDK: sandbox", script, XDG_STATE_HOME=state), "done")


if __name__ == "__main__":
    unittest.main()
