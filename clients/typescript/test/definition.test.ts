/** The client sends what the API defines, and offers all of it. */

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";

import { Engine, Spent, ToolNotSent, ToolRefused, VERSION } from "../src/index.js";
import type { Tool } from "../src/index.js";
import { Offering } from "../src/offers.js";
import { ROOT } from "./support.js";

const PACKAGE = new URL("../../", import.meta.url);
const PROTO = fs.readFileSync(path.join(ROOT, "api/xstate/v1/services.proto"), "utf8");

/** The fields of each message, by its name. */
const messages = new Map(
  [...PROTO.matchAll(/^message (\w+) \{([^]*?)\}\n(?=\n|$(?![^]))/gm)].map(([, name, body]) => [
    name!,
    [...body!.matchAll(/^\s+(?:repeated |optional )?[\w.<>, ]+? (\w+) = \d+;/gm)].map((field) => field[1]!),
  ]),
);

/** Fields that the methods leave to engine.call. */
const LEFT_OUT: Record<string, string[]> = {
  PlanRequest: ["python"], // Engine has it, as a variable of the environment: ExecRequest lacks it
  RunRequest: ["python"],
  ValueRequest: ["place"], // a part at a time is for the page, which people look at
  EditRequest: ["detach"],
};

test("requests have the fields of the API", async () => {
  const sent = new Map<string, Set<string>>();
  const keep = (method: string, request: object) => {
    const fields = sent.get(method) ?? new Set();
    for (const name of Object.keys(request)) fields.add(name);
    sent.set(method, fields);
  };
  const engine = new Engine(".", { origin: { agent: "a" } });
  engine.transport = {
    call: async (method, request) => (keep(method, request), { session: "new" }),
    stream: async (method, request, each) => {
      keep(method, request);
      await each({ version: 1, event: "done", exec: {}, result: {} } as never);
    },
  };
  const tool: Tool = {
    call: () => 1,
    effect: "read",
    description: "d",
    input: {},
    output: {},
    scope: "s",
    lifetimeSeconds: 1,
    undo: "u",
    version: "v",
    identity: ["i"],
  };
  const offers = { tools: { t: tool }, models: { m: tool } };
  const { tools } = new Offering({ t: tool }).request() as { tools: object[] };
  assert.deepEqual(Object.keys(tools[0]!).sort(), messages.get("ToolDefinition")!.sort());
  const s = engine.session("s");
  await s.exec("1", { replace: "b", append: true, language: "l", budget: 1, timeout: 1, detach: true, ...offers });
  await s.run("f.py", {
    arguments: ["a"],
    timeout: 1,
    detach: true,
    verify: true,
    fresh: true,
    always: ["a"],
    never: ["b"],
    restoreFiles: true,
    jobs: 2,
    remoteJobs: 2,
    elsewhere: true,
    write: true,
    expect: 1,
    merge: true,
    contents: "c",
    until: "b",
    ...offers,
  });
  await s.calls({ waiting: true, tool: "t", block: "b", since: 1, cost: true });
  await s.approve(1, { choice: "c", deny: true, reason: "r", result: null, by: "b" });
  const spent = new Spent(1, { inputTokens: 2, outputTokens: 3, costUsd: 4 });
  const refuse = (e: Error) => () => {
    throw e;
  };
  for (const call of [() => spent, ...[new ToolRefused("x"), new ToolNotSent("x"), new Error("x")].map(refuse)]) {
    const event = { version: 1, event: "call", call: 1, tool: "t" };
    keep("CallService/AnswerCall", await new Offering({ t: call }).answer(event, new AbortController().signal));
  }
  await s.edit("p", { format: "diff", block: "b", expect: 3, merge: true, dryRun: true, run: true, timeout: 1 });
  await s.undo(3, { by: "a", dryRun: true, keepFile: true });
  await s.rollback(0, { keepFile: true });
  await s.fork("n", { atStep: 0, private: true });
  await s.plan("f.py", { arguments: ["a"], contents: "" });
  await s.why("b");
  await s.value("x", { atStep: 0, at: "t" });
  await s.history({ limit: 0, after: 1 });
  await s.show("b");
  await s.diff(1, 2);
  const questions = [
    { block: "x" },
    { symbol: "x" },
    { affectedBy: "x" },
    { dependsOn: "x" },
    { version: "x" },
    { patch: 1 },
    { where: "x", limit: 1, after: "x" },
    { failed: true },
    { unverified: true },
    { volatile: true },
    { path: ["a", "b"], atStep: 0, at: "t" },
  ];
  for (const question of questions) await s.query(question as never);
  await engine.sessions();
  await engine.runs();
  await engine.interrupt({ session: "", started: "1", unwanted: true, offering: new Offering() });

  const rpcs = new Map([...PROTO.matchAll(/rpc (\w+)\((\w+)\)/g)].map(([, name, message]) => [name!, message!]));
  assert.ok(messages.size > 15);
  for (const [method, fields] of sent) {
    const [service, name] = method.split("/");
    assert.ok(PROTO.includes(`service ${service} `), method);
    const message = rpcs.get(name!)!;
    const want = messages.get(message)!.filter((field) => !LEFT_OUT[message]?.includes(field));
    assert.deepEqual([...fields].sort(), want.sort(), message);
  }
  const left = [...rpcs.keys()].filter((name) => ![...sent.keys()].some((method) => method.endsWith("/" + name)));
  const bare = ["CheckVerifier", "Evidence", "Exec", "Flow", "Get", "GetCall", "Replay", "Run", "Verify"];
  assert.deepEqual(left.sort(), bare);
});

test("the version is the package's", () => {
  assert.equal(JSON.parse(fs.readFileSync(new URL("package.json", PACKAGE), "utf8")).version, VERSION);
});
