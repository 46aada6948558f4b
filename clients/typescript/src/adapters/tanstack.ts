/** TanStack AI: a driver for `createCodeMode`. */

import type { Engine } from "../engine.js";
import type { AloneOptions } from "./alone.js";
import { executeSnippet } from "./snippets.js";
import type { Ending, HostFunction } from "./snippets.js";

/** A function that code can call by the name that binds it. */
export interface Binding {
  execute: HostFunction;
}

export interface IsolateConfig {
  bindings: Record<string, Binding>;
  /** In milliseconds. */
  timeout?: number;
}

export interface ExecutionResult<T> extends Ending {
  success: boolean;
  value?: T;
}

export interface IsolateContext {
  execute<T = unknown>(code: string): Promise<ExecutionResult<T>>;
  dispose(): Promise<void>;
}

/**
 * Returns a driver. Each execution is the only block of a new session, executed with Node, and its functions are called
 * in this process. Values pass as JSON has them. The memory is bounded by the policy of xstate, and not by memoryLimit.
 */
export function isolateDriver(engine: Engine, { name = "tanstack", origin }: Omit<AloneOptions, "timeout"> = {}) {
  return {
    createContext: async ({ bindings, timeout = 30_000 }: IsolateConfig): Promise<IsolateContext> => {
      const names = Object.keys(bindings);
      const scope = Object.fromEntries(names.map((f) => [f, `call(${JSON.stringify(f)})`]));
      const functions = Object.fromEntries(names.map((f) => [f, (args: unknown) => bindings[f]!.execute(args)]));
      const options = { name, origin, timeout: timeout / 1000 };
      return {
        async execute<T>(code: string) {
          const snippet = { code: `(async () => {\n${code}\n})()`, scope, functions };
          const ending = await executeSnippet(engine, snippet, options);
          return { ...ending, success: !ending.error } as ExecutionResult<T>;
        },
        dispose: async () => {}, // the session of a call has ended with it
      };
    },
  };
}
