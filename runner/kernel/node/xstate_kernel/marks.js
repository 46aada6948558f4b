'use strict'
// Why the result of a node may vary: the clock, randomness of the system, the network, child processes, threads.

/** @typedef {string | ((...args: any[]) => string)} Mark what a call adds, given the arguments; '': nothing */
/** @typedef {(file: string | URL, options?: import('worker_threads').WorkerOptions) => void} OnWorker */

const { syncBuiltinESMExports } = require('module')
const { nameOf, named } = require('./intrinsics')

// isLocal reports whether a text may be read as a date in local time.
/** @type {(v: unknown) => boolean} */
const isLocal = (v) => typeof v === 'string' && !/^\d{4}-\d\d-\d\d(T.*Z)?$/.test(v)
const UNIVERSAL = /UTC|GMT|ISO|JSON|Temporal|^[gs]etTime$/ // methods of dates that do not depend on the time zone

class Marks {
  constructor() {
    /** @type {Set<string>} */
    this.found = new Set()
    this.active = false
    this.spawned = false // a child process was started
    this.timeless = 0 // loads of packages: what time it is then does not count
    this.observed = false // the sandbox sees what child processes do
    /** @type {Set<string>} */
    this.watched = new Set() // modules of Node
    /** @type {OnWorker} */
    this.worker = () => {} // what to call with the arguments of a new worker
    this.zoneRead = () => {} // what to call when the time zone counts
    this.clocks()
    this.entropy()
    this.network()
    this.loaded('os', require('os'))
  }

  begin() {
    this.found = new Set()
    this.active = true
    this.spawned = false
  }

  /** @type {(mark: string) => void} */
  add(mark) {
    if (this.active && !(mark === 'clock' && this.timeless)) this.found.add(mark)
  }

  // wrap puts a function that adds a mark in the place of a member.
  /** @type {(o: object, name: PropertyKey, mark: Mark) => void} */
  wrap(o, name, mark) {
    const p = Object.getOwnPropertyDescriptor(o, name)
    if (p === undefined || typeof p.value !== 'function') return
    /** @type {Function} */
    const inner = p.value
    const marks = this
    /** @type {Function} */
    const f = new Proxy(inner, {
      apply(target, self, args) {
        const m = typeof mark === 'function' ? mark() : mark
        if (m) marks.add(m)
        return Reflect.apply(target, self, args)
      },
      construct(target, args, kind) {
        const m = typeof mark === 'function' ? mark(...args) : mark
        if (m) marks.add(m)
        return Reflect.construct(target, args, kind === f ? target : kind)
      },
    })
    Object.defineProperty(o, name, { ...p, value: f })
    const known = nameOf.get(inner)
    if (known === undefined) return
    nameOf.set(f, known)
    named.set(known, f)
  }

  clocks() {
    const marks = this
    const Plain = Date
    const p = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(globalThis, 'Date'))
    const now = Plain.now
    /** @type {DateConstructor} */
    const Watched = new Proxy(Plain, {
      construct(target, args, kind) {
        if (args.length === 0) marks.add('clock')
        if (args.length > 1 || isLocal(args[0])) marks.zoneRead()
        return Reflect.construct(target, args, kind === Watched ? target : kind)
      },
      apply() {
        marks.add('clock')
        marks.zoneRead()
        return new Plain().toString()
      },
    })
    Object.defineProperty(globalThis, 'Date', { ...p, value: Watched })
    Plain.prototype.constructor = Watched
    Plain.now = { now() { marks.add('clock'); return now() } }.now
    Object.defineProperty(Plain, 'now', { enumerable: false })
    this.zone(Plain)
    const P = Object.getPrototypeOf(performance)
    this.wrap(P, 'now', 'clock')
    const { hrtime } = process
    this.wrap(process, 'hrtime', 'clock')
    this.wrap(hrtime, 'bigint', 'clock')
    for (const k of ['uptime', 'cpuUsage', 'memoryUsage', 'resourceUsage']) this.wrap(process, k, 'process')
  }

  // zone notes what depends on the time zone: the language takes it from the environment, and no code reads it there.
  /** @type {(Plain: DateConstructor) => void} */
  zone(Plain) {
    const read = () => { this.zoneRead(); return '' }
    for (const k of Object.getOwnPropertyNames(Plain.prototype)) {
      if (/^(get|set|to)/.test(k) && !UNIVERSAL.test(k)) this.wrap(Plain.prototype, k, read)
    }
    this.wrap(Plain, 'parse', read)
    this.wrap(Intl, 'DateTimeFormat', read)
  }

  entropy() {
    const crypto = require('crypto')
    for (const k of ['randomBytes', 'randomUUID', 'randomInt', 'randomFillSync', 'randomFill', 'getRandomValues',
      'generateKeyPairSync', 'generateKeyPair', 'generateKeySync', 'generateKey', 'pseudoRandomBytes', 'rng', 'prng']) {
      this.wrap(crypto, k, 'entropy')
    }
    const p = Object.getOwnPropertyDescriptor(globalThis, 'crypto')
    const get = p?.get
    if (!get) return
    let done = false
    Object.defineProperty(globalThis, 'crypto', {
      ...p, get: () => {
        const c = get.call(globalThis)
        if (!done) {
          done = true
          const C = Object.getPrototypeOf(c)
          this.wrap(C, 'getRandomValues', 'entropy')
          this.wrap(C, 'randomUUID', 'entropy')
        }
        return c
      },
    })
  }

  network() {
    this.wrap(globalThis, 'fetch', 'network')
    for (const k of ['WebSocket', 'EventSource']) {
      const there = Reflect.get(globalThis, k) !== undefined // the first use replaces an accessor by the value
      if (there && Object.getOwnPropertyDescriptor(globalThis, k)?.value) this.wrap(globalThis, k, 'network')
    }
  }

  /** @type {(net: typeof import('net')) => void} */
  sockets(net) {
    this.wrap(net.Socket.prototype, 'connect', 'network')
    this.wrap(net.Server.prototype, 'listen', 'network')
  }

  // loaded watches a module of Node that was just loaded.
  /** @type {(id: string, m: object) => void} */
  loaded(id, m) {
    id = id.replace(/^node:/, '')
    if (this.watched.has(id)) return
    this.watched.add(id)
    const child = () => {
      this.spawned = true
      return this.observed ? '' : 'subprocess'
    }
    switch (id) {
      case 'child_process':
        for (const k of ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork']) {
          this.wrap(m, k, child)
        }
        break
      case 'net':
        this.sockets(/** @type {typeof import('net')} */ (m))
        break
      case 'http': case 'https': case 'http2': case 'tls':
        this.loaded('net', require('net'))
        for (const k of ['request', 'get', 'connect']) this.wrap(m, k, 'network')
        break
      case 'dgram': this.wrap(m, 'createSocket', 'network'); break
      case 'dns':
        for (const k of ['lookup', 'resolve', 'resolve4', 'resolve6', 'reverse']) this.wrap(m, k, 'network')
        break
      case 'dns/promises':
        for (const k of ['lookup', 'resolve', 'resolve4', 'resolve6', 'reverse']) this.wrap(m, k, 'network')
        break
      case 'worker_threads':
        this.wrap(m, 'Worker', (file, o) => {
          this.worker(file, o)
          return 'thread'
        })
        break
      case 'cluster': this.wrap(m, 'fork', 'subprocess'); break
      case 'os':
        for (const k of ['uptime', 'loadavg', 'freemem']) this.wrap(m, k, 'process')
        break
      case 'perf_hooks': case 'util': break
      default: return
    }
    syncBuiltinESMExports()
  }
}

module.exports = { Marks }
