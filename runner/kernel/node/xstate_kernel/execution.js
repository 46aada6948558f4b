'use strict'
// Executes nodes of the program, one at a time, and reports what each did.

/** @import {Worker} from 'worker_threads' */
/** @import {Failure} from './failures' */
/** @import {Kernel} from './kernel' */
/** @import {Plan, Run, Verdict} from './messages' */
/** @import {NodeNames} from './names' */
/** @import {Values} from './writes' */
/**
 * @typedef {object} Running the node that runs
 * @property {string} filename
 * @property {Ending | null} ending the program has ended
 * @property {boolean} interrupted
 * @property {{ error: unknown } | null} late an error that nobody caught
 * @property {((e?: unknown) => void) | null} stop ends a wait
 */
/** @typedef {{ code: number, type: 'exit', message: string }} Ending */
/** @typedef {{ lexical: string[], document: string, kind: string }} Special a node that gives values, or takes them */
/**
 * @typedef {(done: (reply: object) => void, fails: (e: unknown) => void) => void} Later what calls done with the reply
 *   to a request, or fails
 */
/**
 * @typedef {object} Started a node that runs
 * @property {Run} request
 * @property {Plan | Special} plan
 * @property {Values} start names before it
 * @property {Running} running
 * @property {string[]} taken names that it must not have
 * @property {NodeNames} node
 * @property {{ value: unknown } | null} error
 * @property {bigint} began
 */
/**
 * @typedef {object} Done a node that has run
 * @property {Run} request
 * @property {Partial<Plan>} plan
 * @property {Values} start names before it
 * @property {Values} bound names after it
 * @property {NodeNames} node
 * @property {Failure | null} told
 * @property {string[]} unbound names that it may have missed
 * @property {(string | Worker)[]} left work that goes on
 */

const vm = require('vm')
const fs = require('fs')
const intrinsics = require('./intrinsics')
const { failure, Interrupted, Ended, Unsettled } = require('./failures')
const { declared } = require('./sources')
const display = require('./display')
const { packageName } = require('./packages')
const plain = require('./plain')
const { Turn } = require('./turn')

const exists = fs.existsSync
const DRAIN = 10000 // milliseconds that work which a node leaves over may take
const STAYS = new RegExp('^(Timeout|TCPServerWrap|PipeServerWrap|UDPWRAP|FSEvent.*|StatWatcher|MessagePort|' +
  'TCPSocketWrap|PipeWrap)$') // kinds of work that may never end
const CONNECTED = /^(TCPSocketWrap|PipeWrap)$/ // those of them that another side ends
const IDLE = 3 // turns of Node's loop in which nothing calls back, after which only what stays is left
const REST = 1000 // milliseconds without work after which a worker is not waited for
const now = process.hrtime.bigint.bind(process.hrtime)
const COMMONJS = ['require', 'module', 'exports', '__filename', '__dirname'] // names that a module of ES lacks

class Execution {
  /** @param {Kernel} kernel */
  constructor(kernel) {
    this.kernel = kernel
    /** @type {Running | null} */
    this.running = null
    /** @type {(() => void) | null} */
    this.idle = null // what to call when nothing is left to do
    /** @type {Set<NodeJS.Timeout>} */
    this.intervals = new Set()
    /** @type {Map<Worker, { active: number, since: number }>} */
    this.workers = new Map() // live worker → { active, since }: how long it has worked, and since when that is so
    process.on('worker', (w) => this.workers.set(w, { active: -1, since: 0 }))
    process.on('SIGINT', () => this.interrupt())
    process.on('unhandledRejection', (e, promise) => this.late(e))
    process.on('uncaughtException', (e) => this.late(e))
    /** @type {(() => void) | null} */
    this.over = null // what to call then at the end of a script
    this.atIdle = () => {
      const { idle } = this
      this.over?.()
      this.idle = null
      if (idle !== null) setImmediate_(idle)
    }
    process.on('beforeExit', this.atIdle)
    this.inTurn = Boolean(kernel.options.script)
    this.turn = new Turn()
    process.exit = (code) => this.exit(code)
    this.watchIntervals()
  }

