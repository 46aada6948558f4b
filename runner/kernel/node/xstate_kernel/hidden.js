'use strict'
// State that outlives a node and is not the value of a name: the generator of Math.random, the working directory, the
// environment, settings of console.

/** @import {Setting} from './console' */
/** @import {Files} from './files' */
/** @import {Marks} from './marks' */
/** @import {Options} from './messages' */

const { createHash } = require('crypto')
const { settings } = require('./console')
const { Input } = require('./input')
const RANDOM = 'rng:Math.random'
const CWD = 'cwd'

/** @type {(text: string) => string} */
const digestOf = (text) => createHash('sha256').update(text).digest('hex')

class Hidden {
  /** @param {Options} options @param {Files} files @param {Marks} marks */
  constructor(options, files, marks) {
    this.files = files
    this.marks = marks
    this.seed = [0, 0, 0, 0]
    const h = createHash('sha256').update(`Math.random ${options.seed}`).digest()
    for (let i = 0; i < 4; i++) this.seed[i] = h.readInt32LE(4 * i)
    this.state = Int32Array.from(this.seed)
    this.was = '' // state before the node
    this.drawn = false // Math.random was called
    this.random()
    this.folder = options.folder
    this.folderBefore = ''
    this.cwdRead = this.moved = false
    this.cwd = process.cwd.bind(process)
    this.chdir = process.chdir
    this.directory()
    this.real = process.env
    /** @type {Set<string>} */
    this.envRead = new Set()
    this.all = false // the whole environment was read
    /** @type {NodeJS.ProcessEnv} */
    this.before = {}
    this.watchEnviron()
    marks.zoneRead = () => { if (this.active()) this.envRead.add('TZ') }
    this.input = new Input(options.stdin, files, marks)
    /** @type {(Setting | Input)[]} */
    this.settings = [...settings(marks), this.input]
  }

  random() {
    const hidden = this
    const { state } = this
    const next = { random() { // xoshiro128**
      hidden.drawn = true
      const r = Math_imul(state[1], 5)
      const out = Math_imul((r << 7) | (r >>> 25), 9) >>> 0
      const t = state[1] << 9
      state[2] ^= state[0]
      state[3] ^= state[1]
      state[1] ^= state[2]
      state[0] ^= state[3]
      state[2] ^= t
      state[3] = (state[3] << 11) | (state[3] >>> 21)
      return (out * 2097152 + (state[0] >>> 11)) / 9007199254740992
    } }.random
    Object.defineProperty(Math, 'random', { value: next, writable: true, configurable: true, enumerable: false })
  }

  directory() {
    const { cwd, chdir } = process
    const hidden = this
    process.cwd = { cwd() { hidden.cwdRead = true; return cwd() } }.cwd
    process.chdir = {
      /** @type {(d: string) => void} */
      chdir(d) { hidden.moved = true; return chdir(d) },
    }.chdir
    this.files.cwd = () => {
      hidden.cwdRead = true
      return cwd()
    }
  }

  watchEnviron() {
    const hidden = this
    const env = /** @type {Record<PropertyKey, string | undefined>} */ (this.real)
    /** @type {(k: PropertyKey) => void} */
    const note = (k) => {
      if (typeof k === 'string' && hidden.active() && k !== 'WATCH_REPORT_DEPENDENCIES') hidden.envRead.add(k)
    }
    process.env = new Proxy(env, {
      get(t, k) { note(k); return t[k] },
      has(t, k) { if (typeof k === 'string' && hidden.active()) hidden.envRead.add('=' + k); return k in t },
      set(t, k, v) { t[k] = v; return true },
      ownKeys(t) {
        const keys = Reflect.ownKeys(t)
        if (hidden.active()) hidden.all = true
        return keys
      },
      getOwnPropertyDescriptor(t, k) { note(k); return Reflect.getOwnPropertyDescriptor(t, k) },
    })
  }

  active() { return this.files.active && !this.files.silent }

  start() {
    this.drawn = this.cwdRead = this.moved = this.all = false
    this.envRead = new Set()
    this.was = this.state.join()
    this.folderBefore = this.cwd()
    this.before = { ...this.real }
    for (const s of this.settings) s.start()
  }

  /** @type {() => Record<string, string>} */
  changed() {
    /** @type {Record<string, string>} */
    const found = {}
    const now = this.state.join()
    if (now !== this.was) found[RANDOM] = now === this.seed.join() ? '' : digestOf(now)
    const folder = this.cwd()
    if (this.moved || folder !== this.folderBefore) found[CWD] = folder === this.folder ? '' : digestOf(folder)
    for (const s of this.settings) {
      const text = s.text()
      if (text !== s.was) found[s.key] = text === s.plain ? '' : digestOf(text)
    }
    return found
  }

  read() {
    const found = []
    if (this.drawn) found.push(RANDOM)
    if (this.cwdRead) found.push(CWD)
    for (const s of this.settings) if (s.touched || s.text() !== s.was) found.push(s.key)
    if (found.includes('conf:arguments')) found.push('conf:argv') // what the program was started with
    return found
  }

  /** @type {() => Record<string, string | null>} */
  environ() {
    /** @type {Record<string, string | null>} */
    const found = {}
    for (const k of new Set([...Object.keys(this.before), ...Object.keys(this.real)])) {
      if (this.before[k] !== this.real[k]) found[k] = this.real[k] ?? null
    }
    return found
  }

  environRead() {
    if (this.all) this.envRead.add('*')
    return [...this.envRead].sort()
  }

  /** @type {(key: string) => Buffer} */
  get(key) {
    if (key === RANDOM) return Buffer.from(this.state.join())
    if (key === CWD) return Buffer.from(this.cwd())
    return this.setting(key)?.bytes() ?? Buffer.alloc(0)
  }

  /** @type {(key: string, data: Buffer | null) => Promise<void> | void} */
  put(key, data) {
    if (key === RANDOM) this.state.set(data === null ? this.seed : data.toString().split(',').map(Number))
    if (key === CWD) this.chdir.call(process, data === null ? this.folder : data.toString())
    return this.setting(key)?.put(data)
  }

  /** @type {(key: string) => Setting | Input | undefined} */
  setting(key) { return this.settings.find((s) => s.key === key) }

  /** @type {(set: Record<string, string | null>) => void} */
  setEnviron(set) {
    for (const [k, v] of Object.entries(set)) {
      if (v === null) delete this.real[k]
      else this.real[k] = v
    }
  }
}

const Math_imul = Math.imul

module.exports = { Hidden }
