'use strict'
// Executes nodes of the program, one at a time, and reports what each did.

const vm = require('vm')
const fs = require('fs')
const intrinsics = require('./intrinsics')
const { failure, Interrupted, Ended, Unsettled } = require('./failures')
const { declared } = require('./sources')
const display = require('./display')
const plain = require('./plain')

const exists = fs.existsSync
const DRAIN = 10000 // milliseconds that work which a node leaves over may take
const STAYS = new RegExp('^(Timeout|TCPServerWrap|PipeServerWrap|UDPWRAP|FSEvent.*|StatWatcher|MessagePort|' +
  'TCPSocketWrap|PipeWrap)$') // kinds of work that may go on for ever
const REST = 1000 // milliseconds without work after which a worker is not waited for
const now = process.hrtime.bigint.bind(process.hrtime)

class Execution {
  constructor(kernel) {
    this.kernel = kernel
    this.running = null // the node that runs
    this.idle = null // what to call when nothing is left to do
    this.rejected = new Map()
    this.intervals = new Set()
    this.workers = new Map() // live worker → { active, since }: how long it has worked, and since when that is so
    process.on('worker', (w) => this.workers.set(w, { active: -1, since: 0 }))
    process.on('SIGINT', () => this.interrupt())
    process.on('unhandledRejection', (e, promise) => this.late(e))
    process.on('uncaughtException', (e) => this.late(e))
    process.on('beforeExit', () => {
      const { idle } = this
      this.idle = null
      if (idle !== null) setImmediate_(idle)
    })
    process.exit = (code) => this.exit(code)
    this.watchIntervals()
  }

  // watchIntervals knows which intervals go on: nobody waits for them.
  watchIntervals() {
    const { setInterval, clearInterval, clearTimeout } = globalThis
    const { intervals } = this
    const define = (name, f) => {
      Object.defineProperty(f, 'name', { value: name, configurable: true })
      const p = Object.getOwnPropertyDescriptor(globalThis, name)
      const inner = p.value
      for (const s of Object.getOwnPropertySymbols(inner)) {
        Object.defineProperty(f, s, Object.getOwnPropertyDescriptor(inner, s))
      }
      Object.defineProperty(globalThis, name, { ...p, value: f })
    }
    define('setInterval', function (...a) {
      const t = setInterval(...a)
      intervals.add(t)
      return t
    })
    const clear = (original) => function (t) {
      intervals.delete(t)
      for (const i of intervals) if (typeof t !== 'object' && +i === +t) intervals.delete(i)
      return original(t)
    }
    define('clearInterval', clear(clearInterval))
    define('clearTimeout', clear(clearTimeout))
  }

  exit(code) {
    const { running } = this
    if (running === null) process.reallyExit(code ?? 0)
    if (running.ending === null) {
      const c = code ?? process.exitCode ?? 0
      running.ending = { code: Number(c) || 0, type: 'exit', message: code === undefined ? '' : String(code) }
      if (code !== undefined) process.exitCode = code
      try {
        process.emit('exit', running.ending.code)
      } catch {}
      this.kernel.recorder.flush()
      this.kernel.recorder.muted = true
    }
    running.stop?.(new Ended())
    throw new Ended()
  }

  interrupt() {
    if (this.running === null) return
    this.running.interrupted = true
    this.running.stop?.(new Interrupted())
  }

  // late takes an error that nobody caught: a rejection, or what a callback threw.
  late(e) {
    if (this.running === null || e instanceof Ended) return
    if (e instanceof Interrupted || e?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED') {
      this.interrupt()
      return
    }
    this.running.late ??= { error: e }
    this.running.stop?.(e)
  }

  // check compiles a block and says whether it is valid.
  check(plan, filename) {
    if (plan.error) return { valid: false, type: 'SyntaxError', ...plan.error }
    try {
      for (const f of plan.functions ?? []) {
        new vm.Script((plan.strict ? '"use strict";' : '') + f.code, { filename, lineOffset: f.line })
      }
      new vm.Script(plan.code, { filename, columnOffset: -plan.prefix })
    } catch (e) {
      const at = new RegExp(':(\\d+)').exec(String(e.stack).split('\n')[0])
      return { valid: false, type: e.name, message: e.message, line: at ? +at[1] : 1, column: 0 }
    }
    if (plan.returns) {
      return { valid: false, type: 'SyntaxError', message: 'Illegal return statement', line: 1, column: 0 }
    }
    return { valid: true, type: '', message: '', line: 0, column: 0 }
  }

