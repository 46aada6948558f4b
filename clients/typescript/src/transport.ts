/** The Connect protocol with JSON over HTTP/1.1, on a socket of the file system or of TCP. */

import { setMaxListeners } from "node:events";
import http from "node:http";

import type { Event } from "./documents.js";
import { XStateError, document, fromConnect, malformed } from "./errors.js";
import { exact } from "./offers.js";
import type { Address, Server } from "./server.js";
import { VERSION } from "./version.js";

/** Flag of the envelope that ends a stream. */
const LAST = 2;
/** Bytes of a request, as the server has it. It closes the connection while the rest of a longer one is sent. */
const MOST_BODY = 16 << 20;
/** Seconds that a timer can wait. */
const LONGEST = 2 ** 31 / 1000 - 1;
/** Codes of errors of a connection that the server's end closed. */
const CUT = ["ECONNRESET", "EPIPE", "ECONNABORTED"];
/** Half of a surrogate pair, as JSON escapes it. */
const SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

/**
 * Sends requests to the server of a store, and starts one if there is none. Each call has its own connection: to open
 * one is quick, and one that is kept may be that of a server that has ended.
 */
export class Transport {
  private starting: Promise<void> | undefined;

  constructor(private readonly server: Server) {}

  /** Sends a request and returns the document that answers it. seconds bound it; 0: nothing does. */
  async call(method: string, message: object, seconds: number, signal?: AbortSignal): Promise<unknown> {
    signal?.throwIfAborted();
    const ended = new AbortController();
    const late = () =>
      ended.abort(new XStateError("timeout", `no answer within ${seconds} s`, "ask again, or with a longer timeout"));
    const timer = seconds > 0 && seconds < LONGEST ? setTimeout(late, 1000 * seconds) : undefined;
    const unlink = link(signal, ended);
    try {
      const response = await this.send(method, message, "application/json", ended.signal);
      return document(await whole(response));
    } catch (e) {
      ended.signal.throwIfAborted();
      throw await this.worded(e);
    } finally {
      clearTimeout(timer);
      unlink();
    }
  }

  /** Sends a request and hands over each event. If each throws, the connection is closed, which ends the run. */
  async stream(method: string, message: object, each: (e: Event) => Promise<void>, signal: AbortSignal): Promise<void> {
    let response: http.IncomingMessage | undefined;
    let ours: unknown;
    try {
      response = await this.send(method, message, "application/connect+json", signal);
      const aborted = rejection(signal);
      let chunks: Buffer[] = [];
      let have = 0; // bytes in chunks
      let want = 5; // bytes until something can be read
      for await (const chunk of response as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        have += chunk.length;
        if (have < want) continue;
        let left = Buffer.concat(chunks);
        while (left.length >= 5 && left.length >= (want = 5 + left.readUInt32BE(1))) {
          const text = left.toString("utf8", 5, want);
          const last = left[0]! & LAST;
          left = left.subarray(want);
          want = 5;
          const said = document(text);
          if (last) {
            const { error } = said as { error?: object };
            if (error) throw fromConnect(JSON.stringify(error));
            return;
          }
          const event = said as Event;
          if (event?.event === "call" && /\d{16}/.test(text)) event.args = (exact(text) as Event).args;
          const taken = each(event).catch((e) => {
            ours = { e };
            throw e;
          });
          await Promise.race([taken, aborted]);
        }
        chunks = [left];
        have = left.length;
      }
      throw malformed("its stream has no end");
    } catch (e) {
      if (ours) throw e;
      signal.throwIfAborted();
      throw await this.worded(e);
    } finally {
      response?.destroy();
    }
  }

  private async send(
    method: string,
    message: object,
    type: string,
    signal: AbortSignal,
  ): Promise<http.IncomingMessage> {
    const text = JSON.stringify(message);
    if (SURROGATE.test(text)) {
      throw new XStateError("usage", "a text of the request is no Unicode: it has half of a surrogate pair");
    }
    let body = Buffer.from(text);
    if (body.length > MOST_BODY) {
      throw new XStateError(
        "too-large",
        `the request has ${body.length} bytes, want at most ${MOST_BODY}`,
        "write large data into a file of the workspace",
      );
    }
    if (type.includes("connect")) {
      const head = Buffer.alloc(5);
      head.writeUInt32BE(body.length, 1);
      body = Buffer.concat([head, body]);
    }
    const request = { path: `/xstate.v1.${method}`, type, body, signal };
    let response = await this.once(request);
    if (!response) {
      this.starting ??= this.server.launch().finally(() => (this.starting = undefined));
      await Promise.race([this.starting, rejection(signal)]);
      response = await this.once(request);
    }
    if (!response)
      throw new XStateError("no-server", "the server ended right after its start", "xstate serve --status");
    if (response.statusCode !== 200) throw fromConnect(await whole(response), response.statusCode);
    return response;
  }

  /** Sends a request to the server that is there; undefined if there is none. */
  private async once(request: Request): Promise<http.IncomingMessage | undefined> {
    const address = this.server.find();
    if (!address) return undefined;
    try {
      return await exchange(address, request);
    } catch (e) {
      const { code, syscall, message } = e as NodeJS.ErrnoException;
      if (syscall !== "connect") throw e;
      if (code === "ENOENT" || code === "ECONNREFUSED") return undefined; // a server that is gone left the address
      throw new XStateError("no-server", `the server cannot be reached: ${message}`, "xstate serve --status");
    }
  }

  /** An error as callers get it. */
  private async worded(e: unknown): Promise<unknown> {
    const { code = "", message } = e as NodeJS.ErrnoException;
    if (e instanceof XStateError || !code) return e;
    if (code.startsWith("HPE_")) return malformed(message); // of the parser of HTTP
    if (CUT.includes(code)) return this.server.gone(e as Error);
    return new XStateError("no-server", `the server cannot be reached: ${message}`, "xstate serve --status");
  }
}

/** Aborts one controller when another's signal is aborted. Returns what undoes that. */
export function link(signal: AbortSignal | undefined, controller: AbortController): () => void {
  const forward = () => controller.abort(signal!.reason);
  setMaxListeners(0, controller.signal, ...(signal ? [signal] : [])); // one for each call that is made at the same time
  signal?.addEventListener("abort", forward);
  return () => signal?.removeEventListener("abort", forward);
}

/** A promise that is rejected when a signal is aborted. */
function rejection(signal: AbortSignal): Promise<never> {
  const found = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  found.catch(() => {});
  return found;
}

interface Request {
  path: string;
  type: string;
  body: Buffer;
  signal: AbortSignal;
}

function exchange(address: Address, { path, type, body, signal }: Request): Promise<http.IncomingMessage> {
  const headers: http.OutgoingHttpHeaders = {
    "user-agent": `xstate-engine/${VERSION} node`,
    "content-type": type,
    "content-length": body.length,
    "connect-protocol-version": "1",
  };
  if ("token" in address && address.token) headers["authorization"] = `Bearer ${address.token}`;
  return new Promise((resolve, reject) => {
    const options = { ...address, path, method: "POST", headers, agent: false, signal } as const;
    const request = http.request(options, resolve);
    request.on("error", reject);
    request.end(body);
  });
}

async function whole(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
