import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { Engine, ExecResult, ExecutionError } from "../src/index.js";
import type { documents } from "../src/index.js";
import { BINARY, LONG, PICTURE, Place, equal, refused, until } from "./support.js";

test("results", async (t) => {
  const s = new Place(t).engine.session("main", { origin: { agent: "tester", model: "m" } });
  const first = (await s.exec("# %% data\nx = 20\nprint('hello')\nx + 1")).check();
  equal([first.text, first.result, first.block], ["hello\n21\n", "21", "data"]);
  equal([first.action, first.status, first.ok, first.error], ["append", "ran", true, null]);
  await s.exec("# %% double\ny = x * 2\nprint(y)");
  const again = await s.exec("# %% data\nx = 21\nx + 1", { origin: { call_id: "c7" } });
  equal(again.counts, { ran: 2, reused: 0, failed: 0, blocked: 0, notReached: 0 });
  equal(
    again.others.map((b) => [b.block, b.text]),
    [["double", "42\n"]],
  );
  const { step } = await s.query({ atStep: again.step - 1 });
  equal([step?.origin?.["agent"], step?.origin?.["call_id"]], ["tester", "c7"]);
  const retry = await s.exec("# %% data\nx = 21\nx + 1", { origin: { call_id: "c7" } });
  equal([retry.repeated, retry.step, retry.text], [true, again.step, again.text]);
  const same = await s.exec("# %% data\nx = 21\nx + 1");
  equal([same.action, same.status, same.counts.ran, same.text], ["unchanged", "reused", 0, "22\n"]);
  const kept = new ExecResult(JSON.parse(JSON.stringify(again)));
  equal([kept.document, String(kept)], [again.document, String(again)]);
});

test("code that fails", async (t) => {
  const s = new Place(t).engine.session();
  equal(s.name, "main");
  (await s.exec("# %% x\nx = 1\n# %% use\nx + 1")).check();
  const r = await s.exec("# %% x\nx = 1 / 0");
  const e = r.error!;
  equal([r.ok, e.type, e.detail, e.block, r.stale], [false, "ZeroDivisionError", "division by zero", "x", ["use"]]);
  assert.match(e.traceback, /ZeroDivisionError: division by zero/);
  assert.throws(() => r.check(), { name: "ExecutionError", message: "ZeroDivisionError: division by zero" });
  const missing = await s.exec("import no_such_module_here");
  equal(missing.error?.type, "ModuleNotFoundError");
  assert.match(missing.error!.hint, /pip/);
  const broken = await s.exec("print(");
  assert.throws(() => broken.check(), ExecutionError);
});

