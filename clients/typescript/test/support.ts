/** What the tests share: a folder and a store for each, the binary to test, and the end of the server. */

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Engine, XStateError } from "../src/index.js";
import type { EngineOptions } from "../src/server.js";

/** The folder of the repository. */
export const ROOT = process.env["XSTATE_ROOT"] ?? fileURLToPath(new URL("../../../..", import.meta.url));

export const BINARY = process.env["XSTATE"] ?? "xstate";
/** A block that shows a picture. */
export const PICTURE = `# %% picture
import base64
class Picture:
    def _repr_png_(self):
        return base64.b64decode(
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        )
Picture()`;

export const LONG = "# %% long\nimport time\nprint('began', flush=True)\ntime.sleep(600)";

/** A folder with an engine. The server of its store ends with the test. */
export class Place {
  readonly folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "xse"))); // short: it holds a socket
  readonly engine = this.newEngine();

  constructor(t: TestContext) {
    t.after(async () => {
      if (this.serverFile()?.pid) await this.engine.stop();
      fs.rmSync(this.folder, { recursive: true });
    });
  }

  newEngine(options: EngineOptions = {}): Engine {
    const python = process.env["XSTATE_PYTHON"];
    return new Engine(this.folder, { binary: BINARY, idle: "1m", ...(python && { python }), ...options });
  }

  /** What the server says about itself; undefined if there is none. */
  serverFile(): { pid: number; http: string } | undefined {
    const name = path.join(this.folder, ".xstate/server.json");
    return fs.existsSync(name) ? JSON.parse(fs.readFileSync(name, "utf8")) : undefined;
  }
}

/** assert.deepEqual, of which TypeScript needs the type to be written. */
export const equal: (have: unknown, want: unknown, message?: string) => void = assert.deepEqual;

/** Waits until something that another process does is visible. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; !(await condition()); i++) {
    assert.ok(i < 3000, "it did not come true");
    await sleep(20);
  }
}

/** The error with which a promise must end. */
export async function refused(promise: Promise<unknown>): Promise<XStateError> {
  const e = await promise.then(
    () => assert.fail("it did not fail"),
    (e: unknown) => e,
  );
  assert.ok(e instanceof XStateError, String(e));
  return e;
}