  // watchIntervals tracks the active intervals: no node waits for them.
  watchIntervals() {
    const { setInterval, setTimeout, clearInterval, clearTimeout } = globalThis
    const { intervals, turn } = this
    const property = /** @type {(o: object, k: PropertyKey) => PropertyDescriptor} */ (Object.getOwnPropertyDescriptor)
    /** @type {(name: string, f: Function) => void} */
    const define = (name, f) => {
      Object.defineProperty(f, 'name', { value: name, configurable: true })
      const p = property(globalThis, name)
      const inner = p.value
      for (const s of Object.getOwnPropertySymbols(inner)) Object.defineProperty(f, s, property(inner, s))
      Object.defineProperty(globalThis, name, { ...p, value: f })
    }
    define('setInterval', /** @type {(...a: Parameters<typeof setInterval>) => NodeJS.Timeout} */ (function (...a) {
      const t = setInterval(...a)
      intervals.add(t)
      turn.timer(t)
      return t
    }))
    if (this.inTurn) {
      define('setTimeout', /** @type {(...a: Parameters<typeof setTimeout>) => NodeJS.Timeout} */ (function (...a) {
        const t = setTimeout(...a)
        turn.timer(t)
        return t
      }))
    }
    /** @typedef {(t: NodeJS.Timeout | string | number | undefined) => void} Clear */
    /** @type {(original: Clear) => Clear} */
    const clear = (original) => function (t) {
      if (typeof t === 'object') intervals.delete(t)
      else for (const i of intervals) if (+i === +/** @type {number} */ (t)) intervals.delete(i)
      return original(t)
    }
    define('clearInterval', clear(clearInterval))
    define('clearTimeout', clear(clearTimeout))
  }

