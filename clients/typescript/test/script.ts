/** The scripted models of docs/adapters.md. */

import { MockLanguageModelV4 } from "ai/test";
import { AIMessage, fakeModel } from "langchain";

const usage = { inputTokens: { total: 10 }, outputTokens: { total: 4 } };
const call = { type: "tool-call", toolCallId: "call-1", toolName: "run_code", input: '{"code": "6 * 7"}' };
const answer = (content: object, unified: string) => ({
  content: [content],
  finishReason: { unified },
  usage,
  warnings: [],
});

export const model = new MockLanguageModelV4({
  doGenerate: [answer(call, "tool-calls"), answer({ type: "text", text: "done" }, "stop")] as never,
});

export const chatModel = fakeModel()
  .respond(
    new AIMessage({
      content: "",
      tool_calls: [{ name: "run_code", args: { code: "6 * 7" }, id: "call-1", type: "tool_call" }],
    }),
  )
  .respond(new AIMessage("done"));
