/** LangChain and LangGraph: a tool for `createAgent`, for `ToolNode` and for models with tools. */

import { tool } from "@langchain/core/tools";
import type { DynamicStructuredTool, ToolRuntime } from "@langchain/core/tools";

import type { ExecResult } from "../result.js";
import type { Origin } from "../server.js";
import type { Session } from "../session.js";
import { CODE, DESCRIPTION, NAME, pictures } from "./shared.js";
import type { AdapterOptions } from "./shared.js";

const SCHEMA = {
  type: "object",
  properties: { code: { type: "string", description: CODE } },
  required: ["code"],
  additionalProperties: false,
} as const;

/**
 * Returns a tool by which a model executes code in a session; options are those of Session.exec.
 *
 * The content of its message is the text, and content blocks if there are pictures; the artifact is the ExecResult. An
 * XStateError is the error of the tool. Agent, model, tool call id and tokens are in the step's origin. To abort the
 * call ends the run of the code.
 */
export function runCode(session: Session, options: AdapterOptions = {}): DynamicStructuredTool<typeof SCHEMA> {
  const { pictures: seen = true, description = DESCRIPTION, origin, ...more } = options;
  return tool(
    async (input: unknown, runtime: Partial<ToolRuntime> = {}) => {
      const { code } = input as { code: string };
      const who = { ...origin, ...caller(runtime) };
      const result = await session.exec(code, { ...more, origin: who, signal: runtime.signal });
      return [content(result, seen), result];
    },
    { name: NAME, description, schema: SCHEMA, responseFormat: "content_and_artifact" },
  ) as unknown as DynamicStructuredTool<typeof SCHEMA>;
}

/** A message of the model, as far as it says who calls. */
interface Answer {
  tool_calls?: { id?: string }[];
  response_metadata?: { model_name?: string; model?: string };
  usage_metadata?: { input_tokens: number; output_tokens: number };
}

/** Says who calls. Outside of a graph that is not known. */
function caller(runtime: Partial<ToolRuntime>): Origin {
  const id = runtime.toolCallId ?? runtime.toolCall?.id;
  const { messages = [] } = (runtime.state ?? {}) as { messages?: Answer[] };
  const answer = messages.findLast((m) => m.tool_calls?.some((call) => call.id === id));
  const first = answer?.tool_calls?.[0]?.id === id; // of several calls, one has the tokens
  const about = {
    agent: runtime.metadata?.["lc_agent_name"],
    call_id: id,
    model: answer?.response_metadata?.model_name ?? answer?.response_metadata?.model,
    tokens_in: first ? answer?.usage_metadata?.input_tokens : undefined,
    tokens_out: first ? answer?.usage_metadata?.output_tokens : undefined,
  };
  return Object.fromEntries(Object.entries(about).filter(([, value]) => value));
}

function content(result: ExecResult, seen: boolean) {
  const shown = seen ? pictures(result) : [];
  if (!shown.length) return String(result);
  const images = shown.map(({ image, base64 }) => ({
    type: "image",
    source_type: "base64",
    data: base64,
    mime_type: image.media,
  }));
  return [{ type: "text", text: String(result) }, ...images];
}