  /** @type {(code?: number | string | null) => never} */
  exit(code) {
    const { running } = this
    if (running === null) return process.reallyExit(code ?? 0)
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

  // late takes an uncaught error: a rejection, or an exception of a callback.
  /** @type {(e: unknown) => void} */
  late(e) {
    if (this.running === null || e instanceof Ended) return
    if (e instanceof Interrupted || stopsScript(e)) {
      this.interrupt()
      return
    }
    this.running.late ??= { error: e }
    this.running.stop?.(e)
  }

  // check compiles a block and says whether it is valid.
  /** @type {(plan: Plan, filename: string) => Verdict} */
  check(plan, filename) {
    if (plan.error) return { valid: false, type: 'SyntaxError', ...plan.error }
    try {
      for (const f of plan.functions ?? []) {
        new vm.Script((plan.strict ? '"use strict";' : '') + f.code, { filename, lineOffset: f.line })
      }
      new vm.Script(plan.code, { filename, columnOffset: -plan.prefix })
    } catch (e) {
      const { name, message, stack } = /** @type {Error} */ (e)
      const at = new RegExp(':(\\d+)').exec(String(stack).split('\n')[0])
      return { valid: false, type: name, message, line: at ? +at[1] : 1, column: 0 }
    }
    if (plan.returns) {
      return { valid: false, type: 'SyntaxError', message: 'Illegal return statement', line: 1, column: 0 }
    }
    return { valid: true, type: '', message: '', line: 0, column: 0 }
  }

  // run executes a node. text is its plan, or the document of a special one. In a script no callback runs between two
  // nodes: a node that waits for nothing is executed, and observed, in the turn of Node's loop of the node before.
  /** @type {(request: Run, text: string) => object | Promise<object> | Later} */
  run(request, text) {
    const special = request.dialect === 'xstate/give' || request.dialect === 'xstate/take'
    /** @type {Plan | Special} */
    const plan = special ? { lexical: [], document: text, kind: request.dialect } : JSON.parse(text)
    const esm = request.dialect === 'esm' || 'dialect' in plan && plan.dialect === 'esm'
    if (!this.inTurn || 'document' in plan) return this.settling(this.prepare(request, plan, esm))
    const first = this.turn.module === null
    this.turn.module = esm
    if (!first || !esm) return this.inScript(this.prepare(request, plan, esm), plan)
    return (done, fails) => { // a module is executed by an asynchronous function
      Promise.resolve().then(() => {
        let found
        try {
          found = this.inScript(this.prepare(request, plan, esm), plan)
        } catch (e) {
          fails(e)
          return
        }
        if (typeof found === 'function') found(done, fails)
        else if (found instanceof Promise) found.then(done, fails)
        else done(found)
      })
    }
  }

  // inScript executes a node of a script. Unless it waits, it returns the reply at once.
  /** @type {(x: Started, plan: Plan) => object | Promise<object> | Later} */
  inScript(x, plan) {
    const { request } = x
    if (request.end) return (done, fails) => { this.finale(x).then(done, fails) }
    if (plan.async) {
      this.turn.resume()
      return (done, fails) => {
        this.script(plan, request).then((value) => this.shown(x, value)).catch((e) => { x.error = { value: e } })
          .then(() => {
            this.turn.left ||= !request.library_import
            return this.finish(x, [])
          }).then(done, fails)
      }
    }
    try {
      const execute = this.once(plan, request)
      this.kernel.recorder.begun()
      this.turn.begin()
      this.shown(x, [execute()])
    } catch (e) {
      x.error = { value: e }
    }
    this.turn.end()
    if (this.workers.size || this.turn.active().some((k) => k !== 'Timeout')) { // it may write files meanwhile
      this.turn.left = true
      this.turn.resume()
      return this.drained(x)
    }
    return this.finish(x, [])
  }

  // settling executes a node and waits until nothing is left of what it began.
  /** @type {(x: Started) => Promise<object>} */
  async settling(x) {
    const { plan, request } = x
    try {
      this.shown(x, 'document' in plan ? await this.special(plan) : await this.script(plan, request))
    } catch (e) {
      x.error = { value: e }
    }
    return this.drained(x)
  }

  /** @type {(x: Started) => Promise<object>} */
  async drained(x) {
    const left = await this.drain(x.running, x.error !== null)
    if (x.error === null && x.running.late !== null) x.error = { value: x.running.late.error }
    return this.finish(x, left)
  }

  // prepare begins a node.
  /** @type {(request: Run, plan: Plan | Special, esm: boolean) => Started} */
  prepare(request, plan, esm) {
    const { kernel } = this
    const start = new Map(kernel.names.table)
    /** @type {Running} */
    const running = { filename: request.filename, ending: null, interrupted: false, late: null, stop: null }
    this.running = running
    const taken = esm ? COMMONJS : []
    for (const k of taken) this.take(k, start)
    const node = this.begin(request, plan)
    return { request, plan, start, running, taken, node, error: null, began: now() }
  }

  // shown shows the value of a node, if there is one.
  /** @type {(x: Started, value: [unknown] | void) => void} */
  shown({ request, running }, value) {
    if (value && request.expr && !request.quiet && running.ending === null) display.result(this.kernel, value[0])
  }

  // finish ends a node and returns what was observed. left is work that continues.
  /** @type {(x: Started, left: (string | Worker)[]) => object} */
  finish({ request, plan, start, running, taken, node, error, began }, left) {
    const { kernel } = this
    running.stop = null
    const bound = this.end(request, node)
    for (const k of taken) this.giveBack(k, bound)
    this.running = null
    const seconds = Number(now() - began) / 1e9
    const told = running.ending === null && error !== null ? this.told(error.value, running, request, plan) : null
    const unbound = (request.unbound ?? []).filter((n) => node.absent.has(n) || node.reads.has(n))
    kernel.channel.send('result', {
      node: request.node, seconds, error: told, ending: running.ending, interrupted: running.interrupted,
      unbound: unbound.length > 0,
    })
    return this.observe({ request, plan, start, bound, node, told, unbound, left })
  }

  // finale is the end of a script: what it has left runs, as Node has it. Where a node has failed, Node leaves out all
  // but the listeners of the exit.
  /** @type {(x: Started) => Promise<object>} */
  async finale(x) {
    const { running, request } = x
    const left = request.failed ? [] : await this.drainLoop(running)
    if (running.late !== null) x.error = { value: running.late.error }
    if (running.interrupted) x.error = { value: new Interrupted() }
    if (running.ending === null && !running.interrupted) {
      try {
        process.emit('exit', request.failed || x.error ? 1 : Number(process.exitCode ?? 0))
      } catch (e) {
        if (!(e instanceof Ended)) x.error ??= { value: e }
      }
      const code = Number(process.exitCode ?? 0)
      if (code !== 0 && x.error === null) running.ending ??= { code, type: 'exit', message: String(code) }
    }
    this.turn.left = true // the work that was left is gone
    return this.finish(x, left)
  }

  // drainLoop waits until Node's loop is empty, also after the program was notified. It returns the kinds that may
  // never end, if only they are left.
  /** @type {(running: Running) => Promise<(string | Worker)[]>} */
  drainLoop(running) {
    process.removeListener('beforeExit', this.atIdle)
    process.on('beforeExit', this.atIdle) // after the listeners of the program
    this.turn.resume()
    /** @type {NodeJS.Timeout | undefined} */
    let polled
    const idle = this.turn.idleness(0)
    return /** @type {Promise<(string | Worker)[]>} */ (new Promise((resolve) => {
      running.stop = () => resolve([])
      // Node asks whether something is left once the ticks and promises of the listeners have run
      this.over = () => nextTick_(() => Promise.resolve().then(() => { if (!this.turn.waits().length) resolve([]) }))
      polled = setInterval_(() => {
        const all = this.turn.active()
        const others = all.filter((k) => k !== 'Timeout')
        const stays = others.length > 0 && others.every((k) => STAYS.test(k) && !CONNECTED.test(k))
        if (idle() >= IDLE && stays && all.length - others.length <= this.live()) {
          resolve([...all, ...this.workers.keys()])
        }
      }, 5).unref()
    })).finally(() => {
      clearInterval_(polled)
      this.over = null
    })
  }

  // begin lets the parts of the kernel observe a node from now on.
  /** @type {(request: Run, plan: Partial<Plan>) => NodeNames} */
  begin(request, plan) {
    const { kernel } = this
    kernel.recorder.begin(request.node)
    kernel.hidden.start()
    const node = kernel.names.start(plan)
    kernel.files.begin(request)
    kernel.marks.begin()
    kernel.modules.begin()
    if (request.observed) exists(`/.xstate/begin/${request.observed}`)
    return node
  }

  // end ends what begin has begun. It returns what is bound now.
  /** @type {(request: Run, node: NodeNames) => Values} */
  end(request, node) {
    const { kernel } = this
    if (request.observed) exists(`/.xstate/end/${request.observed}`)
    kernel.files.end(request)
    kernel.recorder.end()
    const bound = kernel.names.end(node)
    kernel.names.node = null
    return bound
  }

  // told returns the report of an error that ended a node.
  /** @type {(e: unknown, running: Running, request: Run, plan: Partial<Plan>) => Failure} */
  told(e, running, request, plan) {
    const interrupted = running.interrupted || stopsScript(e)
    const told = failure(interrupted ? new Interrupted() : e, request.filename)
    running.interrupted ||= interrupted
    this.hint(told, request, plan)
    return told
  }

  /** @type {(k: string, start: Values) => void} */
  take(k, start) {
    if (!start.has(k)) Reflect.deleteProperty(globalThis, k)
  }

  /** @type {(k: string, bound: Values) => void} */
  giveBack(k, bound) {
    const p = this.kernel.names.builtin.get(k)
    if (p !== undefined && !bound.has(k)) Object.defineProperty(globalThis, k, p)
  }

  // hint adds to an error what helps against it.
  /** @type {(told: Failure, request: Run, plan: Partial<Plan>) => void} */
  hint(told, request, plan) {
    if (told.type === 'ReferenceError' && COMMONJS.includes(told.name) && (request.dialect ?? plan.dialect) === 'esm') {
      told.message = `${told.name} is not defined in ES module scope, you can use import instead`
      told.traceback = told.traceback.map((l) => l.replace(/^(ReferenceError: \S+ is not defined)$/,
        '$1 in ES module scope, you can use import instead'))
      told.name = ''
    }
    const missing = /^Cannot find (?:package|module) '([^'./][^']*)'/.exec(told.message)
    if (missing) {
      const name = packageName(missing[1])
      told.traceback.push(`hint: run npm install ${name}`)
    } else if (told.type === 'ReferenceError' && (told.name === 'Deno' || told.name === 'Bun')) {
      told.traceback.push(`hint: Node runs this program, and has no ${told.name}: use modules of Node, such as node:fs`)
    } else if (/^Only URLs with a scheme in: /.test(told.message)) {
      told.traceback.push('hint: Node loads no modules by address: install the package, and import it by its name')
    }
  }

  // once compiles a plan and returns what executes it.
  /** @type {(plan: Plan, request: Run) => () => unknown} */
  once(plan, request) {
    const strict = plan.strict ? '"use strict";' : ''
    const line = request.line - 1
    /** @type {(o: object) => vm.ScriptOptions} */
    const options = (o) => ({ filename: request.filename, ...o })
    for (const f of plan.functions ?? []) {
      const s = new vm.Script(strict + f.code,
        options({ lineOffset: line + f.line, columnOffset: f.column - strict.length }))
      s.runInThisContext()
      const made = Object.getOwnPropertyDescriptor(globalThis, f.name)?.value
      if (typeof made === 'function') declared.set(made, f.text)
    }
    const s = new vm.Script(plan.code, options({ lineOffset: line, columnOffset: -plan.prefix }))
    return () => s.runInThisContext({ breakOnSigint: true, displayErrors: false })
  }

  // script executes a plan and returns the value of its last statement.
  /** @type {(plan: Plan, request: Run) => Promise<[unknown]>} */
  async script(plan, request) {
    const running = /** @type {Running} */ (this.running)
    const execute = this.once(plan, request)
    const esm = (request.dialect ?? plan.dialect) === 'esm'
    if (!plan.async && !esm) return fromLoop(() => [execute()])
    if (!this.inTurn) await null // a module is executed by an asynchronous function
    if (!plan.async) return [execute()]
    /** @type {Promise<unknown>} */
    const value = /** @type {Promise<unknown>} */ (execute())
    return await new Promise((resolve, reject) => {
      running.stop = reject
      this.idle = () => reject(new Unsettled('top-level await waits for a promise that nothing will settle'))
      value.then((v) => resolve([v]), reject)
    }).finally(() => { this.idle = null })
  }

  /** @type {(plan: Special) => Promise<void>} */
  async special(plan) {
    if (plan.kind === 'xstate/give') await plain.give(JSON.parse(plan.document), this.kernel)
    else await plain.take(plan.document, this.kernel)
  }

  // drain waits until work that the node left over has ended. Node's loop shows that, because some work, such as
  // zlib's, is in no list. It returns the kinds that continue.
  /** @type {(running: Running, failed: boolean) => Promise<(string | Worker)[]>} */
  async drain(running, failed) {
    await new Promise((resolve) => setImmediate_(resolve))
    const left = () => process.getActiveResourcesInfo().filter((k) => k !== 'Immediate' && k !== 'TTYWrap')
    if (failed || running.ending !== null || running.late !== null) return left().length ? left() : []
    const until = Date_now() + DRAIN
    let idle = process.listenerCount('beforeExit') > 1 // what the program does at its end is not for now
    const turns = this.turn.idleness(1)
    for (let all = left(); all.length || !idle; all = left()) {
      const timers = all.filter((k) => k === 'Timeout').length
      const waits = (!all.length && this.working()) || all.some((k) => !STAYS.test(k)) ||
        timers > this.live()
      const over = !waits && (!all.length || turns() >= IDLE)
      if (over || Date_now() > until || running.interrupted || running.late !== null || running.ending !== null) {
        return [...all, ...this.workers.keys()]
      }
      await /** @type {Promise<void>} */ (new Promise((resolve) => {
        running.stop = () => resolve()
        this.idle = () => { idle = true; resolve() }
        const t = setTimeout_(resolve, 5)
        t.unref()
      }))
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
  /** @type {(done: Done) => object} */
  observe({ request, plan, start, bound, node, told, unbound, left }) {
    const { kernel } = this
    const { names, files, marks, hidden, modules } = kernel
    const stdin = hidden.input.seen()
    if (left.length) marks.add('thread')
    const failed = told !== null || unbound.length > 0
    modules.look(node.reads, kernel, (n) => bound.has(n) ? bound.get(n) : start.get(n), plan.sets ?? [])
    const { states } = modules
    const held = modules.held(failed)
    kernel.writes.reached = states.reachedNames()
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
      found = kernel.writes.observe(start, bound, node, request.certain ?? [], states.changedNow)
    }
    const touched = modules.changed(intrinsics.changed(), held)
    const everything = false
    if (this.turn.settle() && !failed) touched.names.push('process')
    const imports = modules.imports()
    const gone = failed ? modules.failed(kernel) : { unloaded: [], dropped: [] }
    const reply = {
      ...found,
      absent: [...node.absent].filter((n) => !start.has(n) && !names.builtin.has(n) && !n.startsWith('__xs_')).sort(),
      everything, again: unbound,
      hidden: hidden.changed(), hidden_reads: hidden.read(), environ: hidden.environ(),
      environ_reads: hidden.environRead(), library_environ: [],
      modules: touched.names, pristine: touched.pristine && !this.turn.pending, planted: touched.planted,
      files: files.report(), imports, held, quiet: {},
      marks: [...marks.found].sort(), cites: [...new Set([...kernel.recorder.cited, ...(told?.frames ?? [])])].sort(),
      stdin, unloaded: gone.unloaded, dropped: [...found.dropped ?? [], ...gone.dropped],
    }
    return reply
  }
}

// stopsScript reports whether an error is the one by which Node ends a script when it is interrupted.
/** @type {(e: unknown) => boolean} */
function stopsScript(e) {
  return /** @type {NodeJS.ErrnoException | null | undefined} */ (e)?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED'
}

// fromLoop calls a function as Node's loop calls one, and as a CommonJS script is executed: after it, what nextTick was
// given comes before the microtasks. Called from an asynchronous function, it would come after them.
/** @type {<T>(call: () => T) => Promise<T>} */
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
const setInterval_ = setInterval
const clearInterval_ = clearInterval
const nextTick_ = process.nextTick
const Date_now = Date.now

module.exports = { Execution }