test("a block that breaks because of an edit", async (t) => {
  const s = new Place(t).engine.session();
  const quiet = await s.exec("# %% a\nx = 1");
  equal([String(quiet), quiet.ok], ["no output\n", true]);
  (await s.exec("# %% b\ny = 1 / x\n# %% c\nprint(y)")).check();
  const r = await s.exec("# %% a\nx = 0");
  equal([r.status, r.ok, r.broken.map((b) => b.block)], ["ran", false, ["b", "c"]]);
  assert.match(String(r), /block b failed because of it \(input-changed: var:x by a\)\nTraceback/);
  assert.match(String(r), /block c blocked because of it \(/);
  assert.throws(() => r.check(), { type: "ZeroDivisionError", block: "b" });
  assert.ok((await s.exec("# %% d\nz = 5", { append: true })).check().ok);
  const mended = (await s.exec("# %% a\nx = 2")).check();
  equal([mended.broken, String(mended).endsWith("0.5\n")], [[], true]);
});

test("events", async (t) => {
  const events: documents.Event[] = [];
  const code = "print('one')\nimport sys\nprint('two', file=sys.stderr)";
  const r = await new Place(t).engine.session().exec(code, { onEvent: (e) => events.push(e) });
  equal([events[0]?.event, events[1]?.event, events.at(-1)?.event], ["started", "begin", "end"]);
  const text = events.filter((e) => e.event === "output").map((e) => [e.output?.kind, e.output?.text]);
  equal(text, [
    ["stdout", "one\n"],
    ["stderr", "two\n"],
  ]);
  assert.ok(events.slice(1).every((e) => e.block === r.block));
});

test("an event that throws, and a signal, end the run", async (t) => {
  const { engine } = new Place(t);
  const s = engine.session();
  const refuse = (e: documents.Event) => {
    if (e.event === "output") throw new RangeError("enough");
  };
  await assert.rejects(s.exec(LONG, { onEvent: refuse }), RangeError);
  await until(async () => (await engine.runs()).length === 0);
  const cut = new AbortController();
  const cutting = (e: documents.Event) => e.event === "output" && cut.abort();
  await assert.rejects(s.exec(LONG, { onEvent: cutting, signal: cut.signal }), { name: "AbortError" });
  await until(async () => (await engine.runs()).length === 0);
  await assert.rejects(s.exec("x", { signal: cut.signal }), { name: "AbortError" });
  equal((await s.exec("1 + 1")).result, "2");
});

test("images", async (t) => {
  const s = new Place(t).engine.session();
  const shown = ({ images }: ExecResult) => images.map((i) => [i.block, i.media, i.data.toString("latin1", 1, 4)]);
  const first = await s.exec(PICTURE);
  equal(shown(first), [[first.block, "image/png", "PNG"]]);
  (await s.exec("# %% size\nn = 1\n")).check();
  equal(shown(await s.exec("# %% chart\nn += 0\nPicture()")), [["chart", "image/png", "PNG"]]);
  equal(shown(await s.exec("# %% size\nn = 2\n")), [["chart", "image/png", "PNG"]]); // it was drawn again
});

test("budget, files, replace, append, timeout, language", async (t) => {
  const s = new Place(t).engine.session();
  const r = await s.exec("for i in range(5000): print('line', i)", { budget: 2000 });
  assert.ok(r.document.clipped && r.text.length < 2500);
  equal(fs.readFileSync(r.files[0]!.file, "utf8").match(/\n/g)?.length, 5000);
  const first = await s.exec("x = 1");
  equal((await s.exec("z = 5", { replace: first.block })).action, "replace");
  equal((await s.exec("z = 5", { append: true })).action, "append");
  equal((await refused(s.exec("z = 5", { replace: "nothing" }))).code, "patch-no-target");
  assert.match((await s.exec("while True: pass", { timeout: 0.3 })).error!.type, /Timeout/);
  equal((await s.engine.session("js").exec("[1, 2].map((x) => x * 2)", { language: "javascript" })).result, "[ 2, 4 ]");
});

test("the environment within the bounds", async (t) => {
  const place = new Place(t);
  process.env["SOME_TOKEN"] = "s3cret";
  t.after(() => delete process.env["SOME_TOKEN"]);
  const code = "import os\nprint(os.environ.get('SOME_TOKEN'))";
  assert.match((await place.newEngine().session().exec(code)).text, /None/);
  const given = place.newEngine({ environ: { ...process.env } }); // the caller's own choice
  assert.match((await given.session("given").exec(code)).text, /s3cret/);
});

test("the environment and the interpreter", async (t) => {
  const place = new Place(t);
  const engine = place.newEngine({ environ: { ...process.env, COLOUR: "red" } });
  assert.match((await engine.session().exec("import os\nprint(os.environ['COLOUR'])")).text, /red/);
  const broken = place.newEngine({ python: "/nowhere/python" });
  equal((await refused(broken.session("other").exec("1"))).code, "no-python");
});

test("answers", async (t) => {
  const { engine } = new Place(t);
  const s = engine.session("work");
  (await s.exec("# %% data\nx = [1, 2, 3]\n# %% total\ntotal = sum(x)\nprint(total)")).check();
  equal((await s.value("total"))?.text, "6");
  equal((await s.query({ block: "total" })).block?.outputs[0]?.text, "6\n");
  equal(
    (await s.query({ atStep: 1 })).blocks.map((b) => b.id),
    ["data"],
  );
  equal((await s.query({ symbol: "x" })).writers[0]?.node, "data");
  equal(
    (await s.query({ affectedBy: "data" })).blocks.map((b) => b.block),
    ["data", "total"],
  );
  equal((await s.query({ path: ["data", "total"] })).path, ["data", "total"]);
  equal((await s.query({ failed: true })).blocks, []);
  equal((await s.query({ where: 'block.id == "total"' })).blocks?.[0]?.id, "total");
  equal((await s.why("total")).status, "ran");
  equal(((await s.show()) as documents.Query).blocks.length, 2);
  equal(((await s.show("data")) as documents.QueryBlock).block?.id, "data");
  equal(
    (await s.history({ limit: 2 })).steps.map((x) => x.step),
    [3, 2],
  );
  equal((await s.history({ limit: 2, after: 2 })).steps[0]?.step, 1);
  equal(
    (await engine.sessions()).sessions.map((x) => x.session),
    ["work"],
  );
  const e = await refused(s.query({ block: "nothing" }));
  equal(e.code, "no-block");
  assert.match(e.hint, /data, total/);
  equal(
    ((await engine.call("AuditService/Replay", { session: "work" }, { executes: true })) as documents.Replay).result,
    "equal",
  );
});

test("edits", async (t) => {
  const s = new Place(t).engine.session("work");
  (await s.exec("# %% data\nx = [1, 2, 3]\n# %% total\ntotal = sum(x)\nprint(total)")).check();
  const done = await s.edit("# %% data\nx = [1, 2, 30]\n", { run: true, expect: 3 });
  equal(
    done.run?.blocks.map((b) => b.status),
    ["ran", "ran"],
  );
  equal((await refused(s.edit("# %% data\nx = []\n", { expect: 1 }))).code, "conflict");
  equal((await s.value("total"))?.text, "33");
  const other = await s.fork("copy", { atStep: 3 });
  equal([(await other.exec("total")).result, other.folder], ["6", undefined]);
  const alone = await s.fork("alone", { atStep: 3, private: true });
  equal((await alone.exec("import os\nos.getcwd()")).check().result, `'${alone.folder}'`);
  equal((await s.undo(4)).undone, [4]);
  equal((await s.rollback(1)).to, 1);
  equal(((await s.show()) as documents.Query).blocks.length, 1);
  equal(
    (await s.diff(3, 1)).blocks.map((b) => b.op),
    ["", "delete"],
  );
});

test("files", async (t) => {
  const { folder, engine } = new Place(t);
  const file = path.join(folder, "p.py");
  fs.writeFileSync(file, "# %% a\na = 1\n# %% b\nprint(a)\n");
  const s = engine.session("p");
  equal((await s.plan("p.py")).run, 2);
  const events: documents.Event[] = [];
  const done = await s.run("p.py", { onEvent: (e) => events.push(e) });
  equal([done.ran, events[0]?.event], [2, "started"]);
  fs.writeFileSync(file, "# %% a\na = 1\n# %% b\nprint(a + 1)\n");
  const { run, reuse } = await s.plan("p.py");
  equal([run, reuse], [1, 1]);
  equal((await s.run("p.py", { expect: done.step! })).ran, 1);
  equal((await refused(s.run("missing.py"))).code, "no-file");
  equal([(await s.run()).reused, (await s.run(undefined, { fresh: true })).ran], [2, 2]);
});

test("one server for all", async (t) => {
  const place = new Place(t);
  await place.engine.session().exec("x = 1");
  const info = place.serverFile();
  equal((await place.newEngine().session().exec("x")).result, "1");
  const below = path.join(place.folder, "a", "b");
  fs.mkdirSync(below, { recursive: true });
  const other = new Engine(below, { binary: BINARY });
  equal([other.store, (await other.session().value("x")).text], [place.engine.store, "1"]);
  equal(place.serverFile(), info);
  await place.engine.stop();
  await until(() => !place.serverFile());
  // Both are of one new server.
  const both = ["x + 1", "x + 2"].map((code, i) => place.engine.session(`s${i}`).exec(`x = 1\n${code}`));
  equal(
    (await Promise.all(both)).map((r) => r.result),
    ["2", "3"],
  );
});

test("calls of a session keep their order", async (t) => {
  // As two tool calls of one answer, of which the second needs what the first one defines.
  const { engine } = new Place(t);
  for (const name of ["a", "b", "c", "d"]) {
    const s = engine.session(name);
    const codes = ["n = 1", ...[2, 3, 4, 5].map((i) => `# %% then-${i}\nn += ${i}\nn`)];
    const results = await Promise.all(codes.map((code) => s.exec(code)));
    equal(
      results.map((r) => r.result),
      [null, "3", "6", "10", "15"],
    );
  }
});

test("interrupt", async (t) => {
  const { engine } = new Place(t);
  const s = engine.session();
  await s.exec("x = 5");
  equal(await s.interrupt(), false);
  let began = () => {};
  const output = new Promise<void>((resolve) => (began = resolve));
  const long = s.exec(LONG, { onEvent: (e) => e.event === "output" && began() });
  await output;
  equal(
    (await engine.runs()).map((r) => r.session),
    ["main"],
  );
  equal((await s.value("x")).text, "5"); // questions are answered meanwhile
  equal(await s.interrupt(), true);
  const r = await long;
  equal([r.ok, r.document.stopped, r.takenBack], [false, "interrupted", true]);
  equal(await engine.runs(), []);
  equal((await s.exec("x")).result, "5");
});

test("a server that is killed, and a run that is detached", async (t) => {
  const place = new Place(t);
  const s = place.engine.session();
  await s.exec("x = 5");
  const kill = (e: documents.Event) => e.event === "output" && process.kill(place.serverFile()!.pid, "SIGKILL");
  const e = await refused(s.exec(LONG, { onEvent: kill }));
  equal(e.code, "server-gone");
  assert.match(e.hint, /call again/);
  equal((await s.exec("x", { replace: "long" })).result, "5"); // of a new server
  const leave = (e: documents.Event) => {
    if (e.event === "output") throw new RangeError();
  };
  const detached = s.exec("import time\nprint('began', flush=True)\ntime.sleep(1)\nz = 8", {
    onEvent: leave,
    detach: true,
  });
  await assert.rejects(detached, RangeError);
  await until(async () => (await place.engine.runs()).length === 0);
  equal((await s.value("z")).text, "8");
});

test("a client that is killed", async (t) => {
  const place = new Place(t);
  await place.engine.session().exec("x = 5");
  const client = `import { Engine } from ${JSON.stringify(new URL("../src/index.js", import.meta.url))};
    const session = new Engine(${JSON.stringify(place.folder)}).session();
    await session.exec(${JSON.stringify(LONG)}, { onEvent: (e) => console.log(e.event) });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", client], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const said of child.stdout) if (String(said).includes("output")) break;
  child.kill("SIGKILL");
  await until(async () => (await place.engine.runs()).length === 0);
  equal((await place.engine.session().exec("x")).result, "5");
});

test("TCP", async (t) => {
  const place = new Place(t);
  const store = path.join(place.folder, ".xstate");
  execFileSync(BINARY, ["serve", "--background", "--store", store, "--listen", "127.0.0.1:0"], { stdio: "ignore" });
  const url = place.serverFile()!.http;
  equal((await place.newEngine({ url }).session().exec("1 + 1")).result, "2");
  equal((await refused(place.newEngine({ url, token: "wrong" }).sessions())).code, "forbidden");
  await place.engine.stop();
  equal((await refused(place.newEngine({ url, token: "t" }).sessions())).code, "no-server");
  equal((await refused(place.newEngine({ url: "localhost" }).sessions())).code, "usage");
});

test("without a server", async (t) => {
  const { folder } = new Place(t);
  const none = await refused(new Engine(folder, { binary: "no-such-xstate" }).session().exec("1"));
  equal(none.code, "no-xstate");
  assert.match(none.hint, /npm install/);
  equal((await refused(new Engine(folder, { binary: "false" }).session().exec("1"))).code, "no-server");
  const idle = await refused(new Engine(folder, { binary: BINARY, idle: "soon" }).session().exec("1"));
  equal(idle.code, "usage");
  assert.match(idle.message, /idle: '5s'/);
  assert.doesNotMatch(idle.message, /--/);
  const quiet = await refused(new Engine(folder, { binary: BINARY, start: false }).sessions());
  equal(quiet.code, "no-server");
  assert.match(quiet.hint, /xstate serve/);
  assert.throws(() => new Engine(path.join(folder, "none")), { code: "no-workspace" });
});

test("a server that says nothing, or something else", async (t) => {
  const { folder } = new Place(t);
  const socket = path.join(folder, ".xstate", "s");
  fs.mkdirSync(path.dirname(socket));
  fs.writeFileSync(path.join(folder, ".xstate/server.json"), JSON.stringify({ socket }));
  let says = "";
  const server = net.createServer((c) => c.on("error", () => {}).once("data", () => says && c.end(says)));
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  t.after(() => server.close());
  const engine = new Engine(folder, { timeout: 0.2 });
  equal((await refused(engine.sessions())).code, "timeout");
  const answers = {
    "HTTP/1.1 200 OK\r\n\r\nhello": "internal",
    "HTTP/1.1 500 no\r\n\r\nno": "internal",
    hello: "internal",
  };
  for (says of Object.keys(answers)) {
    equal(
      (await refused(engine.call("RunService/ListRuns", {}, { executes: true }))).code,
      answers[says as keyof typeof answers],
      says,
    );
  }
  says = "HTTP/1.1 200 OK\r\ncontent-type: application/connect+json\r\n\r\n\0\0\0\0\x02{}";
  equal((await refused(engine.session().exec("1"))).code, "internal");
});

test("the page", async (t) => {
  const { folder } = new Place(t);
  const readme = fs.readFileSync(path.join(path.dirname(fileURLToPath(import.meta.url)), "../../README.md"), "utf8");
  const [, code] = /```ts\n(.*?)```/s.exec(readme)!;
  const script = code!.replace('"@xstate-engine/client"', JSON.stringify(new URL("../src/index.js", import.meta.url)));
  fs.mkdirSync(path.join(folder, "work/.xstate"), { recursive: true });
  const said = execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd: folder, encoding: "utf8" });
  await new Engine(path.join(folder, "work"), { binary: BINARY }).stop();
  assert.match(said, /^12 \{ ran: 1, reused: 1/);
  assert.match(said, /48\n/);
});
