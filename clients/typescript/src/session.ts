import type * as documents from "./documents.js";
import type { Engine, ExecutionOptions, Run } from "./engine.js";
import { malformed } from "./errors.js";
import { Offering, fields, written } from "./offers.js";
import type { Offers } from "./offers.js";
import { ExecResult } from "./result.js";
import type { Origin } from "./server.js";

/** What calls that execute code share. */
interface Execution extends ExecutionOptions {
  /** Seconds after which a part of a block is stopped: the code fails with a TimeoutError. */
  timeout?: number | undefined;
  origin?: Origin | undefined;
  /** The run continues if this call ends early. */
  detach?: boolean | undefined;
  /**
   * Functions that the code can call as xstate.tool(name, …). A call that happened before is served from its record:
   * the function is not called. If a call waits for a decision, the status is waiting; see calls and approve.
   */
  tools?: Offers | undefined;
  /** Models that the code can ask. */
  models?: Offers | undefined;
}

export interface ExecOptions extends Execution {
  /** The block that the code replaces; without it the engine finds out. */
  replace?: string | undefined;
  /** The code is a new block. */
  append?: boolean | undefined;
  /** Of the code, if it is not the program's: python, javascript, typescript, bash, … */
  language?: string | undefined;
  /** How many bytes of text the result has at most; 16000 if it is not given. */
  budget?: number | undefined;
}

/** Fields of RunRequest in api/xstate/v1/services.proto, which describes them. */
export interface RunOptions extends Execution {
  arguments?: string[] | undefined;
  verify?: boolean | undefined;
  fresh?: boolean | undefined;
  always?: string[] | undefined;
  never?: string[] | undefined;
  restoreFiles?: boolean | undefined;
  jobs?: number | undefined;
  remoteJobs?: number | undefined;
  elsewhere?: boolean | undefined;
  write?: boolean | undefined;
  expect?: number | undefined;
  merge?: boolean | undefined;
  contents?: string | undefined;
  until?: string | undefined;
}

export interface CallsOptions {
  waiting?: boolean | undefined;
  tool?: string | undefined;
  block?: string | undefined;
  since?: number | undefined;
  cost?: boolean | undefined;
}

export interface ApproveOptions {
  /** One of those that the call offers; without it yes. */
  choice?: string | undefined;
  deny?: boolean | undefined;
  reason?: string | undefined;
  /** With the choice "happened": what the call returned. */
  result?: unknown | undefined;
  by?: string | undefined;
}

export interface EditOptions {
  /** Detected, if it is not given. */
  format?: string | undefined;
  /** Where the patch names none. */
  block?: string | undefined;
  /** The call fails unless the session is at this step, or the block has this version. */
  expect?: string | number | undefined;
  merge?: boolean | undefined;
  dryRun?: boolean | undefined;
  /** Then execute what the patch affects; the document has the run. */
  run?: boolean | undefined;
  timeout?: number | undefined;
  origin?: Origin | undefined;
}

export interface UndoOptions {
  /** The edits of this agent only. */
  by?: string | undefined;
  dryRun?: boolean | undefined;
  /** Do not write the program's file. */
  keepFile?: boolean | undefined;
  origin?: Origin | undefined;
}

export interface RollbackOptions {
  /** Do not write the program's file. */
  keepFile?: boolean | undefined;
  origin?: Origin | undefined;
}

export interface ForkOptions {
  /** Where it begins; without it the last. */
  atStep?: number | undefined;
  private?: boolean | undefined;
  origin?: Origin | undefined;
}

interface At {
  atStep?: number | undefined;
  /** A time, instead of a step. */
  at?: string | undefined;
}

/**
 * A session: one program, its history, and a warm interpreter in the server.
 *
 * Calls that execute code or change the program take turns; questions are answered meanwhile.
 */
export class Session {
  private readonly runs = new Set<Run>();

