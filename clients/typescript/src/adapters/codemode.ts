/** Cloudflare's code mode: an executor for `createCodeTool`. */

import type { Engine } from "../engine.js";
import type { AloneOptions } from "./alone.js";
import { executeSnippet } from "./snippets.js";
import type { HostFunction, Snippet } from "./snippets.js";

/** Functions that code can call as NAME.FUNCTION, and code that adds to them. */
export interface Provider {
  name: string;
  fns: Record<string, HostFunction>;
  prelude?: string;
}

/** Executes code with functions, and throws nothing. */
export interface Executor {
  execute(
    code: string,
    providers: Provider[] | Record<string, HostFunction>,
  ): Promise<{ result: unknown; error?: string; logs?: string[] }>;
}

/**
 * Returns an executor. Each call executes its code, with Node, as the only block of a new session, and its functions in
 * this process. Values pass as JSON has them. Code that a rule makes wait for a decision fails.
 */
export function executor(engine: Engine, options: AloneOptions = {}): Executor {
  return {
    execute: async (code, given) => {
      const providers = Array.isArray(given) ? given : [{ name: "codemode", fns: given }];
      const snippet: Snippet = { code: `(\n${code}\n)()`, scope: {}, prelude: "", functions: {} };
      for (const { name, fns, prelude = "" } of providers) {
        const calls = Object.entries(fns).flatMap(([f, call]) => {
          snippet.functions[`${name}.${f}`] = call;
          // The declarations that the model reads end a name that is a reserved word with _.
          return [identifier(f), `${identifier(f)}_`].map((as) => `${as}: call(${JSON.stringify(`${name}.${f}`)})`);
        });
        snippet.scope[name] = `{ ${calls.join(", ")} }`;
        snippet.prelude += `${prelude}\n`;
      }
      const { value, error, logs } = await executeSnippet(engine, snippet, { name: "codemode", ...options });
      const more = logs.length ? { logs } : {};
      return error ? { result: undefined, error: error.message, ...more } : { result: value, ...more };
    },
  };
}

/** The name of a tool in the declarations that the model reads. */
function identifier(name: string): string {
  const safe = name.replace(/[-.\s]/g, "_").replace(/[^\w$]/g, "");
  return /^\d/.test(safe) ? `_${safe}` : safe || "_";
}
