/** Executors and sandboxes: each call gives what executing it now gives, whatever was executed before. */

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";

import type { Executor } from "@cloudflare/codemode/browser";
import { createCodeTool, tanstackTools } from "@cloudflare/codemode/tanstack-ai";
import { chat, maxIterations, toolDefinition } from "@tanstack/ai";
import { createCodeMode } from "@tanstack/ai-code-mode";
import type { IsolateDriver } from "@tanstack/ai-code-mode";
import { generateText, jsonSchema, stepCountIs, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

import { sandbox } from "../src/adapters/ai-sandbox.js";
import { executor } from "../src/adapters/codemode.js";
import type { Provider } from "../src/adapters/codemode.js";
import { isolateDriver } from "../src/adapters/tanstack.js";
import { scripted } from "./script.js";
import { Place, equal, refused } from "./support.js";

const NEW = "cat /proc/sys/kernel/random/uuid"; // another line each time, and no system call says so

/** Executes these commands by a tool of an agent of the AI SDK, and returns what the model reads. */
async function shell(
  place: Place,
  commands: string[],
): Promise<{ exitCode: number; stdout: string; stderr: string }[]> {
  const usage = { inputTokens: { total: 10 }, outputTokens: { total: 4 } };
  const model: MockLanguageModelV4 = new MockLanguageModelV4({
    doGenerate: async () => {
      const command = commands[model.doGenerateCalls.length - 1];
      const call = { type: "tool-call", toolCallId: "same", toolName: "shell", input: JSON.stringify({ command }) };
      const content = command === undefined ? { type: "text", text: "done" } : call;
      const unified = command === undefined ? "stop" : "tool-calls";
      return { content: [content], finishReason: { unified }, usage, warnings: [] } as never;
    },
  });
  const inputSchema = jsonSchema<{ command: string }>({ type: "object", properties: { command: { type: "string" } } });
  await generateText({
    model,
    tools: {
      shell: tool({
        inputSchema,
        execute: ({ command }, { abortSignal, experimental_sandbox }) =>
          experimental_sandbox!.run({ command, abortSignal }),
      }),
    },
    experimental_sandbox: sandbox(place.engine),
    prompt: "go",
    stopWhen: stepCountIs(commands.length + 1),
  });
  const prompt = model.doGenerateCalls.at(-1)!.prompt as { role: string; content: any[] }[];
  return prompt.filter((m) => m.role === "tool").map((m) => m.content[0].output.value);
}

test("AI SDK's sandbox: a command has all effects of those before, and is never served", async (t) => {
  const told = await shell(new Place(t), [
    "echo a >> f; cat f",
    "echo a >> f; cat f",
    "rm f; echo gone >&2; exit 3",
    "cat f; cd /; x=1",
    'pwd; echo "it\'s ${x-unset}"',
    NEW,
    NEW,
  ]);
  equal(
    told.slice(0, 3).map((r) => [r.exitCode, r.stdout, r.stderr]),
    [
      [0, "a\n", ""],
      [0, "a\na\n", ""],
      [3, "", "gone\n"],
    ],
  );
  assert.match(told[3]!.stderr, /No such file/);
  assert.match(told[4]!.stdout, /^\/.*xse.*\nit's unset\n$/);
  assert.notEqual(told[5]!.stdout, told[6]!.stdout);
});

test("AI SDK's sandbox: files are those of commands", async (t) => {
  const place = new Place(t);
  const box = sandbox(place.engine);
  await box.writeTextFile({ path: "d/x", content: "a\nb\nc" });
  equal(await box.run({ command: "cat x", workingDirectory: "d" }), { exitCode: 0, stdout: "a\nb\nc", stderr: "" });
  await box.run({ command: "printf '\\377\\0' > bytes; ln -s d link" });
  equal([...(await box.readBinaryFile({ path: "bytes" }))!], [255, 0]);
  await box.writeFile({ path: "copy", content: (await box.readFile({ path: "link/x" }))! });
  equal(await box.readTextFile({ path: "copy", startLine: 2, endLine: 9 }), "b\nc");
  equal(await box.stat({ path: path.join(place.folder, "copy") }), { type: "file", size: 5 });
  const entries = (await box.listDirectory({ path: "." }))!;
  equal(
    entries.sort((a, b) => a.name.localeCompare(b.name)),
    [
      { name: "bytes", type: "file" },
      { name: "copy", type: "file" },
      { name: "d", type: "directory" },
      { name: "link", type: "symlink" },
    ],
  );
  equal([await box.deleteFile({ path: "copy" }), await box.deleteFile({ path: "copy" })], [true, false]);
  equal([await box.readFile({ path: "copy" }), await box.stat({ path: "none/x" })], [null, null]);
  await assert.rejects(Promise.resolve(box.readTextFile({ path: "d" })), /EISDIR/);
});

test("AI SDK's sandbox: what lies outside of the folder is refused", async (t) => {
  const place = new Place(t);
  const box = sandbox(place.engine);
  await box.run({ command: "ln -s / root; ln -s /nowhere/x gone" });
  for (const name of ["../x", "/etc/passwd", ".xstate/history.db", "root/etc/passwd", "root/new"]) {
    equal((await refused(Promise.resolve(box.readTextFile({ path: name })))).code, "forbidden", name);
    equal((await refused(Promise.resolve(box.writeTextFile({ path: name, content: "" })))).code, "forbidden", name);
    equal((await refused(Promise.resolve(box.deleteFile({ path: name })))).code, "forbidden", name);
  }
  await assert.rejects(Promise.resolve(box.writeTextFile({ path: "gone", content: "" })));
  equal(await box.deleteFile({ path: "gone" }), true);
  const command = "cat";
  equal((await refused(Promise.resolve(box.run({ command, env: { KEY: "secret" } })))).code, "usage");
  equal((await refused(Promise.resolve(box.spawn({ command, stdin: true })))).code, "usage");
});

test("AI SDK's sandbox: a command that is killed or aborted leaves no files", async (t) => {
  const place = new Place(t);
  const box = sandbox(place.engine);
  const process = await box.spawn({ command: "echo began; echo > left; sleep 600" });
  const reader = process.stdout.getReader();
  equal(Buffer.from((await reader.read()).value!).toString(), "began\n");
  await process.kill();
  equal([await process.wait(), (await reader.read()).done], [{ exitCode: 137 }, true]);
  const gone = AbortSignal.abort(new Error("enough"));
  await assert.rejects(Promise.resolve(box.run({ command: "echo > left", abortSignal: gone })), /enough/);
  const counts = [1, 2, 3].map((n) => box.run({ command: `echo ${n} >> all; cat all | wc -l` }));
  equal(
    (await Promise.all(counts)).map((r) => r.stdout.trim()),
    ["1", "2", "3"],
  );
  equal(fs.existsSync(path.join(place.folder, "left")), false);
});

let asked = 0;
const by = z.object({ by: z.number() });
const counted = async (given: { by: number }) => ({ count: (asked += given.by) });
const counts = toolDefinition({ name: "count", description: "Counts.", inputSchema: by }).server(counted);
const refuses = toolDefinition({ name: "refuse-all", description: "Says no." }).server(async () => {
  throw new Error("no money (of yours)");
});

/** Sends these codes, one after the other, to the tool of a code mode, and returns what the model reads. */
async function sent(tools: any[], argument: string, codes: string[]): Promise<any[]> {
  let found: string[] = [];
  const adapter = scripted((offered, results) => {
    found = results;
    const code = codes[results.length];
    return code === undefined ? [] : [[offered[0]!.name, JSON.stringify({ [argument]: code })]];
  });
  await chat({
    adapter,
    messages: [{ role: "user", content: "go" }],
    tools,
    stream: false,
    agentLoopStrategy: maxIterations(9),
  });
  return found.map((text) => JSON.parse(text));
}

test("Cloudflare's code mode: a snippet is executed, and its tools are called, each time", async (t) => {
  const { engine } = new Place(t);
  const ours: Executor = executor(engine); // it is one of Cloudflare's
  const tools = [createCodeTool({ tools: [tanstackTools([counts, refuses])], executor: ours })];
  asked = 0;
  const twice = `async () => {
    console.log("counting", { by: 2 });
    return [await codemode.count({ by: 2 }), await codemode.count({ by: 2 })];
  }`;
  const fails =
    "async () => { try { await codemode.refuse_all({}); } catch (e) { return `${e.name}: ${e.message}`; } }";
  const drawn = `async () => require("node:child_process").execSync("${NEW}").toString()`;
  const told = await sent(tools, "code", [twice, twice, fails, drawn, drawn, "async () => { return y; }"]);
  const logs = ["counting { by: 2 }"];
  equal(told.slice(0, 3), [
    { result: [{ count: 2 }, { count: 4 }], logs },
    { result: [{ count: 6 }, { count: 8 }], logs },
    { result: "Error: no money (of yours)" },
  ]);
  assert.notEqual(told[3].result, told[4].result);
  assert.match(JSON.stringify(told[5]), /y is not defined/);
});

test("Cloudflare's code mode: namespaces, preludes, and code that cannot be executed", async (t) => {
  const { engine } = new Place(t);
  const { execute } = executor(engine, { timeout: 1 });
  const providers: Provider[] = [
    { name: "call", fns: { query: async (sql: unknown, limit: unknown) => [sql, limit] } },
    {
      name: "codemode",
      fns: { delete: async () => "gone" },
      prelude: "codemode.twice = async (f) => [await f(), await f()];",
    },
  ];
  equal(await execute('async () => codemode.twice(() => call.query("```js", 3))', providers), {
    result: [
      ["```js", 3],
      ["```js", 3],
    ],
  });
  equal(await execute("async () => codemode.delete_()", providers), { result: "gone" });
  equal(await execute("async () => codemode.call()", { call: async () => undefined }), { result: null });
  const prints = 'process.stdout.write("raw"); setTimeout(() => process.stdout.write("late"), 1)';
  equal(await execute(`async () => { ${prints}; return [..."\\x1e\\n"]; }`, []), {
    result: ["\x1e", "\n"],
    logs: ["raw", "late"],
  });
  for (const [code, error] of [
    ["async () => { return )", /closing '\)'/],
    ["async () => { for (;;); }", /stopped after 1s/],
    ["async () => { process.exit(3); }", /exit code 3/],
    ["async () => 1n", /BigInt/],
  ] as const) {
    const told = await execute(code, []);
    assert.match(told.error!, error);
    equal(told.result, undefined);
  }
});

test("TanStack AI's code mode: a snippet is executed, and its tools are called, each time", async (t) => {
  const { engine } = new Place(t);
  const driver: IsolateDriver = isolateDriver(engine); // it is one of TanStack's
  asked = 0;
  const { tool: code } = createCodeMode({ driver, tools: [counts] });
  const add = "const n: number = 3;\nconsole.error('adding');\nreturn (await external_count({ by: n })).count; // end";
  const told = await sent([code], "typescriptCode", [add, add, "throw new TypeError('a bad type')"]);
  equal(told, [
    { success: true, result: 3, logs: ["ERROR: adding"] },
    { success: true, result: 6, logs: ["ERROR: adding"] },
    { success: false, error: { name: "TypeError", message: "a bad type" }, logs: [] },
  ]);
  const { sessions } = (await engine.call("SessionService/List", {})) as { sessions: { session: string }[] };
  const all = await Promise.all(sessions.map(({ session }) => engine.session(session).calls()));
  const recorded = all.flatMap(({ calls }) => calls.map((c) => `${c.tool} ${JSON.stringify(c.result)}`));
  equal(recorded.sort(), ['external_count {"count":3}', 'external_count {"count":6}']);
});
