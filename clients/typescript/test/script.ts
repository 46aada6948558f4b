/** The scripted models of docs/adapters.md. Each calls the tool that it is offered once, and then says "done". */

import type { TextAdapter } from "@tanstack/ai";
import { MockLanguageModelV4 } from "ai/test";
import { AIMessage, fakeModel } from "langchain";

/** What a model sends to a tool, by the name of the tool. */
const INPUTS: Record<string, object> = {
  run_code: { code: "6 * 7" },
  shell: { command: "echo $((6 * 7))" },
  xstate_exec: { code: "6 * 7" },
  execute_typescript: { typescriptCode: "const n: number = await external_price({ of: 'tea' });\nreturn 6 * n;" },
  codemode_execute: { code: "async () => 6 * (await codemode.price({ of: 'tea' }))" },
};

function input(tools: { name: string }[] = []): [tool: string, json: string] {
  const { name } = tools.find((t) => t.name in INPUTS)!;
  return [name, JSON.stringify(INPUTS[name])];
}

const usage = { inputTokens: { total: 10 }, outputTokens: { total: 4 } };
const answer = (content: object, unified: string) =>
  ({ content: [content], finishReason: { unified }, usage, warnings: [] }) as never;

/** Of the AI SDK, which Mastra takes, too. */
export const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt, tools }) => {
    if (prompt.at(-1)?.role === "tool") return answer({ type: "text", text: "done" }, "stop");
    const [toolName, json] = input(tools);
    return answer({ type: "tool-call", toolCallId: "call-1", toolName, input: json }, "tool-calls");
  },
});

/** Of LangChain. */
export const chatModel = fakeModel()
  .respond(
    new AIMessage({
      content: "",
      tool_calls: [{ name: "run_code", args: { code: "6 * 7" }, id: "call-1", type: "tool_call" }],
    }),
  )
  .respond(new AIMessage("done"));

/** Of TanStack AI. */
export const adapter = scripted((tools, results) => (results.length ? [] : [input(tools)]));

/** The calls of a model, by the tools that it is offered and the results that it has. */
type Turn = (tools: { name: string }[], results: string[]) => [tool: string, json: string][];

/** A model of TanStack AI that makes these calls, and ends when there is none. */
export function scripted(turn: Turn): TextAdapter<"script-1", object, ["text"], never> {
  const run = { threadId: "thread", runId: "run" };
  const chatStream = async function* ({ messages, tools = [] }: { messages: any[]; tools?: any[] }): AsyncGenerator {
    const results = messages.filter((m) => m.role === "tool").map((m) => m.content);
    const calls = turn(tools, results);
    yield { type: "RUN_STARTED", ...run };
    for (const [toolCallName, delta] of calls) {
      const toolCallId = `call-${results.length}`;
      yield { type: "TOOL_CALL_START", toolCallId, toolCallName, toolName: toolCallName };
      yield { type: "TOOL_CALL_ARGS", toolCallId, delta };
      yield { type: "TOOL_CALL_END", toolCallId };
    }
    if (!calls.length) {
      yield { type: "TEXT_MESSAGE_START", messageId: "answer", role: "assistant" };
      yield { type: "TEXT_MESSAGE_CONTENT", messageId: "answer", delta: "done" };
      yield { type: "TEXT_MESSAGE_END", messageId: "answer" };
    }
    yield { type: "RUN_FINISHED", ...run, finishReason: calls.length ? "tool_calls" : "stop" };
  };
  return { kind: "text", name: "script", model: "script-1", chatStream } as never;
}
