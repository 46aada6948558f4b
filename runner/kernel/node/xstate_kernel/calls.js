'use strict'
// Calls of tools and models, for the program's global names tools and xstate. They go over the one connection that the
// process inherits: a call is a line of JSON with an id, and so is its reply. The engine's half is call_conn.go.
//
// The connection keeps the process alive only while a call has no reply, so a program that waits for a call does not
// count as one that waits for nothing.

const net = require('node:net')

const LIMIT = 64 << 20; // bytes of JSON

class CallError extends Error {
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

const BY_CODE = {
  'tool-refused': ToolError, 'no-tool': ToolError, 'tool-arguments': ToolError, 'tool-result': ToolError,
  'call-denied': CallDenied,
}

function errorOf({ code = '', message = '', hint = '' }, suspended) {
  const type = code === 'budget-spent' ? BudgetSpent : suspended ? Suspended : BY_CODE[code] || CallLost
  return new type(message, code, hint)
}

// What else to pass, by the type of a value that is no plain data.
const INSTEAD = {
  Map: 'Object.fromEntries(x)', Set: '[...x]', Date: 'x.toISOString()', RegExp: 'x.source',
  Promise: 'its result: put await before it',
  Function: 'its name, or its result', BigInt: 'String(x), or Number(x)', Symbol: 'its description',
}

// plain checks that a value is plain data, and returns it. where names it in errors.
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
  const found = {}
  for (const k of Object.keys(v)) {
    if (v[k] === undefined) continue; // as JSON.stringify does
    const path = /^[A-Za-z_$][\w$]*$/.test(k) ? `${where}.${k}` : `${where}[${JSON.stringify(k)}]`
    Object.defineProperty(found, k, { value: plain(v[k], path, inner), enumerable: true })
  }
  return found
}

function refusal(v, where) {
  const type = v === undefined ? 'undefined' : v.constructor?.name || typeof v
  return new NotPlain(`${where} is of type ${type}, which is not plain data; pass ` +
    (INSTEAD[type] || 'text, numbers, lists or an object of these'))
}

// Calls is the program's end of the connection.
class Calls {
  // running returns the node that runs, or null.
  constructor(fd, running) {
    this.fd = fd
    this.running = running
    this.open = new Map(); // id → what to do with a reply
    this.count = 0
    this.rest = ''
    this.stopped = () => {}; // called when a call suspends the node
    this.tools = toolsOf(this, '')
  }

  connect() {
    if (this.socket) return this.socket
    this.socket = new net.Socket({ fd: this.fd, readable: true, writable: true })
    this.socket.setEncoding('utf8')
    this.socket.on('data', (text) => this.came(text))
    const gone = (e) => this.gone(e)
    this.socket.on('error', gone).on('close', gone)
    return this.socket
  }

  came(text) {
    const lines = (this.rest + text).split("\n")
    this.rest = lines.pop()
    for (const line of lines) {
      const reply = JSON.parse(line)
      const call = this.open.get(reply.id)
      if (!call) continue
      this.open.delete(reply.id)
      if (this.open.size === 0) this.socket.unref()
      call.resolve(reply)
    }
  }

  gone(e) {
    for (const call of this.open.values()) {
      call.reject(new CallLost("the engine has gone" + (e?.message ? `: ${e.message}` : ""), "tool-lost"))
    }
    this.open.clear()
  }

  // call makes a call, and returns a promise of its reply.
  async call(request) {
    const line = this.line()
    const id = ++this.count
    const text = JSON.stringify({ ...request, ...(line ? { line } : {}), id }) + "\n"
    if (text.length > LIMIT) {
      throw new NotPlain(`the call has more than ${LIMIT} bytes; write a file, and pass its name`)
    }
    const socket = this.connect()
    if (this.open.size === 0) socket.ref()
    const reply = await new Promise((resolve, reject) => {
      this.open.set(id, { resolve, reject })
      socket.write(text)
    })
    if (reply.error) {
      const error = errorOf(reply.error, reply.suspended)
      if (error instanceof Suspended) {
        this.stopped(error); // the node ends here, whatever the program catches
        await new Promise(() => {})
      }
      throw error
    }
    return reply
  }

  // line returns the line of the block that runs from which a call comes; 0 if it is not known.
  line() {
    const node = this.running()
    const found = node && new Error().stack.split('\n').find((l) => l.includes(`${node.filename}:`))
    return found ? Number(found.slice(found.indexOf(`${node.filename}:`) + node.filename.length + 1).split(':')[0]) : 0
  }

  async tool(name, args) {
    return (await this.call({ kind: 'tool', tool: name, args: plain(await this.named(name, args), name) })).result
  }

  // named returns arguments by name: one plain object is that, others are in the order of the tool's schema.
  async named(name, args) {
    if (args.length === 0) return {}
    const [first] = args
    if (args.length === 1 && typeof first === 'object' && first !== null && !Array.isArray(first)) return first
    const { tools = [] } = await this.call({ kind: 'tools' })
    const info = tools.find((t) => t.name === name || `${t.source}.${t.name}` === name)
    if (!info) return {}; // the engine says that there is no such tool
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
    return { tools: this.tools, tool: (name, args = {}) => this.tool(name, [args]), llm: this.llm.bind(this),
      ask: this.ask.bind(this), ...errors }
  }

  async llm(prompt, { model = '', system, schema, sample = 0, ...options } = {}) {
    let messages = typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : plain(prompt, 'prompt')
    if (system !== undefined) messages = [{ role: 'system', content: plain(system, 'system') }, ...messages]
    const args = { messages }
    if (schema !== undefined) args.schema = plain(schema, 'schema')
    if (Object.keys(options).length) args.options = plain(options, 'options')
    return (await this.call({ kind: 'model', tool: model, args, ...(sample ? { sample } : {}) })).result
  }

  async ask(question, choices = []) {
    const args = { question: plain(question, 'question'), choices: plain(choices, 'choices') }
    return (await this.call({ kind: 'ask', tool: 'ask', args, ...args })).result
  }
}

// toolsOf returns an object whose properties are the tools: tools.search({query}), tools["a b"](), tools.files.read().
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
