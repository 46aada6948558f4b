'use strict'
// The requests of the engine.

/** @import {Channel} from './frames' */
/** @import {Fingerprint} from './groups' */
/** @import {Bind, Compile, Environ, HiddenState, Load, Options, Run, Show, Sources, Verdict} from './messages' */
/** @import {Privates, Statics} from './privates' */
/** @import {Later} from './execution' */
/** @typedef {object | [reply: object, data: Buffer] | void} Reply to a request; void: an empty one */
/** @typedef {[name: string, value: unknown, print: Fingerprint, constant: boolean]} Parked a name */

const fs = require('fs')
const path = require('path')
const intrinsics = require('./intrinsics')
const closures = require('./closures')
const identities = require('./identities')
const { privates, statics } = require('./privates')
const sources = require('./sources')
const { Names } = require('./names')
const { Groups, fingerprint } = require('./groups')
const { Writes } = require('./writes')
const { Recorder } = require('./streams')
const { Hidden } = require('./hidden')
const { Files } = require('./files')
const { Modules } = require('./modules')
const { Marks } = require('./marks')
const { Execution } = require('./execution')
const { Left } = require('./turn')
const { Calls } = require('./calls')
const { texts } = require('./failures')
const display = require('./display')
const look = require('./look')
const settings = require('./console')
const { dump } = require('./dump')
const { load, Namespace, Need } = require('./load')

class Kernel {
  /** @param {Channel} channel @param {Options} options @param {number[]} files @param {number} callsFd */
  constructor(channel, options, files, callsFd) {
    this.channel = channel
    this.options = options
    this.recorder = new Recorder(channel, files)
    this.spool = options.spool
    /** @type {Map<string, Parked[]>} */
    this.parked = new Map() // group → what is bound to it
    this.stored = 0
    process.argv = [process.execPath, ...(options.file ? [options.file] : []), ...(options.arguments ?? [])]
    const { emitWarning } = process
    process.emitWarning = /** @type {(this: unknown, ...args: unknown[]) => void} */ (function (w, ...rest) {
      if (!/VM Modules/.test(String(w))) return Reflect.apply(emitWarning, this, [w, ...rest])
    })
    this.names = new Names()
    this.groups = new Groups()
    this.writes = new Writes(this.names, this.groups)
    this.marks = new Marks()
    this.files = new Files(options, this.marks)
    this.hidden = new Hidden(options, this.files, this.marks)
    this.modules = new Modules(options, this.marks, this.files)
    this.names.quiet = () => this.files.silent > 0
    this.names.foreign = this.modules.accessors
    closures.begin()
    display.begin(this)
    this.calls = new Calls(callsFd, () => this.execution.running, () => this.marks.found.size > 0)
    this.offer()
    this.execution = new Execution(this)
    this.hidden.settings.push(new Left(() => this.execution.turn.pending))
    intrinsics.begin()
    settings.begin()
    this.names.begin()
  }

  // offer gives the program what transformed texts call.
  offer() {
    /** @type {(k: string, value: unknown) => unknown} */
    const hide = (k, value) => Object.defineProperty(globalThis, k,
      { value, writable: true, configurable: true, enumerable: false })
    hide('__xs_private', notePrivates)
    hide('__xs_import', (/** @type {unknown} */ specifier) => this.modules.import(String(specifier)))
    hide('__xs_meta', this.modules.meta)
    hide('__xs_need', need)
    const plain = Function.prototype.toString
    const { toString } = {
      /** @type {(this: unknown) => string} */
      toString() { return typeof this === 'function' ? sources.textOf(this) : Reflect.apply(plain, this, []) },
    }
    sources.declared.set(toString, 'function toString() { [native code] }')
    Object.defineProperty(Function.prototype, 'toString',
      { value: toString, writable: true, configurable: true, enumerable: false })
    for (const [k, v] of Object.entries(this.modules.commonjs())) hide(k, v)
    const offered = this.calls.offered()
    hide('tools', offered.tools)
    hide('xstate', offered)
    for (const [k, v] of Object.entries({ xstate: offered, ...offered })) intrinsics.nameOf.set(v, `xstate.${k}`)
  }

