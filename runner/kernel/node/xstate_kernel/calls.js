'use strict'
// Calls of tools and models, for the program's global names tools and xstate. They go over the one connection that the
// process inherits: a call is a line of JSON with an id, and so is its reply. The engine's half is call_conn.go.
//
// The connection keeps the process alive only while a call has no reply, so a program that waits for a call does not
// count as one that waits for nothing.

/** @typedef {{ name: string, source?: string, input?: { properties?: object }, order?: string[] }} ToolInfo */
/**
 * @typedef {object} Reply
 * @property {number} id
 * @property {unknown} [result]
 * @property {ToolInfo[]} [tools]
 * @property {{ code?: string, message?: string, hint?: string }} [error]
 * @property {boolean} [suspended]
 */
/** @typedef {{ model?: string, system?: unknown, schema?: unknown, sample?: number }} ModelOptions */
/** @typedef {{ resolve: (reply: Reply) => void, reject: (e: Error) => void }} Open a call that has no reply */

const net = require('node:net')

const LIMIT = 64 << 20; // bytes of JSON

class CallError extends Error {
  /** @param {string} message @param {string} [code] @param {string} [hint] */
  constructor(message, code = '', hint = '') {
    super(hint ? `${message} (${hint})` : message)
    this.code = code
    this.hint = hint
  }
}
class ToolError extends CallError {}
class CallLost extends CallError {}
class CallDenied extends CallError {}
class Suspended extends CallError {}
class BudgetSpent extends Suspended {}
class NotPlain extends TypeError {}

const errors = { CallError, ToolError, CallLost, CallDenied, Suspended, BudgetSpent, NotPlain }
for (const [name, type] of Object.entries(errors)) {
  Object.defineProperty(type.prototype, 'name', { value: name, configurable: true, writable: true })
}

/** @type {Record<string, new (...args: ConstructorParameters<typeof CallError>) => CallError>} */
const BY_CODE = {
  'tool-refused': ToolError, 'no-tool': ToolError, 'tool-arguments': ToolError, 'tool-result': ToolError,
  'call-denied': CallDenied,
}

/** @type {(e: { code?: string, message?: string, hint?: string }, suspended?: boolean) => CallError} */
function errorOf({ code = '', message = '', hint = '' }, suspended) {
  const type = code === 'budget-spent' ? BudgetSpent : suspended ? Suspended : BY_CODE[code] || CallLost
  return new type(message, code, hint)
}

// Plain data to pass instead, by the type of a value that is not plain data.
/** @type {Record<string, string>} */
const INSTEAD = {
  Map: 'Object.fromEntries(x)', Set: '[...x]', Date: 'x.toISOString()', RegExp: 'x.source',
  Promise: 'its result: put await before it',
  Function: 'its name, or its result', BigInt: 'String(x), or Number(x)', Symbol: 'its description',
}

// plain checks that a value is plain data, and returns it. where names it in errors.
/** @type {(v: unknown, where: string, above?: unknown[]) => unknown} */
function plain(v, where, above = []) {
  if (v === null || typeof v === 'boolean') return v
  if (typeof v === 'string') {
    if (v.isWellFormed ? v.isWellFormed() : !/[\uD800-\uDFFF]/u.test(v)) return v
    throw new NotPlain(`${where} has half of a surrogate pair, which is no character; pass x.toWellFormed()`)
  }
  if (typeof v === 'number') {
    if (Number.isFinite(v)) return v
    throw new NotPlain(`${where} is ${v}, which JSON does not have; pass null, or a text`)
  }
  if (typeof v !== 'object') throw refusal(v, where)
  if (above.includes(v)) throw new NotPlain(`${where} contains itself; pass data without cycles`)
  const inner = [...above, v]
  if (Array.isArray(v)) return Array.from(v, (x, i) => plain(x === undefined ? null : x, `${where}[${i}]`, inner))
  const proto = Object.getPrototypeOf(v)
  if (proto !== Object.prototype && proto !== null) throw refusal(v, where)
  const of = /** @type {Record<string, unknown>} */ (v)
  const found = {}
  for (const k of Object.keys(v)) {
    if (of[k] === undefined) continue; // as JSON.stringify does
    const path = /^[A-Za-z_$][\w$]*$/.test(k) ? `${where}.${k}` : `${where}[${JSON.stringify(k)}]`
    Object.defineProperty(found, k, { value: plain(of[k], path, inner), enumerable: true })
  }
  return found
}

/** @type {(v: unknown, where: string) => NotPlain} */
function refusal(v, where) {
  const type = v === undefined ? 'undefined' : /** @type {object} */ (v).constructor?.name || typeof v
  return new NotPlain(`${where} is of type ${type}, which is not plain data; pass ` +
    (INSTEAD[type] || 'text, numbers, lists or an object of these'))
}

// Calls is the program's end of the connection.
class Calls {
  // running returns the node that runs, or null. varies: what it did so far may differ from run to run.
  /** @param {number} fd @param {() => { filename: string } | null} running @param {() => boolean} varies */
  constructor(fd, running, varies) {
    this.fd = fd
    this.running = running
    this.varies = varies
    /** @type {Map<number, Open>} */
    this.open = new Map() // by id
    this.count = 0
    this.rest = ''
    /** @type {net.Socket | undefined} */
    this.socket = undefined
    this.tools = toolsOf(this, '')
  }

