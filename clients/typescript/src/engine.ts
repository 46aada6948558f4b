import { setTimeout as sleep } from "node:timers/promises";

import type * as documents from "./documents.js";
import { XStateError, fromDocument } from "./errors.js";
import { failed } from "./offers.js";
import type { Offering } from "./offers.js";
import { Server } from "./server.js";
import type { EngineOptions, Origin } from "./server.js";
import { Session } from "./session.js";
import { Transport, link } from "./transport.js";

/** A call that executes code now. */
export interface ActiveRun {
  /** Its id. */
  run: string;
  verb: string;
  session: string;
  /** Since it began. */
  seconds: number;
}

/** What it returns is awaited, if it can be. */
export type OnEvent = (event: documents.Event) => unknown;

/** Codes of calls that did nothing, because another call has the session or the server ends: they are made again. */
const NOT_BEGUN = ["store-busy", "store-closed"];

/**
 * The engine of one store: finds its server, or starts one with the first call. It has no state: sessions are in the
 * store, and any number of engines may use them. It keeps no connection, and so need not be closed.
 *
 * folder is where paths begin, and where code runs.
 */
export class Engine {
  /** @internal */
  readonly server: Server;
  /** @internal */
  transport: Pick<Transport, "call" | "stream">;
  private readonly origin: Origin;
  /** What executes code or is to, in the order of the calls. */
  private readonly line: Run[] = [];

  constructor(folder = ".", options: EngineOptions = {}) {
    this.server = new Server(folder, options);
    this.transport = new Transport(this.server);
    this.origin = options.origin ?? {};
  }

  /** The folder of the store. */
  get store(): string {
    return this.server.store;
  }

  /** A session by its name. It is made by the first exec; nothing is asked of the server here. */
  session(name = "main", { origin = {} }: { origin?: Origin } = {}): Session {
    return new Session(this, name, { ...this.origin, ...origin });
  }

  /** The sessions of the store, the one with the latest step first. */
  sessions(): Promise<documents.Status> {
    return this.call("SessionService/List", {}) as Promise<documents.Status>;
  }

  /** All current runs of the store, the oldest first. */
  async runs(): Promise<ActiveRun[]> {
    return ((await this.call("RunService/ListRuns", {})) as { runs?: ActiveRun[] }).runs ?? [];
  }

  /**
   * Calls any unary method of the API, such as "AuditService/Replay"; api/xstate/v1/services.proto has them. If it
   * executes code, the timeout of the engine does not bound it.
   */
  async call(method: string, request: object, { executes = false, signal }: CallOptions = {}): Promise<unknown> {
    return this.turn(() => this.transport.call(method, request, executes ? 0 : this.server.timeout, signal));
  }

  /** Ends the server of the store, even if another process started it. It interrupts what runs. */
  stop(): Promise<void> {
    return this.server.stop();
  }

  /**
   * @internal Calls a method that executes code, and returns the last event. Calls of a session begin in the order in
   * which they were made: the second tool call of an answer may need what the first one defines.
   */
  async stream(method: string, request: object, run: Run, options: ExecutionOptions): Promise<documents.Event> {
    const limit = this.limit();
    const notBegun = () => {
      if (run.unwanted) throw new XStateError("interrupted", "the call was interrupted while it waited for its turn");
      return !run.started;
    };
    this.line.push(run);
    try {
      while (this.line.find((r) => r.session === run.session) !== run && performance.now() < limit) {
        await sleep(5);
        options.signal?.throwIfAborted();
        notBegun();
      }
      return await this.turn(() => this.streamOnce(method, request, run, options), notBegun, limit);
    } finally {
      this.line.splice(this.line.indexOf(run), 1);
    }
  }

  /** Until when a call may wait for its turn. */
  private limit(): number {
    return performance.now() + 1000 * this.server.wait;
  }

  private async streamOnce(
    method: string,
    request: object,
    run: Run,
    options: ExecutionOptions,
  ): Promise<documents.Event> {
    const { onEvent, signal } = options;
    let last: documents.Event | undefined;
    const ended = new AbortController(); // of the stream, or of the caller's interest in it
    const unlink = link(signal, ended);
    const each = async (event: documents.Event) => {
      if (event.event === "done" || event.event === "error") {
        last = event;
        return;
      }
      if (event.event === "call") {
        void this.answer(run.offering, event, ended.signal);
      }
      if (event.event === "started") {
        run.started = event.run ?? "";
        if (run.unwanted) await this.interrupt(run);
      }
      await onEvent?.(event);
    };
    try {
      signal?.throwIfAborted();
      await this.transport.stream(method, request, each, ended.signal);
    } finally {
      unlink();
      ended.abort();
    }
    if (!last) throw new XStateError("internal", "the server did not say how the run ended", "please report it");
    if (last.event === "error") throw fromDocument(last.error);
    return last;
  }

  /** @internal */
  async interrupt(run: Run): Promise<void> {
    await this.call("RunService/Interrupt", { run: run.started });
  }

  private async answer(offering: Offering, event: documents.Event, signal: AbortSignal): Promise<void> {
    const answer = await offering.answer(event, signal);
    const send = (request: object) => this.call("CallService/AnswerCall", request, { signal });
    // An answer that is too large is refused. Where the run has ended, none is needed.
    await send(answer).catch((e) => send(failed(event, e)).catch(() => {}));
  }

  /** Makes a call again while another one has the session, as long as the engine may wait. */
  private async turn<T>(call: () => Promise<T>, notBegun = () => true, limit = this.limit()): Promise<T> {
    for (;;) {
      try {
        return await call();
      } catch (e) {
        const again = e instanceof XStateError && NOT_BEGUN.includes(e.code) && performance.now() < limit;
        if (!again || !notBegun()) throw e;
      }
      await sleep(100);
    }
  }
}

export interface CallOptions {
  /** The method executes code. */
  executes?: boolean | undefined;
  /** Ends the call, and what it executes. */
  signal?: AbortSignal | undefined;
}

export interface ExecutionOptions {
  /** Gets the events started, begin, output, end and call, as they happen. If it throws, the run ends. */
  onEvent?: OnEvent | undefined;
  /** Ends the run, unless it is detached. */
  signal?: AbortSignal | undefined;
}

/** A call that executes code, so that it can be interrupted. */
export interface Run {
  session: string;
  /** Its id, when the server has begun it. */
  started: string;
  /** It is to be interrupted as soon as it has an id. */
  unwanted: boolean;
  offering: Offering;
}
