/** What every adapter must do, and the ways of each framework, with the framework's own model for tests. */

import assert from "node:assert/strict";
import test from "node:test";

import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { AIMessage, createAgent, fakeModel } from "langchain";
import type { ToolMessage } from "langchain";

import * as ai from "../src/adapters/ai.js";
import * as langchain from "../src/adapters/langchain.js";
import type { AdapterOptions } from "../src/adapters/shared.js";
import type { Session } from "../src/index.js";
import { PICTURE, Place, equal } from "./support.js";

/** What a model gets for its call. */
interface Answer {
  text: string;
  images: string[];
}

/** Runs an agent whose model sends these codes, each in an answer of its own, in calls with these ids. */
type Run = (session: Session, codes: string[], ids?: string[], options?: AdapterOptions) => Promise<Answer[]>;

async function aiAnswers(session: Session, turns: [id: string, code: string][][], options?: AdapterOptions) {
  const usage = { inputTokens: { total: 10, noCache: 10 }, outputTokens: { total: 4, text: 4 } };
  const model: MockLanguageModelV4 = new MockLanguageModelV4({
    doGenerate: async () => {
      const calls = turns[model.doGenerateCalls.length - 1] ?? [];
      const content = calls.map(([toolCallId, code]) => {
        return { type: "tool-call", toolCallId, toolName: "run_code", input: JSON.stringify({ code }) };
      });
      const reason = { unified: calls.length ? "tool-calls" : "stop", raw: undefined };
      return {
        content: content.length ? content : [{ type: "text", text: "done" }],
        finishReason: reason,
        usage,
        warnings: [],
      } as never;
    },
  });
  const tools = { run_code: ai.runCode(session, options) };
  await generateText({ model, tools, prompt: "go", stopWhen: stepCountIs(9) });
  const prompt = model.doGenerateCalls.at(-1)!.prompt as { role: string; content: any[] }[];
  return prompt.filter((m) => m.role === "tool").flatMap((m) => m.content.map((part) => part.output));
}

const withAI: Run = async (session, codes, ids = codes, options) => {
  const found = await aiAnswers(
    session,
    codes.map((code, i) => [[ids[i]!, code]]),
    options,
  );
  return found.map((output) => {
    const parts = output.type === "content" ? output.value : [{ text: output.value }];
    return { text: parts[0].text, images: parts.slice(1).map((p: any) => p.data.data) };
  });
};

async function messages(session: Session, turns: [id: string, code: string][][], options?: AdapterOptions) {
  let model = fakeModel();
  for (const calls of turns) {
    const tool_calls = calls.map(([id, code]) => ({
      name: "run_code",
      args: { code },
      id,
      type: "tool_call" as const,
    }));
    const usage_metadata = { input_tokens: 10, output_tokens: 4, total_tokens: 14 };
    model = model.respond(
      new AIMessage({ content: "", tool_calls, usage_metadata, response_metadata: { model_name: "script-1" } }),
    );
  }
  model = model.respond(new AIMessage("done"));
  const agent = createAgent({ model, tools: [langchain.runCode(session, options)], name: "coder" });
  const state = await agent.invoke({ messages: [{ role: "user", content: "go" }] });
  return state.messages.filter((m) => m.getType() === "tool") as ToolMessage[];
}

const withLangChain: Run = async (session, codes, ids = codes, options) => {
  const found = await messages(
    session,
    codes.map((code, i) => [[ids[i]!, code]]),
    options,
  );
  return found.map(({ content }) => {
    const parts: any[] = typeof content === "string" ? [{ text: content }] : content;
    return { text: parts[0].text, images: parts.slice(1).map((p) => p.data) };
  });
};

for (const [name, run] of [
  ["AI SDK", withAI],
  ["LangChain", withLangChain],
] as const) {
  test(`${name}: define, use, correct`, async (t) => {
    const s = new Place(t).engine.session();
    const codes = [
      "# %% prices\nprices = [3, 5, 4]",
      "# %% total\nprint('total', sum(prices))",
      "# %% prices\nprices = [3, 5, 40]",
    ];
    const [first, second, third] = await run(s, codes);
    equal([first, second?.text], [{ text: "no output\n", images: [] }, "total 12\n"]);
    assert.match(third!.text, /block total ran because of it \(input-changed: var:prices by prices\)\ntotal 48\n/);
  });

  test(`${name}: an error, and its correction`, async (t) => {
    const s = new Place(t).engine.session();
    const [, told, well] = await run(s, ["n = 20", "print(n / zero)", "zero = 4\nprint(n / zero)"]);
    assert.match(told!.text, /NameError/);
    equal([well?.text, (await s.query({ failed: true })).blocks], ["5.0\n", []]);
  });

  test(`${name}: pictures`, async (t) => {
    const { engine } = new Place(t);
    const [told] = await run(engine.session(), [PICTURE]);
    equal(
      told?.images.map((i) => Buffer.from(i, "base64").toString("latin1", 1, 4)),
      ["PNG"],
    );
    const [blind] = await run(engine.session("blind"), [PICTURE], ["x"], { pictures: false });
    equal(blind?.images, []);
    assert.match(blind!.text, /\[image\/png 70 B: /);
  });

  test(`${name}: origin; a repeated call is one submission`, async (t) => {
    const s = new Place(t).engine.session("main", { origin: { reason: "asked" } });
    const first = await run(s, ["print('once')"], ["call-a"]);
    const { steps } = await s.history({ limit: 0 });
    const { call_id, reason } = steps.at(-1)!.origin as Record<string, unknown>;
    equal([call_id, reason], ["call-a", "asked"]);
    equal(
      [await run(s, ["print('once')"], ["call-a"]), (await s.history({ limit: 0 })).steps.length],
      [first, steps.length],
    );
  });

  test(`${name}: an error of xstate is the framework's`, async (t) => {
    const [told] = await run(new Place(t).engine.session(), ["x = 1"], ["a"], { language: "cobol" });
    assert.match(told!.text, /usage: there is no language "cobol"/);
  });

  test(`${name}: what waits`, async (t) => {
    const s = new Place(t).engine.session();
    const [told] = await run(s, ["# %% ask\nimport xstate\nway = xstate.ask('sell?', choices=['yes', 'no'])"]);
    assert.match(told!.text, /waits for a decision: sell\?/);
    await s.approve((await s.calls({ waiting: true })).calls[0]!.call, { choice: "no" });
    const [after] = await run(s, ["# %% use\nprint('way', way)"]);
    assert.match(after!.text, /way no\n/);
  });
}

test("LangChain: who called, and the tokens of an answer with two calls", async (t) => {
  const s = new Place(t).engine.session();
  const [message] = await messages(s, [
    [
      ["a", "x = 1"],
      ["b", "# %% other\ny = 2"],
    ],
    [["c", "# %% third\nz = 3"]],
  ]);
  equal((message?.artifact as { status: string }).status, "ran");
  const { steps } = await s.history({ limit: 0 });
  const origins = steps.map((step) => step.origin as Record<string, unknown>).filter((o) => o?.["call_id"]);
  const edits = new Map(origins.map((o) => [o["call_id"], [o["agent"], o["model"], o["tokens_in"], o["tokens_out"]]]));
  equal(edits.get("a"), ["coder", "script-1", 10, 4]);
  equal(edits.get("b"), ["coder", "script-1", undefined, undefined]);
  equal(edits.get("c"), ["coder", "script-1", 10, 4]);
});
