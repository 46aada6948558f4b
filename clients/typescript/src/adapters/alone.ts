/**
 * Calls that stand alone: what an executor or a sandbox executes is no part of a program, but a program of its own.
 *
 * A block of a program that goes on would give wrong answers here. An earlier command would run again when a file that
 * it read changes, and a command that replaces another would find the folder as it was before that one. So each call is
 * the only block of a new session. It is pinned to run, because the clock and randomness of a child process are not
 * observed: `node -p "Date.now()"` would be served the time of the last call.
 */

import { randomUUID } from "node:crypto";

import type { Engine } from "../engine.js";
import type { ExecResult } from "../result.js";
import type { ExecOptions, Session } from "../session.js";

export interface AloneOptions extends Pick<ExecOptions, "timeout" | "origin"> {
  /** What the names of the sessions begin with. */
  name?: string | undefined;
}

/** The only block of a session, and its result. */
export interface Alone {
  session: Session;
  result: ExecResult;
}

/** Executes code in a session of its own. */
export async function executeAlone(
  engine: Engine,
  language: "bash" | "javascript",
  code: string,
  { name = language, ...options }: AloneOptions & Pick<ExecOptions, "onEvent" | "signal" | "tools">,
): Promise<Alone> {
  const session = engine.session(`${name}-${randomUUID()}`);
  const pin = language === "bash" ? "# xstate: always" : "// xstate: always";
  const result = await session.exec(`${pin}\n${code}`, { ...options, language, append: true });
  return { session, result };
}
