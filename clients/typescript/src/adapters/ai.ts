/** The AI SDK: a tool for `generateText`, `streamText` and `ToolLoopAgent`. */

import { jsonSchema, tool } from "ai";
import type { Tool } from "ai";

import type { Exec } from "../documents.js";
import { ExecResult } from "../result.js";
import type { Session } from "../session.js";
import { CODE, DESCRIPTION, pictures } from "./shared.js";
import type { AdapterOptions } from "./shared.js";

/**
 * Returns a tool by which a model executes code in a session; options are those of Session.exec.
 *
 * Its output is the document of the result, of which the model reads the text and sees the pictures. An XStateError is
 * the error of the tool, which the model reads. The tool call's id is in the step's origin; the SDK tells tools neither
 * the model nor the tokens, so give the session an origin with them. To abort the call ends the run of the code.
 */
export function runCode(session: Session, options: AdapterOptions = {}): Tool<{ code: string }, Exec> {
  const { pictures: seen = true, description = DESCRIPTION, origin, ...more } = options;
  return tool({
    description,
    inputSchema: jsonSchema<{ code: string }>({
      type: "object",
      properties: { code: { type: "string", description: CODE } },
      required: ["code"],
      additionalProperties: false,
    }),
    execute: async ({ code }, { toolCallId, abortSignal }) => {
      const who = { ...origin, call_id: toolCallId };
      return (await session.exec(code, { ...more, origin: who, signal: abortSignal })).document;
    },
    toModelOutput: ({ output }) => {
      const result = new ExecResult(output);
      const shown = seen ? pictures(result) : [];
      const text = String(result);
      if (!shown.length) return { type: "text", value: text };
      const images = shown.map(({ image, base64 }) => ({
        type: "file" as const,
        data: { type: "data" as const, data: base64 },
        mediaType: image.media,
      }));
      return { type: "content", value: [{ type: "text", text }, ...images] };
    },
  });
}