  // serve answers requests until the engine is gone: do_run answers the request run. It continues in the same turn of
  // Node's loop, unless an answer has to wait.
  serve() {
    const handlers = /** @type {Record<string, (header: object, body: Buffer) => Reply | Later>} */ (
      /** @type {unknown} */ (this))
    for (;;) {
      const request = this.channel.receive()
      if (request === null) process.reallyExit(0)
      /** @type {Reply | Later | Promise<Reply>} */
      let found
      try {
        found = handlers['do_' + request.header.op].call(this, request.header, request.body)
      } catch (e) {
        found = failed(e)
      }
      if (typeof found === 'function') {
        const go = (/** @type {object} */ reply) => { this.reply(reply); this.serve() }
        found(go, (e) => go(failed(e)))
        return
      }
      if (found instanceof Promise) {
        found.catch(failed).then((reply) => {
          this.reply(reply)
          if (this.execution.turn.module === false && !this.execution.turn.pending) setImmediate_(() => this.serve())
          else this.serve()
        })
        return
      }
      this.reply(found)
    }
  }

  /** @type {(found: Reply) => void} */
  reply(found) {
    const [reply, data] = Array.isArray(found) ? found : [found ?? {}, undefined]
    this.channel.send('reply', { ok: true, ...reply }, data)
    identities.settle()
  }

  /** @type {(request: Compile, body: Buffer) => { verdicts: Verdict[] }} */
  do_compile(request, body) {
    const verdicts = []
    let at = 0
    for (const b of request.blocks) {
      const plan = JSON.parse(body.subarray(at, at + b.bytes).toString())
      at += b.bytes
      verdicts.push(this.execution.check(plan, b.filename))
    }
    return { verdicts }
  }

  /** @type {(request: Sources) => void} */
  do_sources(request) {
    for (const [k, v] of Object.entries(request.texts ?? {})) texts.set(k, v.split('\n'))
    for (const k of request.gone ?? []) texts.delete(k)
  }

  /** @type {(request: Run, body: Buffer) => object | Promise<object> | Later} */
  do_run(request, body) {
    return this.execution.run(request, body.toString())
  }

  /** @type {(request: Bind) => void} */
  do_bind(request) {
    const kept = new Set()
    for (const [group, names] of request.park ?? []) {
      for (const n of names) {
        kept.add(n)
        const fp = this.groups.prints.get(n)
        if (fp !== undefined) this.groups.keep(fp)
      }
      this.unpark(group)
      this.parked.set(group, names.map((n) => [n, this.names.table.get(n), this.groups.print(n),
        this.names.constants.has(n)]))
    }
    for (const n of request.unbind ?? []) this.unbind(n)
    for (const g of request.drop ?? []) this.unpark(g)
    for (const g of request.unpark ?? []) {
      const bound = this.parked.get(g)
      for (const [n, v, fp, constant] of bound ?? []) {
        this.names.bind(n, v)
        if (constant) this.names.constants.add(n)
        this.groups.put(n, fp)
      }
      this.unpark(g)
    }
  }

  // unpark lets go of a group.
  /** @type {(group: string) => void} */
  unpark(group) {
    for (const [, , fp] of this.parked.get(group) ?? []) if (fp !== undefined) this.groups.letGo(fp)
    this.parked.delete(group)
  }

  /** @type {(name: string) => void} */
  unbind(name) {
    this.names.unbind(name)
    this.groups.drop(name)
  }

  /** @type {() => object} */
  do_forget() {
    for (const g of this.parked.keys()) this.unpark(g)
    if (this.modules.packages.changed()) return { stale: true }
    return this.unload(this.modules.edited())
  }

  // do_unload makes modules what they are after their load. They may have handed out parts of what they hold, to each
  // other and to values that no walk can look into: only a new interpreter has none of these.
  /** @type {() => object} */
  do_unload() {
    return { stale: true }
  }

