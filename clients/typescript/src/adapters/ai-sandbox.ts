/** The AI SDK: a sandbox for tools that execute commands and use files. */

import type { Dirent, Stats } from "node:fs";
import fs from "node:fs/promises";
import path from "node:path";

import type { Experimental_SandboxSession } from "ai";

import type { Event } from "../documents.js";
import type { Engine } from "../engine.js";
import { XStateError } from "../errors.js";
import type { Server } from "../server.js";
import type { ExecOptions } from "../session.js";
import { link } from "../transport.js";
import { executeAlone } from "./alone.js";
import type { AloneOptions } from "./alone.js";

const KILLED = 137; // the exit code of a process that SIGKILL ended

/**
 * Returns a sandbox in the folder of the engine, for `experimental_sandbox`.
 *
 * Each command is executed by Bash as the only block of a new session, within the bounds of xstate. A command that is
 * aborted, or exceeds the timeout, leaves no files. The methods of files are executed by this process, and reach the
 * folder alone, without the store. All calls take turns, so the next one waits for the end of what `spawn` began.
 */
export function sandbox(engine: Engine, options: AloneOptions = {}): Experimental_SandboxSession {
  const turn = turns();
  return {
    description:
      `Commands are executed by Bash in the folder ${engine.server.folder}. They read and write this folder, and ` +
      "have no network unless the policy of xstate allows it. Files are those of this folder.",
    ...commands(engine, options, turn),
    ...files(engine.server, turn),
  };
}

/** The methods that execute commands. */
function commands(engine: Engine, options: AloneOptions, turn: Turn) {
  const execute = async (code: string, more: Pick<ExecOptions, "signal" | "onEvent">) => {
    const { session, result } = await executeAlone(engine, "bash", code, { name: "sandbox", ...options, ...more });
    result.check();
    return { exitCode: Number(JSON.parse((await session.value("code")).text)) };
  };
  /** Begins a command. It may have to wait for its turn. */
  const spawn = async (given: SpawnOptions) => {
    given.abortSignal?.throwIfAborted();
    const code = block(given);
    const [stdout, stderr] = [new Output(), new Output()];
    const onEvent = ({ output }: Event) => {
      if (output?.kind === "stdout") stdout.add(output.text);
      if (output?.kind === "stderr") stderr.add(output.text);
    };
    const ended = new AbortController();
    const { signal } = ended;
    const unlink = link(given.abortSignal, ended);
    let killed = false;
    const exited = turn(() => execute(code, { signal, onEvent }), signal)
      .catch((e) => (killed ? { exitCode: KILLED } : Promise.reject(e)))
      .finally(() => {
        unlink();
        stdout.end();
        stderr.end();
      });
    exited.catch(() => {}); // it may be that no caller waits
    const kill = async () => {
      killed = true;
      ended.abort();
    };
    return { stdout: stdout.stream, stderr: stderr.stream, wait: () => exited, kill };
  };
  const run = async (given: SpawnOptions) => {
    const { stdout, stderr, wait } = await spawn(given);
    const [out, err, { exitCode }] = await Promise.all([text(stdout), text(stderr), wait()]);
    return { exitCode, stdout: out, stderr: err };
  };
  return { run, spawn: spawn as unknown as Experimental_SandboxSession["spawn"] }; // one with an input is refused
}

