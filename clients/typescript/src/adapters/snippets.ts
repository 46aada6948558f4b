/** What the executors of code modes share: JavaScript that calls functions of this process, and returns a value. */

import type { Event } from "../documents.js";
import type { Engine } from "../engine.js";
import { ToolRefused } from "../offers.js";
import type { Tool } from "../offers.js";
import { executeAlone } from "./alone.js";
import type { AloneOptions } from "./alone.js";

const SEPARATOR = "\x1e"; // begins a JSON text among others, as in RFC 7464

/** A function that code can call. */
export type HostFunction = (...args: any[]) => unknown;

/** How a snippet ended. */
export interface Ending {
  value?: unknown;
  error?: { name: string; message: string } | undefined;
  logs: string[];
}

/** Code, and what it sees. */
export interface Snippet {
  /** An expression that evaluates to a promise of the value. */
  code: string;
  /** Names in its scope, as expressions: call("add") is the function of that name. */
  scope: Record<string, string>;
  /** Statements before it. */
  prelude?: string;
  functions: Record<string, HostFunction>;
}

/** Executes a snippet and returns how it ended. It throws nothing. */
export async function executeSnippet(engine: Engine, snippet: Snippet, options: AloneOptions): Promise<Ending> {
  const told: string[] = [];
  const onEvent = ({ output }: Event) => {
    if (output?.kind === "stdout") told.push(output.text ?? "");
  };
  const tools = Object.fromEntries(Object.entries(snippet.functions).map(([name, f]) => [name, offer(f)]));
  let result;
  try {
    const code = program(snippet);
    ({ result } = await executeAlone(engine, "javascript", code, { ...options, tools, onEvent }));
  } catch (e) {
    const { name, message } = e instanceof Error ? e : { name: "Error", message: String(e) };
    return { error: { name, message }, logs: [] };
  }
  // What the code itself writes to the standard output comes before the ending, or after it.
  const text = told.join("");
  const at = text.lastIndexOf(SEPARATOR);
  if (result.error || at < 0) {
    const { type: name = "Error", detail = "" } = result.error ?? {};
    const message = name === "exit" ? `the code ended its process with exit code ${detail}` : detail;
    return { error: { name, message: message || String(result) }, logs: lines(text) };
  }
  const [ending = "", ...later] = text.slice(at + 1).split("\n");
  const { logs, ...rest } = JSON.parse(ending) as Ending;
  return { ...rest, logs: [...lines(text.slice(0, at)), ...logs, ...later.filter((line) => line)] };
}

function lines(text: string): string[] {
  return text.split("\n").filter((line) => line && !line.startsWith(SEPARATOR));
}

// Arguments and results pass as JSON has them. A method of console makes a line of the log, whose prefix is its level.
function program({ code, scope, prelude = "" }: Snippet): string {
  return `await (async () => {
  const { format } = require("node:util");
  const logs = [];
  const level = (prefix) => (...values) => void logs.push(prefix + format(...values));
  const console = {
    log: level(""), debug: level(""), info: level("INFO: "), warn: level("WARN: "), error: level("ERROR: "),
  };
  const call = (name) => async (...args) => {
    try {
      return await tools[name](JSON.parse(JSON.stringify({ args })));
    } catch (e) {
      throw e.name === "ToolError" ? new Error(e.message.slice(name.length + 2)) : e;
    }
  };
  let ending;
  try {
    const value = await (async (${Object.keys(scope).join(", ")}) => {
${prelude}
      return (
${code}
      );
    })(${Object.values(scope).join(", ")});
    ending = JSON.stringify({ value, logs });
  } catch (e) {
    const { name, message } = e instanceof Error ? e : { name: "Error", message: String(e) };
    ending = JSON.stringify({ error: { name, message }, logs });
  }
  process.stdout.write("\\x1e" + ending + "\\n");
})();
void 0;`;
}

/**
 * Offers a function as a tool. Its effect is the one of which each call in a new session is made, and none waits for a
 * person: an equal call of a tool that reads would be served what an earlier snippet got. An error is what code gets.
 */
function offer(f: HostFunction): Tool {
  return {
    effect: "idempotent",
    call: async ({ args }: { args: unknown[] }) => {
      try {
        return JSON.parse(JSON.stringify((await f(...args)) ?? null));
      } catch (e) {
        throw new ToolRefused(e instanceof Error ? e.message : String(e));
      }
    },
  };
}