  /** @type {(gone: string[]) => object} */
  unload(gone) {
    if (gone.length) for (const g of this.parked.keys()) this.unpark(g)
    const dropped = this.modules.unload(gone, this.names.table)
    for (const n of dropped) this.unbind(n)
    return { unloaded: gone.map((f) => this.modules.states.nameOf(f)), dropped, classes: [] }
  }

  /** @type {(request: { names: string[] }) => Reply} */
  do_store(request) {
    const prints = request.names.map((n) => this.groups.print(n))
    const opaque = prints.find((fp) => fp.opaque)
    if (opaque) return { stored: false, why: opaque.opaque }
    if (prints.some((fp) => fp.module)) {
      return { stored: false, why: 'a workspace module holds a part of it' }
    }
    let data, needs
    try {
      ({ data, needs } = dump(request.names, this.names, this.groups))
    } catch (e) {
      return { stored: false, why: /** @type {Error} */ (e).message }
    }
    if (data.length < 1 << 20) return [{ stored: true, path: '', size: data.length, parts: [], needs }, data]
    const file = path.join(this.spool, `value-${++this.stored}`)
    this.files.quietly(() => fs.writeFileSync(file, data))
    return { stored: true, path: file, size: data.length, parts: [], needs }
  }

  /** @type {(request: Load, body: Buffer) => object | Promise<object>} */
  do_load(request, body) {
    const { path: file } = request
    const data = file ? this.files.quietly(() => fs.readFileSync(file)) : body
    let found
    try {
      found = load(data, this.groups, request.foreign)
    } catch (e) {
      if (e instanceof Need) return { ok: false, need: e.need }
      if (!(e instanceof Namespace)) throw e
      return this.modules.import(e.id).then(() => this.do_load(request, body))
    }
    const { values, constants } = found
    for (const [i, n] of request.names.entries()) {
      this.names.bind(n, values[i])
      if (constants[i]) this.names.constants.add(n)
      this.groups.put(n, fingerprint(values[i]))
    }
    /** @type {Record<string, string>} */
    const digests = {}
    for (const n of request.names) {
      const fp = this.groups.print(n)
      if (!fp.opaque) digests[n] = fp.digest
    }
    return { digests, shares: this.groups.pairs(request.names), unparked: [] }
  }

  /** @type {(request: Show) => object} */
  do_show(request) {
    return look.show(this.names.table.get(request.name), request.at, request.most)
  }

  /** @type {(request: HiddenState) => Reply} */
  do_hidden_get(request) {
    return [{}, this.hidden.get(request.key)]
  }

  /** @type {(request: HiddenState, body: Buffer) => Promise<void> | void} */
  do_hidden_put(request, body) {
    return this.hidden.put(request.key, request.pristine ? null : body)
  }

  /** @type {(request: Environ) => void} */
  do_environ(request) {
    this.hidden.setEnviron(request.set ?? {})
  }

  do_detach() {
    return { paths: [] }
  }

  do_flush() {}

  do_close_figures() {}
}

// notePrivates notes how the private fields of a class are read and set.
/**
 * @param {Function} c the class
 * @param {string} names of the fields of its instances
 * @param {Privates['has']} has
 * @param {Privates['get']} get
 * @param {Privates['set']} set
 * @param {string} [staticNames] of its own fields
 * @param {Statics['get']} [getStatic]
 * @param {Statics['set']} [setStatic]
 */
function notePrivates(c, names, has, get, set, staticNames, getStatic, setStatic) {
  privates.set(c.prototype, { names, has, get, set })
  if (staticNames && getStatic && setStatic) {
    statics.set(c, { names: staticNames, get: getStatic, set: setStatic })
  }
}

// need returns a namespace that has some names.
/** @type {(ns: object, names: string[], from: string) => object} */
function need(ns, names, from) {
  for (const k of names) {
    if (!(k in ns)) {
      throw new SyntaxError(`The requested module '${from}' does not provide an export named '${k}'`)
    }
  }
  return ns
}

// failed is the reply about a fault of the driver.
/** @type {(e: unknown) => object} */
function failed(e) {
  return { ok: false, error: String(e), trace: String(/** @type {Error} */ (e)?.stack) }
}

const setImmediate_ = setImmediate

module.exports = { Kernel }