/** The methods that use files. */
function files(server: Server, turn: Turn) {
  /** Acts on a file in its turn; null if it is not there. */
  const use = <T>({ path: name, abortSignal }: PathOptions, act: (file: string) => Promise<T>): Promise<T | null> =>
    turn(async () => absent(act(await within(server, name))), abortSignal);
  const readBinaryFile = (given: PathOptions) => use<Uint8Array>(given, (file) => fs.readFile(file));
  const write = async ({ path: name, abortSignal }: PathOptions, content: Uint8Array | ReadableStream<Uint8Array>) => {
    await turn(async () => {
      const file = await within(server, name);
      await fs.mkdir(path.dirname(file), { recursive: true });
      await fs.writeFile(file, content);
    }, abortSignal);
  };
  return {
    readBinaryFile,
    readFile: async (given: PathOptions) => {
      const bytes = await readBinaryFile(given);
      return bytes && (new Blob([bytes as Uint8Array<ArrayBuffer>]).stream() as ReadableStream<Uint8Array>);
    },
    readTextFile: async ({ encoding = "utf-8", startLine = 1, endLine, ...given }: ReadTextOptions) => {
      const bytes = await readBinaryFile(given);
      if (!bytes) return null;
      const lines = new TextDecoder(encoding).decode(bytes).split("\n");
      return lines.slice(startLine - 1, endLine).join("\n");
    },
    writeFile: (given: WriteOptions<ReadableStream<Uint8Array>>) => write(given, given.content),
    writeBinaryFile: (given: WriteOptions<Uint8Array>) => write(given, given.content),
    writeTextFile: ({ encoding = "utf-8", content, ...given }: WriteOptions<string> & { encoding?: string }) =>
      write(given, Buffer.from(content, encoding as BufferEncoding)),
    stat: (given: PathOptions) =>
      use(given, async (file) => {
        const found = await fs.stat(file);
        return { type: kind(found), size: found.size };
      }),
    listDirectory: (given: PathOptions) =>
      use(given, async (file) => {
        const entries = await fs.readdir(file, { withFileTypes: true });
        const shown = entries.filter((entry) => path.join(file, entry.name) !== server.store);
        return shown.map((e) => ({ name: e.name, type: e.isSymbolicLink() ? ("symlink" as const) : kind(e) }));
      }),
    deleteFile: async ({ path: name, abortSignal }: PathOptions) => {
      const file = path.resolve(server.folder, name);
      // The folder of a link is looked at, and not what the link names.
      const remove = async () => fs.unlink(path.join(await within(server, path.dirname(file)), path.basename(file)));
      return (await turn(() => absent(remove().then(() => true)), abortSignal)) ?? false;
    },
  };
}

type SpawnOptions = Parameters<Experimental_SandboxSession["run"]>[0] & { stdin?: boolean };
type PathOptions = Parameters<Experimental_SandboxSession["stat"]>[0];
type ReadTextOptions = Parameters<Experimental_SandboxSession["readTextFile"]>[0];
type WriteOptions<T> = PathOptions & { content: T };
type Turn = ReturnType<typeof turns>;

/** The block that executes a command. */
function block({ command, workingDirectory, env, stdin }: SpawnOptions): string {
  if (stdin) throw new XStateError("usage", "a command has no input to write to", "write a file, and redirect it");
  if (Object.keys(env ?? {}).length) {
    const hint = "name the variable in xstate.toml, among pass or secrets of [environment]";
    throw new XStateError("usage", "the record would show the variables of a command", hint);
  }
  const place = workingDirectory === undefined ? "" : `cd -- ${quoted(workingDirectory)} && `;
  return `(${place}exec bash -c ${quoted(command)})\ncode=$?`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** What a command writes to one of its outputs. */
class Output {
  private controller!: ReadableStreamDefaultController<Uint8Array>;
  readonly stream = new ReadableStream<Uint8Array>({
    start: (controller) => void (this.controller = controller),
    cancel: () => void (this.open = false),
  });
  private open = true;

  add(text = ""): void {
    if (this.open) this.controller.enqueue(new TextEncoder().encode(text));
  }

  end(): void {
    if (this.open) this.controller.close();
    this.open = false;
  }
}

async function text(stream: ReadableStream<Uint8Array>): Promise<string> {
  return new Response(stream).text();
}

/** Returns a function that does one thing after the other. */
function turns() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(act: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    const next = last.then(() => {
      signal?.throwIfAborted();
      return act();
    });
    last = next.catch(() => {});
    return next;
  };
}

/**
 * The place of a file in the folder, without links. A place outside of it, or in a store, is refused. No command runs
 * meanwhile that could change a link.
 */
async function within({ folder, store }: Server, name: string): Promise<string> {
  let there = path.resolve(folder, name);
  const missing: string[] = [];
  while (!(await absent(fs.lstat(there)))) {
    missing.unshift(path.basename(there));
    there = path.dirname(there);
  }
  const place = path.join(await fs.realpath(there), ...missing);
  const inner = path.relative(folder, place).split(path.sep);
  if (inner[0] === ".." || inner.includes(".xstate") || !path.relative(store, place).startsWith("..")) {
    throw new XStateError("forbidden", `${name} is outside of the folder of the sandbox`, `it is ${folder}`);
  }
  return place;
}

/** null, where a file is not there. */
async function absent<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (e) {
    if (["ENOENT", "ENOTDIR"].includes((e as NodeJS.ErrnoException).code ?? "")) return null;
    throw e;
  }
}

function kind(of: Stats | Dirent): "file" | "directory" | "other" {
  return of.isFile() ? "file" : of.isDirectory() ? "directory" : "other";
}