  async run(request, text) {
    const { kernel } = this
    const { names } = kernel
    const special = request.dialect === 'xstate/give' || request.dialect === 'xstate/take'
    const plan = special ? { lexical: [], document: text, kind: request.dialect } : JSON.parse(text)
    const start = new Map(names.table)
    const running = this.running = {
      filename: request.filename, ending: null, interrupted: false, late: null, stop: null, request,
    }
    const hide = request.dialect === 'esm' || plan.dialect === 'esm'
    if (hide) for (const k of ['require', 'module', 'exports', '__filename', '__dirname']) this.take(k, start)
    kernel.recorder.begin(request.node)
    kernel.hidden.start()
    names.start(plan)
    const { node } = names
    kernel.files.begin(request)
    kernel.marks.begin()
    kernel.modules.begin()
    if (request.observed) exists(`/.xstate/begin/${request.observed}`)
    const began = now()
    let error = null
    try {
      const value = special ? await this.special(plan) : await this.script(plan, request)
      if (request.expr && !request.quiet && !special && running.ending === null) display.result(kernel, value[0])
    } catch (e) {
      error = { value: e }
    }
    const left = await this.drain(error !== null)
    if (error === null && running.late !== null) error = { value: running.late.error }
    running.stop = null
    if (request.observed) exists(`/.xstate/end/${request.observed}`)
    kernel.files.end(request)
    kernel.recorder.end()
    const bound = names.end()
    names.node = null
    if (hide) for (const k of ['require', 'module', 'exports', '__filename', '__dirname']) this.giveBack(k, bound)
    this.running = null
    const seconds = Number(now() - began) / 1e9
    let told = null
    if (running.ending === null && error !== null) {
      const interrupted = running.interrupted || error.value?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED'
      told = failure(interrupted ? new Interrupted() : error.value, request.filename)
      running.interrupted ||= interrupted
      this.hint(told, request, plan)
    }
    const unbound = (request.unbound ?? []).filter((n) => node.absent.has(n) || node.reads.has(n))
    kernel.channel.send('result', {
      node: request.node, seconds, error: told, ending: running.ending, interrupted: running.interrupted,
      unbound: unbound.length > 0,
    })
    return this.observe({ request, plan, start, bound, node, told, unbound, left })
  }

  take(k, start) {
    if (!start.has(k)) Reflect.deleteProperty(globalThis, k)
  }

  giveBack(k, bound) {
    const p = this.kernel.names.builtin.get(k)
    if (p !== undefined && !bound.has(k)) Object.defineProperty(globalThis, k, p)
  }

  // hint adds to an error what helps against it.
  hint(told, request, plan) {
    if (told.type === 'ReferenceError' && ['require', 'module', 'exports', '__filename', '__dirname'].includes(
      told.name) && (request.dialect ?? plan.dialect) === 'esm') {
      told.message = `${told.name} is not defined in ES module scope, you can use import instead`
      told.traceback = told.traceback.map((l) => l.replace(/^(ReferenceError: \S+ is not defined)$/,
        '$1 in ES module scope, you can use import instead'))
      told.name = ''
    }
    const missing = /^Cannot find (?:package|module) '([^'./][^']*)'/.exec(told.message)
    if (missing) {
      const name = missing[1].split('/').slice(0, missing[1].startsWith('@') ? 2 : 1).join('/')
      told.traceback.push(`hint: run npm install ${name}`)
    } else if (told.type === 'ReferenceError' && (told.name === 'Deno' || told.name === 'Bun')) {
      told.traceback.push(`hint: Node runs this program, and has no ${told.name}: use modules of Node, such as node:fs`)
    } else if (/^Only URLs with a scheme in: /.test(told.message)) {
      told.traceback.push('hint: Node loads no modules by address: install the package, and import it by its name')
    }
  }

  // script executes a plan and returns the value of its last statement.
  async script(plan, request) {
    const { running } = this
    const strict = plan.strict ? '"use strict";' : ''
    const line = request.line - 1
    const options = (o) => ({ filename: request.filename, ...o })
    for (const f of plan.functions ?? []) {
      const s = new vm.Script(strict + f.code,
        options({ lineOffset: line + f.line, columnOffset: f.column - strict.length }))
      s.runInThisContext()
      const made = Object.getOwnPropertyDescriptor(globalThis, f.name)?.value
      if (typeof made === 'function') declared.set(made, f.text)
    }
    const s = new vm.Script(plan.code, options({ lineOffset: line, columnOffset: -plan.prefix }))
    const execute = () => s.runInThisContext({ breakOnSigint: true, displayErrors: false })
    const esm = (request.dialect ?? plan.dialect) === 'esm'
    if (!plan.async && !esm) return fromLoop(() => [execute()])
    await null // a module is executed by an asynchronous function
    if (!plan.async) return [execute()]
    const value = execute()
    return await new Promise((resolve, reject) => {
      running.stop = reject
      this.idle = () => reject(new Unsettled('top-level await waits for a promise that nothing will settle'))
      value.then((v) => resolve([v]), reject)
    }).finally(() => { this.idle = null })
  }

