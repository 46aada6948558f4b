/** What a client that is used carelessly must survive. */

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";

import { Engine } from "../src/index.js";
import type { Tool } from "../src/index.js";
import { exact, written } from "../src/offers.js";
import { LONG, Place, equal, refused, until } from "./support.js";

test("integers keep their digits", async (t) => {
  const text = '{"a":12345678901234567891,"b":[-9007199254740993,1.5e300,12],"c":"12345678901234567891 \\\\\\" 1"}';
  equal(written(exact(text)), text.replace("1.5e300", "1.5e+300"));
  const echo: Tool = { effect: "pure", call: ({ id }) => id };
  const code = "import xstate\nxstate.tool('echo', id=12345678901234567891)";
  equal((await new Place(t).engine.session().exec(code, { tools: { echo } })).result, "12345678901234567891");
});

test("what JSON cannot hold is an error", () => {
  for (const [value, kind] of [
    [new Map(), "Map"],
    [{ a: new Set() }, "Set"],
    [[new Error("x")], "Error"],
    [Promise.resolve(1), "Promise"],
    [new Date(NaN), "invalid Date"],
    [{ a: NaN }, "NaN"],
    [() => 1, "function"],
    [[1][Symbol.iterator](), "Iterator"],
    [new Uint8Array(1), "Uint8Array"],
  ] as const) {
    assert.throws(() => written(value), new RegExp(`JSON has no .*${kind}`), kind);
  }
  const cycle: Record<string, unknown> = {};
  cycle["a"] = cycle;
  assert.throws(() => written(cycle), TypeError);
  equal(written({ a: undefined, b: new Date(0), c: null }), '{"b":"1970-01-01T00:00:00.000Z","c":null}');
});

test("a tool that throws what has no text", async (t) => {
  const bad: Tool = {
    effect: "read",
    call: () => {
      throw Object.create(null);
    },
  };
  const r = await new Place(t).engine.session().exec("import xstate\nxstate.tool('bad')", { tools: { bad } });
  equal(r.error?.type, "CallLost");
});

test("requests that cannot be sent", async (t) => {
  const s = new Place(t).engine.session();
  equal((await refused(s.exec(`b = '${"x".repeat(20e6)}'`))).code, "too-large");
  equal((await refused(s.exec("'\ud800'"))).code, "usage");
  equal((await s.exec("'\\ud800 \u{1F600}'[0] == chr(0xd800)")).result, "True");
  equal((await refused(s.exec("1", { timeout: NaN }))).code, "usage");
});

test("large answers come in time that is linear in them", async (t) => {
  const s = new Place(t).engine.session();
  const r = await s.exec("'q' * 8_000_000", { budget: 1e8 });
  equal(r.result?.length, 8_000_002);
});

test("an abort ends a call whose event is not handled yet, and one that starts a server", async (t) => {
  const place = new Place(t);
  const cut = new AbortController();
  const onEvent = () => (cut.abort(), new Promise(() => {}));
  await assert.rejects(place.engine.session().exec(LONG, { onEvent, signal: cut.signal }), { name: "AbortError" });
  await until(async () => (await place.engine.runs()).length === 0);

  const binary = path.join(place.folder, "slow");
  fs.writeFileSync(binary, "#!/bin/sh\nexec sleep 20\n", { mode: 0o755 });
  const slow = new Engine(place.folder, { binary, store: path.join(place.folder, "other"), timeout: 0.2 });
  equal((await refused(slow.sessions())).code, "timeout");
  const signal = AbortSignal.timeout(100);
  await assert.rejects(slow.session().exec("1", { signal }), { name: "TimeoutError" });
});

test("servers that cannot be", async (t) => {
  const { folder } = new Place(t);
  const binary = path.join(folder, "bad");
  fs.writeFileSync(binary, "#!/nowhere/sh\n", { mode: 0o755 });
  equal((await refused(new Engine(folder, { binary }).sessions())).code, "no-server");
  equal((await refused(new Engine(folder, { url: "http://no.such.host.invalid:1" }).sessions())).code, "no-server");
  const gone = path.join(folder, "gone");
  fs.mkdirSync(gone);
  const engine = new Engine(gone);
  fs.rmdirSync(gone);
  equal((await refused(engine.sessions())).code, "no-workspace");
});

test("many calls with one signal give no warning", async (t) => {
  const { engine } = new Place(t);
  const { signal } = new AbortController();
  const warned = t.mock.method(process, "emitWarning", () => {});
  const meet: Tool = { effect: "read", call: ({ i }) => i };
  const all = "from concurrent.futures import ThreadPoolExecutor as P\nimport xstate\n";
  const code = `${all}with P(20) as p:\n    print(sum(p.map(lambda i: xstate.tool('meet', i=i), range(20))))`;
  equal((await engine.session().exec(code, { tools: { meet }, signal })).text, "190\n");
  await Promise.all(Array.from({ length: 20 }, () => engine.call("RunService/ListRuns", {}, { signal })));
  equal(warned.mock.callCount(), 0);
});