  connect() {
    if (this.socket) return this.socket
    const socket = this.socket = new net.Socket({ fd: this.fd, readable: true, writable: true })
    socket.setEncoding('utf8')
    socket.on('data', (text) => this.came(String(text)))
    /** @type {(e: unknown) => void} */
    const gone = (e) => this.gone(e)
    socket.on('error', gone).on('close', gone)
    return socket
  }

  /** @type {(text: string) => void} */
  came(text) {
    const lines = (this.rest + text).split("\n")
    this.rest = lines[lines.length - 1]
    for (const line of lines.slice(0, -1)) {
      /** @type {Reply} */
      const reply = JSON.parse(line)
      const call = this.open.get(reply.id)
      if (!call) continue
      this.open.delete(reply.id)
      if (this.open.size === 0) this.socket?.unref()
      call.resolve(reply)
    }
  }

  /** @type {(e: unknown) => void} */
  gone(e) {
    const why = e instanceof Error && e.message ? `: ${e.message}` : ''
    for (const call of this.open.values()) call.reject(new CallLost('the engine has gone' + why, 'tool-lost'))
    this.open.clear()
  }

  // call makes a call, and returns a promise of its reply.
  /** @type {(request: object) => Promise<Reply>} */
  async call(request) {
    const line = this.line()
    const id = ++this.count
    const text = JSON.stringify({ ...request, ...(line ? { line } : {}), varies: this.varies(), id }) + "\n"
    if (text.length > LIMIT) {
      throw new NotPlain(`the call has more than ${LIMIT} bytes; write a file, and pass its name`)
    }
    const socket = this.connect()
    if (this.open.size === 0) socket.ref()
    /** @type {Reply} */
    const reply = await new Promise((resolve, reject) => {
      this.open.set(id, { resolve, reject })
      socket.write(text)
    })
    if (reply.error) {
      const error = errorOf(reply.error, reply.suspended)
      if (error instanceof Suspended) {
        await new Promise(() => {}) // the node ends here, whatever the program catches
      }
      throw error
    }
    return reply
  }

  // line returns the line of the block that runs from which a call comes; 0 if it is not known.
  line() {
    const node = this.running()
    const found = node && String(new Error().stack).split('\n').find((l) => l.includes(`${node.filename}:`))
    return found ? Number(found.slice(found.indexOf(`${node.filename}:`) + node.filename.length + 1).split(':')[0]) : 0
  }

  /** @type {(name: string, args: unknown[]) => Promise<unknown>} */
  async tool(name, args) {
    return (await this.call({ kind: 'tool', tool: name, args: plain(await this.named(name, args), name) })).result
  }

  // named returns arguments by name: one plain object is that, others are in the order of the tool's schema.
  /** @type {(name: string, args: unknown[]) => Promise<object>} */
  async named(name, args) {
    if (args.length === 0) return {}
    const [first] = args
    if (args.length === 1 && typeof first === 'object' && first !== null && !Array.isArray(first)) return first
    const { tools = [] } = await this.call({ kind: 'tools' })
    const info = tools.find((t) => t.name === name || `${t.source}.${t.name}` === name)
    if (!info) return {}; // the engine reports that the tool does not exist
    const known = Object.keys(info.input?.properties || {})
    const order = info.order || known
    if (args.length > order.length) {
      throw new TypeError(`${name} takes ${order.length} arguments by position, and not ${args.length}; ` +
        `pass an object: ${known.join(", ")}`)
    }
    return Object.fromEntries(args.map((v, i) => [order[i], v]))
  }

  // offered is the object xstate of programs.
  offered() {
    /** @type {(name: string, args?: object) => Promise<unknown>} */
    const tool = (name, args = {}) => this.tool(name, [args])
    return { tools: this.tools, tool, llm: this.llm.bind(this), ask: this.ask.bind(this), ...errors }
  }

  /** @type {(prompt: string | unknown[], o?: ModelOptions) => Promise<unknown>} */
  async llm(prompt, { model = '', system, schema, sample = 0, ...options } = {}) {
    /** @type {unknown[]} */
    let messages = typeof prompt === 'string' ? [{ role: 'user', content: prompt }] :
      /** @type {unknown[]} */ (plain(prompt, 'prompt'))
    if (system !== undefined) messages = [{ role: 'system', content: plain(system, 'system') }, ...messages]
    /** @type {Record<string, unknown>} */
    const args = { messages }
    if (schema !== undefined) args.schema = plain(schema, 'schema')
    if (Object.keys(options).length) args.options = plain(options, 'options')
    return (await this.call({ kind: 'model', tool: model, args, ...(sample ? { sample } : {}) })).result
  }

  /** @type {(question: unknown, choices?: unknown[]) => Promise<unknown>} */
  async ask(question, choices = []) {
    const args = { question: plain(question, 'question'), choices: plain(choices, 'choices') }
    return (await this.call({ kind: 'ask', tool: 'ask', args, ...args })).result
  }
}

// toolsOf returns an object whose properties are the tools: tools.search({query}), tools["a b"](), tools.files.read().
/** @type {(calls: Calls, prefix: string) => object} */
function toolsOf(calls, prefix) {
  return new Proxy(function tools() {}, {
    get(target, name) {
      if (typeof name === 'symbol' || name === 'then' || name === 'prototype') return Reflect.get(target, name)
      return toolsOf(calls, prefix ? `${prefix}.${name}` : name)
    },
    apply(_, __, args) {
      if (!prefix) throw new TypeError('tools is no function: name a tool, as in tools.search({query})')
      return calls.tool(prefix, args)
    },
    set() {
      throw new TypeError('tools cannot be changed')
    },
  })
}

module.exports = { Calls, errors, plain }
