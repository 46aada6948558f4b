import assert from "node:assert/strict";
import test from "node:test";

import { Spent, ToolNotSent, ToolRefused } from "../src/index.js";
import type { Tool, ToolFunction } from "../src/index.js";
import { Place, equal, refused } from "./support.js";

const SEARCH = "# %% a\nimport xstate\nr = xstate.tool('search', q='k')\nprint(r['n'], r['q'])";

function reversible(call: ToolFunction): Tool {
  return { call, effect: "reversible" };
}

test("a call is served when the code changes", async (t) => {
  const s = new Place(t).engine.session("main", { origin: { agent: "tester" } });
  const called: string[] = [];
  const keys: string[] = [];
  const search: Tool = {
    effect: "read",
    call: ({ q }, { idempotencyKey }) => (keys.push(idempotencyKey), { n: called.push(q), q }),
  };
  equal([(await s.exec(SEARCH, { tools: { search } })).check().text, called], ["1 k\n", ["k"]]);
  equal(
    keys.map((k) => k.length),
    [64],
  );
  equal((await s.exec(SEARCH + "\nprint('again')", { tools: { search } })).check().text, "1 k\nagain\n");
  const other = await s.exec("# %% b\nprint(xstate.tool('search', q='z')['n'], r['n'])", { tools: { search } });
  equal([other.check().text, called], ["2 1\n", ["k", "z"]]);
  const calls = await s.calls();
  equal(
    calls.calls.map((c) => [c.tool, c.state, c.block, c.agent]),
    ["b", "a"].map((b) => ["search", "answered", b, "tester"]),
  );
  equal([calls.calls[0]?.result, calls.total?.calls], [{ n: 2, q: "z" }, 2]);
});

test("a refusal reaches the code, and what was not sent is called again", async (t) => {
  const s = new Place(t).engine.session();
  const pay = reversible(() => {
    throw new ToolRefused("no money");
  });
  const code = "import xstate\ntry:\n    xstate.tool('pay', amount=3)\nexcept xstate.ToolError as e:\n    print(e)";
  equal((await s.exec(code, { tools: { pay } })).check().text, "pay: no money\n");
  let tried = 0;
  const order = reversible(() => {
    if (tried++ === 0) throw new ToolNotSent("no line");
    return "done";
  });
  const ordering = "# %% o\nimport xstate\nprint(xstate.tool('order', what='tea'))";
  equal((await s.exec(ordering, { tools: { order } })).error?.type, "CallLost");
  equal((await s.exec(ordering, { tools: { order } })).check().text, "done\n");
});

test("what may have happened waits for a person", async (t) => {
  const s = new Place(t).engine.session();
  const called: string[] = [];
  const order = reversible(({ what }) => {
    called.push(what);
    throw new Error("the line is dead");
  });
  const code = "# %% o\nimport xstate\nprint(xstate.tool('order', what='tea'))";
  const r = await s.exec(code, { tools: { order } });
  equal([r.ok, r.status, r.waiting.map((w) => w.choices)], [false, "waiting", [["again", "happened", "failed"]]]);
  const { call } = r.waiting[0]!;
  equal(
    (await s.calls({ waiting: true })).calls.map((c) => c.call),
    [call],
  );
  equal((await refused(s.approve(call, { choice: "perhaps" }))).code, "no-choice");
  const done = await s.approve(call, { choice: "happened", result: { id: 5 }, by: "ada" });
  equal([done.calls[0]?.state, done.calls[0]?.result], ["answered", { id: 5 }]);
  equal([(await s.exec(code, { tools: { order } })).check().text, called], ["{'id': 5}\n", ["tea"]]);
});

test("calls run at the same time, and a result that JSON has not is an error", async (t) => {
  const s = new Place(t).engine.session();
  let met = 0;
  let both = () => {};
  const together = new Promise<void>((resolve) => (both = resolve));
  const meet: Tool = { effect: "read", call: async ({ i }) => (++met === 2 ? both() : await together, i) };
  const code = `import xstate
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(2) as pool:
    print(list(pool.map(lambda i: xstate.tool('meet', i=i), range(2))))`;
  equal((await s.exec(code, { tools: { meet } })).check().text, "[0, 1]\n");
  const wrong: Tool = { effect: "read", call: () => ({ a: [NaN] }) };
  const r = await s.exec("import xstate\nxstate.tool('wrong')", { tools: { wrong } });
  assert.match(String(r), /JSON has no NaN/);
  const much: Tool = { effect: "read", call: () => "a".repeat(20 << 20) };
  assert.match(String(await s.exec("import xstate\nxstate.tool('much')", { tools: { much } })), /too-large: /);
  const nothing: Tool = { effect: "read", call: () => undefined };
  equal((await s.exec("import xstate\nprint(xstate.tool('nothing'))", { tools: { nothing } })).check().text, "None\n");
});

test("a schema is checked before the call; models and what they spend", async (t) => {
  const s = new Place(t).engine.session();
  const input = { type: "object", properties: { q: {} }, required: ["q"], additionalProperties: false };
  const search: Tool = { input, call: () => assert.fail("it was called"), effect: "read" };
  const r = await s.exec("import xstate\nxstate.tool('search', query='k')", { tools: { search } });
  equal(r.error?.type, "ToolError");
  const models = { wise: () => new Spent("42", { inputTokens: 10, outputTokens: 4, costUsd: 0.5 }) };
  equal((await s.exec("# %% m\nimport xstate\nprint(xstate.llm('why', model='wise'))", { models })).text, "42\n");
  const { calls } = await s.calls();
  equal([calls[0]?.kind, calls[0]?.input_tokens, calls[0]?.output_tokens], ["model", 10, 4]);
});

test("a call that the run does not wait for is told so", async (t) => {
  const { engine } = new Place(t);
  const s = engine.session();
  let aborted = false;
  const slow: Tool = {
    effect: "read",
    call: (_, { signal }) => {
      void s.interrupt();
      return new Promise((resolve) => signal.addEventListener("abort", () => ((aborted = true), resolve(null))));
    },
  };
  const r = await s.exec("import xstate\nxstate.tool('slow')", { tools: { slow } });
  equal([r.takenBack, aborted], [true, true]);
});
