/** Where the server of a store is, and how one is started. */

import { spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { XStateError, fromDocument } from "./errors.js";

/** The place to connect to: a socket in the file system, or host and port with a token. */
export type Address = { socketPath: string } | { host: string; port: number; token: string | undefined };

export interface EngineOptions {
  /** The folder of the store; else the nearest .xstate at or above the engine's folder, or one that is made there. */
  store?: string | undefined;
  /** The path of xstate; else the variable XSTATE names it, or it is that of the package, or on PATH. */
  binary?: string | undefined;
  /** The interpreter of Python that executes code; without it xstate chooses as it does at the command line. */
  python?: string | undefined;
  /** The variables that code sees; those of this process without it. */
  environ?: Record<string, string | undefined> | undefined;
  /** Who calls: agent, model, call_id, reason and more. */
  origin?: Origin | undefined;
  /** Seconds that bound calls that execute nothing; 60 if it is not given. */
  timeout?: number | undefined;
  /**
   * Seconds to wait for a session that another call uses, after the five for which the server itself waits; 600 if it
   * is not given.
   */
  wait?: number | undefined;
  /** A server ends when it had nothing to do for this time, such as "10m". */
  idle?: string | undefined;
  /** The address of a server that listens, such as "http://127.0.0.1:7777". None is started. */
  url?: string | undefined;
  /** With url; the token of the store if it is not given. */
  token?: string | undefined;
  /** false: a server is not started if there is none. */
  start?: boolean | undefined;
}

/** Who calls, and why: agent, model, call_id, reason, tokens_in, tokens_out and any other fields that JSON has. */
export type Origin = Record<string, unknown>;

export class Server {
  readonly folder: string;
  readonly store: string;
  readonly timeout: number;
  readonly wait: number;

  constructor(
    folder: string,
    private readonly options: EngineOptions,
  ) {
    this.folder = path.resolve(folder);
    if (!fs.statSync(this.folder, { throwIfNoEntry: false })?.isDirectory()) {
      throw new XStateError("no-workspace", `${this.folder} is no folder`, "make it, or name another one");
    }
    this.folder = fs.realpathSync(this.folder);
    this.store = options.store === undefined ? nearestStore(this.folder) : path.resolve(options.store);
    this.timeout = options.timeout ?? 60;
    this.wait = options.wait ?? 600;
  }

  /** The environment of programs, as fields of a request. Of that of this process, they get what bounds allow. */
  environment(): { environ: Record<string, string>; inherited: boolean } {
    // Node shows a variable that is not UTF-8 with U+FFFD, so that its value is not known.
    const given = this.options.environ ?? process.env;
    const known = (v: string | undefined) => v !== undefined && (given !== process.env || !v.includes("\uFFFD"));
    const found = Object.fromEntries(Object.entries(given).filter(([, v]) => known(v))) as Record<string, string>;
    if (this.options.python) found["XSTATE_PYTHON"] = this.options.python;
    return { environ: found, inherited: given === process.env };
  }

  /** The address of the server; undefined if the store has none. Whether it is alive is known after connecting. */
  find(): Address | undefined {
    if (this.options.url !== undefined) {
      const url = URL.canParse?.(this.options.url) === false ? undefined : new URL(this.options.url);
      if (url?.protocol !== "http:") {
        throw new XStateError("usage", `"${this.options.url}" is no address of a server`, "want http://127.0.0.1:PORT");
      }
      const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
      return { host, port: Number(url.port || 80), token: this.options.token ?? this.token() };
    }
    const name = path.join(this.store, "server.json");
    let file: number;
    try {
      file = fs.openSync(name, "r");
    } catch (e) {
      if ((e as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw new XStateError("no-server", `${name} cannot be read: ${(e as Error).message}`, "make it readable");
    }
    let owner: number, socketPath: unknown;
    try {
      owner = fs.fstatSync(file).uid;
      socketPath = JSON.parse(fs.readFileSync(file, "utf8")).socket;
    } catch (e) {
      throw new XStateError("no-server", `${name} cannot be read: ${(e as Error).message}`, `remove it: rm ${name}`);
    } finally {
      fs.closeSync(file);
    }
    if (typeof socketPath !== "string") {
      throw new XStateError("no-server", `${name} names no socket`, `remove it: rm ${name}`);
    }
    if (owner !== process.getuid?.()) {
      throw new XStateError("no-server", `the server of ${this.store} is another user's`, "use a store of your own");
    }
    return { socketPath };
  }

  /** Starts the server of the store and returns when it listens. It outlives this process, until it is idle. */
  async launch(): Promise<void> {
    const { url, idle } = this.options;
    if (url !== undefined || this.options.start === false) {
      throw new XStateError(
        "no-server",
        url ? `no server answers at ${url}` : `the store ${this.store} has no server`,
        `start it: xstate serve --store ${this.store}` + (url ? " --listen 127.0.0.1:PORT" : ""),
      );
    }
    try {
      await this.serve("--background", ...(idle ? [`--idle=${idle}`] : []));
    } catch (e) {
      if (!(e instanceof XStateError && e.code === "server-running")) throw e; // another process started one meanwhile
    }
  }

  /** Ends the server of the store, if there is one. */
  stop(): Promise<void> {
    return this.serve("--stop");
  }

  /**
   * The error of a call that lost its server. Waits, at most a second, for a server that dies to stop listening: the
   * next call must not reach it.
   */
  async gone(why: Error): Promise<XStateError> {
    for (let i = 0; i < 100 && (await this.listens()); i++) await sleep(10);
    return new XStateError(
      "server-gone",
      `the server of ${this.store} ended before it answered: ${why.message}`,
      "call again, which starts a new one; the session's history says what was recorded",
    );
  }

  private listens(): Promise<boolean> {
    const address = this.find();
    if (!address) return Promise.resolve(false);
    return new Promise((resolve) => {
      const connection = net.connect("socketPath" in address ? { path: address.socketPath } : address);
      connection.on("connect", () => (connection.destroy(), resolve(true)));
      connection.on("error", () => resolve(false));
    });
  }

  private async serve(...flags: string[]): Promise<void> {
    const program = this.program();
    if (!fs.existsSync(this.folder)) throw new XStateError("no-workspace", `${this.folder} is gone`, "make it again");
    const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "xstate-"));
    // Files, not pipes: whatever the server inherits, nothing waits for its end.
    const [out, err] = [path.join(scratch, "out"), path.join(scratch, "err")].map((name) => fs.openSync(name, "w"));
    try {
      const args = ["serve", "--json", `--store=${this.store}`, ...flags];
      const child = spawn(program, args, { stdio: ["ignore", out, err], cwd: this.folder });
      const code = await new Promise<number | string>((resolve, reject) => {
        child.on("exit", (code, signal) => resolve(code ?? signal ?? "nothing"));
        child.on("error", (e) => reject(failed(program, "an error", e.message)));
      });
      const said = (name: string) => fs.readFileSync(path.join(scratch, name), "utf8");
      if (code !== 0) throw failed(program, code, said("out") || said("err"));
    } finally {
      fs.closeSync(out!);
      fs.closeSync(err!);
      fs.rmSync(scratch, { recursive: true });
    }
  }

  private program(): string {
    const name = this.options.binary ?? (process.env["XSTATE"] || packagedProgram() || "xstate");
    const places = name.includes("/") ? [""] : (process.env["PATH"] ?? "").split(path.delimiter);
    const found = places.map((place) => path.resolve(place, name)).find(isProgram);
    if (found) return found;
    throw new XStateError(
      "no-xstate",
      `there is no program ${name}`,
      "install it: npm install @xstate-engine/client; or name it: new Engine(folder, { binary }), the variable XSTATE",
    );
  }

  private token(): string | undefined {
    try {
      return fs.readFileSync(path.join(this.store, "token"), "utf8").trim();
    } catch {
      return undefined;
    }
  }
}

/** The program of the package for this platform, which npm installs with the client. */
export function packagedProgram(): string | undefined {
  try {
    const require = createRequire(import.meta.url);
    return require.resolve(`@xstate-engine/${process.platform}-${process.arch}/bin/xstate`);
  } catch {
    return undefined;
  }
}

function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** The error of a server that did not start, which the command line worded with flags; here they are options. */
function failed(program: string, code: number | string, said: string): XStateError {
  const worded = said.replace(/--(idle|store)[ =](\w+)/g, "$1: '$2'").replace(/--(idle|store)\b/g, "$1");
  try {
    return fromDocument(JSON.parse(worded).error);
  } catch {
    return new XStateError(
      "no-server",
      `${program} ended with ${code}: ${said.trim()}`,
      "new Engine(folder, { binary }) names the program",
    );
  }
}

/** The nearest store at or above a folder; else the one that is made in it. */
function nearestStore(folder: string): string {
  for (let place = folder; ; place = path.dirname(place)) {
    const store = path.join(place, ".xstate");
    if (fs.statSync(store, { throwIfNoEntry: false })?.isDirectory()) return store;
    if (place === path.dirname(place)) return path.join(folder, ".xstate");
  }
}
