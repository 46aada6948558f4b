/** Tools and models that a harness offers the code that it executes. */

import type { Event } from "./documents.js";
import { XStateError } from "./errors.js";

/** A tool throws it to say that it cannot do this. The code gets the text, and the call is not made again. */
export class ToolRefused extends Error {
  override readonly name = "ToolRefused";
}

/** A tool throws it to say that surely nothing happened. The same call may be made again. */
export class ToolNotSent extends Error {
  override readonly name = "ToolNotSent";
}

/** The result of a tool or a model, with what it has spent. */
export class Spent {
  constructor(
    readonly result: unknown,
    readonly spent: { inputTokens?: number; outputTokens?: number; costUsd?: number },
  ) {}
}

/** What a tool learns about a call beside its arguments. */
export interface CallContext {
  /** The same for a call that is made again. */
  idempotencyKey: string;
  /** Aborted when the run ends before the call does. */
  signal: AbortSignal;
}

/**
 * Answers a call with a value that JSON has, or a promise of one. An integer beyond 2^53 is a bigint, also as a result.
 * It throws ToolRefused to say no. After any other error it is not known whether the call happened: with an effect, it
 * then waits for a person.
 */
export type ToolFunction = (args: any, context: CallContext) => unknown;

/** A function that code can call as xstate.tool(name, …), and what the engine must know of it. */
export interface Tool {
  call: ToolFunction;
  /**
   * What a call does, and so what may be repeated: the result depends on the arguments alone (pure), or on more (read);
   * the call can be made again with the same key (idempotent); undo names the tool that takes it back (reversible); or
   * none of these, which is so without it. A call that happened is served from its record.
   */
  effect?: "pure" | "read" | "idempotent" | "reversible" | "irreversible" | undefined;
  description?: string | undefined;
  /** JSON Schema of the arguments; without it any are taken. */
  input?: object | undefined;
  /** JSON Schema of the result. */
  output?: object | undefined;
  /** What it reads or changes; without it, what all tools of clients do. */
  scope?: string | undefined;
  /** Seconds after which the result of a tool that reads is stale. */
  lifetimeSeconds?: number | undefined;
  /** The tool that takes an effect back. */
  undo?: string | undefined;
  /** Another version is another tool. */
  version?: string | undefined;
  /** The arguments that distinguish calls with effects; without it all of them do. */
  identity?: string[] | undefined;
}

/** Tools or models, by the names that code calls. */
export type Offers = Record<string, Tool | ToolFunction>;

/** The tools and models of one call of exec or run, and what answers their calls. */
export class Offering {
  private readonly tools: Map<string, Tool>;
  private readonly models: Map<string, Tool>;

  constructor(tools: Offers = {}, models: Offers = {}) {
    this.tools = known(tools);
    this.models = known(models, "pure");
  }

  /** The fields of a request. */
  request(): object {
    return { tools: [...this.tools].map(definition), models: [...this.models].map(definition) };
  }

  /** Makes the call that an event asks for, and returns the request that answers it. */
  async answer(event: Event, signal: AbortSignal): Promise<object> {
    const { call = 0, tool: name = "", args = {}, idempotency_key: idempotencyKey = "" } = event;
    try {
      const tool = this.tools.get(name) ?? this.models.get(name);
      if (!tool) throw new ToolNotSent(`there is no tool "${name}"`);
      const found = await tool.call(args, { idempotencyKey, signal });
      const { result, spent } = found instanceof Spent ? found : new Spent(found, {});
      return { call, result: written(result), ...fields(spent) };
    } catch (e) {
      if (e instanceof ToolRefused) return { call, refused: e.message };
      if (e instanceof ToolNotSent) return { call, not_sent: e.message };
      return failed(event, e);
    }
  }
}

/** The request that says that a call has no answer, and that it may have happened. */
export function failed({ call = 0 }: Event, e: unknown): object {
  let error = "an error without a text";
  try {
    error = String(e).slice(0, 100_000);
  } catch {
    // Its text fails, too.
  }
  return { call, error };
}

/** The fields of a request that have a value, with names as the API has them. */
export function fields(options: object): Record<string, unknown> {
  const given = Object.entries(options).filter(([, v]) => v !== undefined);
  for (const [name, v] of given) {
    if (typeof v === "number" && !Number.isFinite(v))
      throw new XStateError("usage", `${name} is ${v}`, "give a number");
  }
  return Object.fromEntries(given.map(([name, v]) => [name.replace(/[A-Z]/g, (c) => "_" + c.toLowerCase()), v]));
}

function known(offers: Offers, effect?: "pure"): Map<string, Tool> {
  const all = Object.entries(offers);
  return new Map(all.map(([name, t]) => [name, typeof t === "function" ? { call: t, ...(effect && { effect }) } : t]));
}

function definition([name, { call: _, effect, ...more }]: [string, Tool]): object {
  return fields({ name, class: effect, ...more });
}

// JSON has numbers of any length, and JavaScript has them as bigint. In texts on the way they are strings with this
// mark.
const BIG = "\uE000integer:";
const MARKED = new RegExp(`"${BIG}(-?\\d+)"`, "g");
const NUMBERS = /"(?:[^"\\]|\\.)*"|-?\d+(?![\d.eE])/g;

/** A value that was JSON, with the integers that a number cannot hold as bigint. */
export function exact(text: string): unknown {
  const marked = text.replace(NUMBERS, (token) => {
    return token.startsWith('"') || Number.isSafeInteger(Number(token)) ? token : `"${BIG}${token}"`;
  });
  return JSON.parse(marked, (_, v) => (typeof v === "string" && v.startsWith(BIG) ? BigInt(v.slice(BIG.length)) : v));
}

/** A value as JSON. What JSON has not, and JavaScript would leave out or change without a word, is an error. */
export function written(value: unknown): string {
  const text = JSON.stringify(value ?? null, function (this: Record<string, unknown>, name, v) {
    if (typeof v === "bigint") return BIG + v;
    const given = this[name]; // before its toJSON
    const kind = lost(given, v);
    if (kind) throw new TypeError(`JSON has no ${kind}${name && `, which is at "${name}"`}`);
    return v;
  });
  return text.replaceAll(MARKED, "$1");
}

/** What a value is that JSON cannot hold; undefined if it can. */
function lost(given: unknown, v: unknown): string | undefined {
  if (typeof v === "number" && !Number.isFinite(v)) return String(v);
  if (typeof v === "function" || typeof v === "symbol") return typeof v;
  if (v === null && given !== null && given !== undefined) return "invalid " + given.constructor.name;
  if (typeof v !== "object" || v === null || Array.isArray(v)) return undefined;
  const kind = Object.prototype.toString.call(v);
  const maker = Object.getPrototypeOf(v)?.constructor?.name ?? "Object";
  if (maker !== "Object") return maker;
  return kind === "[object Object]" ? undefined : kind.slice("[object ".length, -1);
}