  /** @internal */
  constructor(
    readonly engine: Engine,
    readonly name: string,
    private readonly origin: Origin,
    /** The private folder that fork made for the session; undefined: it runs in that of the engine. */
    readonly folder?: string,
  ) {}

  /**
   * Executes code and what depends on it, and returns what this call did.
   *
   * The code is a new block of the session's program or a new version of one. Code that fails throws nothing: see
   * ExecResult.error and check.
   */
  async exec(code: string, options: ExecOptions = {}): Promise<ExecResult> {
    const done = await this.execute("RunService/ExecStream", { code }, options);
    if (!done.exec) throw malformed("its last event has no result");
    return new ExecResult(done.exec);
  }

  /**
   * Brings the program up to date: executes what is affected since the last run. file is recorded first, if it is
   * given; else the program is the session's own.
   */
  async run(file?: string, options: RunOptions = {}): Promise<documents.Run> {
    const done = await this.execute("RunService/RunStream", { file }, options);
    if (!done.result) throw malformed("its last event has no result");
    return done.result;
  }

  /**
   * Interrupts what this object executes in the session now, as Ctrl-C does. false if that is nothing. The interrupted
   * call returns, with what was done until then.
   */
  async interrupt(): Promise<boolean> {
    const runs = [...this.runs];
    for (const run of runs) {
      run.unwanted = true;
      if (run.started) await this.engine.interrupt(run);
    }
    return runs.length > 0;
  }

  /** The calls of tools and models that the session made or is served, the newest first. */
  calls(options: CallsOptions = {}): Promise<documents.Calls> {
    return this.ask("CallService/ListCalls", options);
  }

  /** Decides about a call that waits; the next run continues from there. */
  async approve(call: number, { result, ...options }: ApproveOptions = {}): Promise<documents.Approve> {
    const given = result === undefined ? undefined : written(result);
    return (await this.engine.call(
      "CallService/Approve",
      fields({ call, result: given, ...options }),
    )) as documents.Approve;
  }

  /**
   * Applies a patch in any format that agents write (docs/patches.md): all of it, or nothing. Code that calls tools of
   * the client is run by run, which offers them.
   */
  async edit(
    patch: string,
    { timeout: timeoutSeconds, expect, origin, ...options }: EditOptions = {},
  ): Promise<documents.Patch> {
    const request = this.request(origin, { patch, timeoutSeconds, expect: text(expect), ...options });
    return (await this.engine.call("EditService/Edit", request, { executes: options.run ?? false })) as documents.Patch;
  }

  /** Takes edits back, keeps what was done since: the last one, a step, a range ("5..9"), or all of an agent (by). */
  undo(steps?: string | number, options: UndoOptions = {}): Promise<documents.Undo> {
    return this.change("Undo", { steps: text(steps), ...options });
  }

  /** Makes the program what it was after an earlier step. The history is kept. */
  rollback(toStep: number, options: RollbackOptions = {}): Promise<documents.Rollback> {
    return this.change("Rollback", { toStep, ...options });
  }

  /**
   * Makes a session with the history of this one, until a step or whole, and returns it. private gives it a private
   * copy of the folder that the program runs in, so that both can run at a time; the session's folder is its path.
   */
  async fork(name: string, options: ForkOptions = {}): Promise<Session> {
    const done: documents.Fork = await this.change("Fork", { new: name, ...options });
    return new Session(this.engine, done.session, this.origin, done.folder);
  }

  /**
   * Reports what run would do now, why, and for how long. Nothing is executed. contents is what the file would hold, if
   * it is not saved.
   */
  async plan(file?: string, options: { arguments?: string[]; contents?: string } = {}): Promise<documents.Plan> {
    return this.ask("QueryService/Plan", { file, ...options, ...this.engine.server.environment() });
  }

  /** Reports why a block ran, was reused, is blocked or stale, and what the next run would do with it. */
  why(block: string): Promise<documents.Why> {
    return this.ask("QueryService/Why", { block });
  }

