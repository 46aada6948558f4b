import fs from "node:fs";

import type { Exec, ExecBlock, ExecError, ExecFile, Reason, WaitingCall } from "./documents.js";
import { ExecutionError } from "./errors.js";

/** Numbers of blocks of the whole program, by what the call did with them. */
export interface Counts {
  ran: number;
  reused: number;
  failed: number;
  blocked: number;
  notReached: number;
}

/** A picture that the code showed, or that another block drew again because of it. */
export class Image {
  constructor(
    /** The block that drew it. */
    readonly block: string,
    /** Such as image/png. */
    readonly media: string,
    readonly file: string,
  ) {}

  get data(): Buffer {
    return fs.readFileSync(this.file);
  }
}

const WELL = ["ran", "reused"];

/**
 * The effects of one call of exec, and no more. `String(result)` is the text for a model. As JSON it is the document,
 * of which `new ExecResult(document)` makes the result again.
 */
export class ExecResult {
  constructor(readonly document: Exec) {}

  /** The output of the code, the value of its last expression and its error; clipped to the budget. */
  get text(): string {
    return this.document.text;
  }

  /** The text of the last expression's value; null if there is none. */
  get result(): string | null {
    return this.document.result;
  }

  /** Pictures that the code showed, then those that others drew again; see Image.block. */
  get images(): Image[] {
    const pictures = this.files.filter((f) => f.media.startsWith("image/"));
    return pictures.map((f) => new Image(f.block, f.media, f.file));
  }

  /** Why the code failed or was not executed; null if it was and did not. */
  get error(): ExecutionError | null {
    const e = this.document.error;
    return e && failure(e, this.block);
  }

  /** The code was executed or reused, did not fail, and no other block broke because of it. */
  get ok(): boolean {
    return WELL.includes(this.status) && this.broken.length === 0;
  }

  /** Returns the result if it is ok, and throws an ExecutionError otherwise. */
  check(): this {
    if (this.ok) return this;
    if (WELL.includes(this.status)) {
      const first = this.broken.find((b) => b.error) ?? this.broken[0]!;
      if (first.error) throw failure(first.error, first.block);
      throw new ExecutionError(first.status, "it needs what the code defined", "", "", first.block);
    }
    const why = this.document.stopped ?? "the code was not executed";
    throw this.error ?? new ExecutionError(this.status, why, "", "", this.block);
  }

  /** The block that the code became; of several the first that failed, or the last. */
  get block(): string {
    return this.document.block;
  }

  /** append, replace, or unchanged: the block had this text already. */
  get action(): string {
    return this.document.action;
  }

  /** Of the block: ran, reused, failed, waiting, blocked, not-reached; new if the run was interrupted first. */
  get status(): string {
    return this.document.status;
  }

  /** Calls that must be decided before the program can continue; see Session.approve. */
  get waiting(): WaitingCall[] {
    return this.document.waiting ?? [];
  }

  /** The code is not part of the program, because it was interrupted or ended the program. */
  get takenBack(): boolean {
    return this.document.taken_back ?? false;
  }

  /** A call of the same call_id submitted the code before, and this is its result. */
  get repeated(): boolean {
    return this.document.repeated ?? false;
  }

  /** The step that records the run. */
  get step(): number {
    return this.document.step;
  }

  /** Other blocks that the call executed because they depend on the code, or whose results are gone. */
  get others(): ExecBlock[] {
    return this.document.others;
  }

  /**
   * Of the others those that have failed, wait or are blocked because of this call. A block that had failed before and
   * was tried again is not among them.
   */
  get broken(): ExecBlock[] {
    return this.others.filter((b) => !WELL.includes(b.status) && b.reason.code !== "failed-before");
  }

  /** Of the others those that have no results now: they need what a failed block would have defined. */
  get stale(): string[] {
    return this.others.filter((b) => ["blocked", "not-reached"].includes(b.status)).map((b) => b.block);
  }

  /** Pictures, and texts that were clipped. */
  get files(): ExecFile[] {
    return this.document.files;
  }

  get counts(): Counts {
    const { ran, reused, failed, blocked, not_reached: notReached } = this.document;
    return { ran, reused, failed, blocked, notReached };
  }

  /** Seconds spent executing. */
  get seconds(): number {
    return this.document.seconds;
  }

  /** Seconds that the call took beyond executing, until it was recorded. */
  get engineSeconds(): number {
    return this.document.engine_seconds;
  }

  /** The recorded seconds of what was reused, less those of the engine. They may be negative. */
  get savedSeconds(): number {
    return this.document.saved_seconds;
  }

  toJSON(): Exec {
    return this.document;
  }

  /** The text, what became of other blocks, and how the run ended where that is unusual. It is never empty. */
  toString(): string {
    const { stopped, exit_code: code, notices } = this.document;
    const parts = [this.text];
    for (const b of this.others) {
      parts.push(`block ${b.block} ${b.status} because of it (${reason(b.reason)})`, b.text);
    }
    if (stopped) parts.push(`stopped early: ${stopped}`);
    if (code !== undefined && code !== null) parts.push(`the program ended itself with exit code ${code}`);
    parts.push(...(notices ?? []).map((n) => `note: ${n}`));
    const lines = parts.filter((p) => p).map((p) => (p.endsWith("\n") ? p : p + "\n"));
    return lines.join("") || "no output\n";
  }
}

function reason({ code, key, by }: Reason): string {
  return code + (key ? `: ${key}` : "") + (by ? ` by ${by}` : "");
}

function failure(e: ExecError, block: string): ExecutionError {
  const trace = (e.traceback ?? []).map((line) => line.replace(/\n+$/, "")).join("\n");
  return new ExecutionError(e.type, e.message, trace, e.hint ?? "", e.block || block, e.line ?? 0);
}
