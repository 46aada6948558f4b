import type * as documents from "./documents.js";

/**
 * A call failed: the engine refused it, or could not be asked.
 *
 * `code` is stable (docs/json.md lists the codes), `hint` says what to do next, and `message` has both beside one
 * sentence. Codes of the client itself: no-xstate (the program xstate is missing), no-server (it does not start or
 * cannot be reached), server-gone (it ended before it answered) and timeout (it did not answer in time).
 */
export class XStateError extends Error {
  override readonly name = "XStateError";
  /** The whole error: an edit that does not fit has candidates or conflicts. */
  readonly document: documents.Error;

  constructor(
    readonly code: string,
    sentence: string,
    readonly hint = "",
    document?: documents.Error,
  ) {
    super(`${code}: ${sentence}` + (hint && ` (${hint})`));
    this.document = document ?? { code, message: sentence, hint };
  }
}

/** The code that was executed failed. `ExecResult.error` is one, and `ExecResult.check` throws it. */
export class ExecutionError extends Error {
  override readonly name = "ExecutionError";

  constructor(
    /** The name of the exception's class. */
    readonly type: string,
    /** Its own text; `message` has type and hint, too. */
    readonly detail: string,
    /** As the language prints it, in lines of blocks. */
    readonly traceback = "",
    /** What to do; "" if that is not clear. */
    readonly hint = "",
    readonly block = "",
    /** Line of the block, from 1; 0 if it is not known. */
    readonly line = 0,
  ) {
    super((detail ? `${type}: ${detail}` : type) + (hint && ` (${hint})`));
  }
}

/** An error as the engine prints it. */
export function fromDocument(error: unknown): XStateError {
  if (!isObject(error)) {
    return new XStateError("internal", `the server answered with an error that cannot be read: ${excerpt(error)}`);
  }
  const known = error as unknown as documents.Error;
  return new XStateError(known.code ?? "internal", known.message ?? "", known.hint ?? "", known);
}

/** An error of the Connect protocol. Our own is in its details, and as text in its message. */
export function fromConnect(body: string, status = 200): XStateError {
  const error = parsed(body);
  if (!isObject(error)) {
    if (status === 401 || status === 403) {
      return new XStateError(
        "forbidden",
        body.trim(),
        "give the token of the store: new Engine(folder, { url, token })",
      );
    }
    return new XStateError("internal", `the server answered with status ${status}: ${body.trim().slice(0, 200)}`);
  }
  if (isObject(error["error"])) return fromDocument(error["error"]);
  for (const detail of (error["details"] ?? []) as { type?: string; debug?: unknown }[]) {
    if (detail.type === "xstate.v1.Error" && isObject(detail.debug)) return fromDocument(detail.debug);
  }
  const message = String(error["message"] ?? "");
  const parts = /^([a-z][a-z-]*): (.*?)(?: \((.*)\))?$/s.exec(message);
  if (!parts) return new XStateError(String(error["code"] ?? "internal").replaceAll("_", "-"), message);
  return new XStateError(parts[1]!, parts[2]!, parts[3] ?? "");
}

/** A document that the server sent. */
export function document(text: string): unknown {
  const found = parsed(text);
  if (found === undefined) throw malformed(`it sent ${excerpt(text)}`);
  return found;
}

export function malformed(what: string): XStateError {
  return new XStateError("internal", `this is no server of xstate: ${what}`, "xstate serve --status shows its address");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function excerpt(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 200) ?? String(value);
}