  /** The value of a variable: type, shape, size and text. */
  value(name: string, options: At = {}): Promise<documents.QueryValue> {
    return this.ask("QueryService/Value", { name, ...options, ...this.engine.server.environment() });
  }

  /** The steps of the session, the newest first: at most 20, or limit (0 is all). after is next of a page. */
  history(options: { limit?: number; after?: number } = {}): Promise<documents.Log> {
    return this.ask("QueryService/History", options);
  }

  /** The program as it is now; a block; or an edit, by its step. */
  async show(of?: string): Promise<documents.Query | documents.QueryBlock | documents.QueryPatch> {
    return only(await this.ask("QueryService/Show", { of }));
  }

  /** Compares the program after two steps; without them, what the last step changed. */
  diff(from?: string | number, to?: string | number): Promise<documents.Diff> {
    return this.ask("QueryService/Diff", { from: text(from), to: text(to) });
  }

  /**
   * Answers a question about the program after a step, or now, from the record. Nothing is executed. Without a question
   * the answer is the program. limit and after page the answer to where, which is an expression (docs/json.md).
   */
  query(question?: At): Promise<documents.Query>;
  query(question: At & { block: string }): Promise<documents.QueryBlock>;
  query(question: At & { symbol: string }): Promise<documents.QuerySymbol>;
  query(question: At & ({ affectedBy: string } | { dependsOn: string })): Promise<documents.QueryDependents>;
  query(question: At & { path: [from: string, to: string] }): Promise<documents.QueryPath>;
  query(question: { version: string }): Promise<documents.QueryVersion>;
  query(question: { patch: string | number }): Promise<documents.QueryPatch>;
  query(question: At & { failed: true }): Promise<documents.QueryBlocks>;
  query(question: At & { unverified: true }): Promise<documents.QueryUnverified>;
  query(question: At & { volatile: true }): Promise<documents.QueryVolatile>;
  query(question: At & { where: string; limit?: number; after?: string }): Promise<documents.QueryWhere>;
  async query({ path, patch, ...question }: any = {}): Promise<any> {
    const asked = { ...question, path: path && { from: path[0], to: path[1] }, patch: text(patch) };
    return only(await this.ask("QueryService/Query", asked));
  }

  private async ask(method: string, question: object): Promise<any> {
    return this.engine.call(method, this.addressed(question));
  }

  private async change(
    method: string,
    { origin, ...options }: { origin?: Origin; [field: string]: unknown },
  ): Promise<any> {
    return this.engine.call(`EditService/${method}`, this.addressed({ ...options, ...this.caller(origin) }));
  }

  private async execute(method: string, what: object, options: Execution): Promise<documents.Event> {
    const { onEvent, signal, tools, models, origin, timeout: timeoutSeconds, ...more } = options;
    const offering = new Offering(tools, models);
    const request = { ...this.request(origin, { ...what, timeoutSeconds, ...more }), ...offering.request() };
    const run: Run = { session: this.name, started: "", unwanted: false, offering };
    this.runs.add(run);
    try {
      return await this.engine.stream(method, request, run, { onEvent, signal });
    } finally {
      this.runs.delete(run);
    }
  }

  /** A request that changes the program, and may execute it. */
  private request(origin: Origin | undefined, options: object): object {
    return this.addressed({ ...options, ...this.caller(origin), ...this.engine.server.environment() });
  }

  private caller(origin: Origin | undefined): { origin?: Origin } {
    const who = { ...this.origin, ...origin };
    return Object.keys(who).length ? { origin: who } : {};
  }

  private addressed(options: object): object {
    return { session: this.name, folder: this.engine.server.folder, ...fields(options) };
  }
}

function text(step: string | number | undefined): string | undefined {
  return step === undefined ? undefined : String(step);
}

/** The document of an answer that names the question. */
function only(answer: object): any {
  return Object.values(answer)[0];
}