  async special(plan) {
    if (plan.kind === 'xstate/give') await plain.give(JSON.parse(plan.document), this.kernel)
    else await plain.take(plan.document, this.kernel)
  }

  // drain waits until work that the node left over has ended. Node's loop shows that, because some work, such as that
  // of zlib, is in no list. It returns the kinds that go on.
  async drain(failed) {
    const { running } = this
    await new Promise((resolve) => setImmediate_(resolve))
    const left = () => process.getActiveResourcesInfo().filter((k) => k !== 'Immediate' && k !== 'TTYWrap')
    if (failed || running.ending !== null || running.late !== null) return left().length ? left() : []
    const until = Date_now() + DRAIN
    let idle = process.listenerCount('beforeExit') > 1 // what the program does at its end is not for now
    for (let all = left(); all.length || !idle; all = left()) {
      const timers = all.filter((k) => k === 'Timeout').length
      const waits = (!all.length && this.working()) || all.some((k) => !STAYS.test(k)) ||
        timers > this.live()
      if (!waits || Date_now() > until || running.interrupted || running.late !== null || running.ending !== null) {
        return [...all, ...this.workers.keys()]
      }
      await new Promise((resolve) => {
        running.stop = resolve
        this.idle = () => { idle = true; resolve() }
        const t = setTimeout_(resolve, 5)
        t.unref()
      })
    }
    return []
  }

  // working reports whether Node's loop has to be waited for, though what it waits for is in no list: unless that can
  // only be workers, all of which rest.
  working() {
    for (const w of this.workers.keys()) if (w.threadId < 0) this.workers.delete(w)
    let rests = this.workers.size > 0
    for (const [w, was] of this.workers) {
      const { idle, active } = w.performance.eventLoopUtilization()
      if (idle === 0 || active - was.active > 1 || was.active < 0) {
        this.workers.set(w, { active, since: Date_now() })
        rests = false
      } else if (Date_now() - was.since < REST) rests = false
    }
    return !rests
  }

  live() {
    for (const i of this.intervals) if (i._destroyed) this.intervals.delete(i)
    let n = 0
    for (const i of this.intervals) if (i.hasRef()) n++
    return n
  }

  // observe puts together what the node did.
  observe({ request, plan, start, bound, node, told, unbound, left }) {
    const { kernel } = this
    const { names, files, marks, hidden, modules } = kernel
    const stdin = hidden.input.seen()
    if (left.length) marks.add('thread')
    const failed = told !== null || unbound.length > 0
    modules.look([...node.reads].some((n) => kernel.groups.prints.get(n)?.module))
    let found
    names.table = bound
    if (failed) {
      names.table = start
      found = kernel.writes.undo(start, node)
      for (const n of found.dropped) names.table.delete(n)
    } else {
      for (const n of start.keys()) if (!bound.has(n)) names.unbind(n)
      names.table = bound
      for (const n of plan.constants ?? []) if (bound.has(n)) names.constants.add(n)
      found = kernel.writes.observe(start, bound, node, request.certain ?? [], modules.changedNow.length > 0)
    }
    const touched = modules.changed(intrinsics.changed())
    const everything = false
    const reply = {
      ...found,
      absent: [...node.absent].filter((n) => !start.has(n) && !names.builtin.has(n) && !n.startsWith('__xs_')).sort(),
      everything, again: unbound,
      hidden: hidden.changed(), hidden_reads: hidden.read(), environ: hidden.environ(),
      environ_reads: hidden.environRead(), library_environ: [],
      modules: touched.names, pristine: touched.pristine, planted: touched.planted,
      files: files.report(), imports: modules.imports(request, node, kernel.groups), held: {}, quiet: {},
      marks: [...marks.found].sort(), cites: [...new Set([...kernel.recorder.cited, ...(told?.frames ?? [])])].sort(),
      stdin, unloaded: failed ? modules.failed(kernel) : [],
    }
    return reply
  }
}

// fromLoop calls a function as Node's loop calls one, and as a CommonJS script is executed: after it, what nextTick was
// given comes before the microtasks. Called from an asynchronous function, it would come after them.
function fromLoop(call) {
  return new Promise((resolve, reject) => setImmediate_(() => {
    try {
      resolve(call())
    } catch (e) {
      reject(e)
    }
  }))
}

const setImmediate_ = setImmediate
const setTimeout_ = setTimeout
const Date_now = Date.now

module.exports = { Execution }
