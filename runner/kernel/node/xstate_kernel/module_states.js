'use strict'
// The contents of workspace modules, as state of the program: which modules a node can reach, and which it changed.
// doc.go has the argument.

/** @import {Fingerprint} from './groups' */
/**
 * @typedef {object} Own a module of the workspace
 * @property {string} hash of its text
 * @property {Set<string>} uses files of modules that it imports
 * @property {unknown} exports of a CommonJS module
 * @property {import('vm').Module | null} module
 * @property {string} [state] digest of what it holds, since it was loaded
 * @property {Set<string>} shares names of modules whose code it may run
 */

const path = require('path')
const { types } = require('util')
const { createHash } = require('crypto')
const intrinsics = require('./intrinsics')
const identities = require('./identities')
const { hardOf } = require('./groups')
const { ANY, parts, untracked, walked } = require('./walk')

class ModuleStates {
  /** @param {string} folder @param {Map<string, Own>} own path of a workspace module → what is known of it */
  constructor(folder, own) {
    this.folder = folder
    this.own = own
    /** @type {string[]} */
    this.changedNow = [] // modules that the node has changed, by name
    /** @type {Set<string>} */
    this.reachedNow = new Set() // files of those that it could reach
    /** @type {Map<object, string[]>} */
    this.roots = new Map() // object → files of the modules to which it belongs
    this.lasting = false // the program has changed one that holds what cannot be looked into
  }

  /** @type {(file: string) => string} */
  nameOf(file) { return path.relative(this.folder, file) }

  reachedNames() { return [...this.reachedNow].map((f) => this.nameOf(f)).sort() }

  // loaded notes the state of modules that have just been loaded.
  /** @type {(files: Set<string>) => void} */
  loaded(files) {
    this.noteRoots()
    for (const file of files) {
      const m = this.own.get(file)
      if (m) m.state ??= this.stateOf(m, file)
    }
  }

  // look finds which modules a node could reach, and which it changed. prints are of the values that it has read, files
  // of the modules that it imported. everything: what every program has was changed, so it could reach all. A node that
  // reaches none sees no change of them.
  /** @type {(prints: Fingerprint[], files: string[], everything: boolean) => void} */
  look(prints, files, everything) {
    this.changedNow = []
    const homes = new Set(prints.flatMap((p) => [...p.homes]))
    this.reachedNow = everything || homes.has(ANY) ? new Set(this.own.keys()) : this.reached(homes, files)
    if (!this.reachedNow.size && !prints.some((p) => p.module)) return
    this.noteRoots()
    for (const [file, m] of this.own) {
      const state = this.stateOf(m, file)
      if (m.state !== undefined && state !== m.state) {
        this.changedNow.push(this.nameOf(file))
        this.reachedNow.add(file)
      }
      m.state = state
    }
  }

  // reached returns the files of some modules, by name and by file, and of all whose code these may run.
  /** @type {(homes: Set<string>, files: string[]) => Set<string>} */
  reached(homes, files) {
    /** @type {Set<string>} */
    const found = new Set()
    const todo = [...files, ...[...homes].map((n) => path.resolve(this.folder, n))]
    for (let file = todo.pop(); file !== undefined; file = todo.pop()) {
      const m = this.own.get(file)
      if (m === undefined || found.has(file)) continue
      found.add(file)
      todo.push(...m.uses, ...[...m.shares].map((n) => path.resolve(this.folder, n)))
    }
    return found
  }

  // held returns what the modules hold that the node has changed. No digest names the contents of others: the engine
  // names them by lineage, see unnamed.
  /** @type {() => Record<string, string>} */
  held() {
    /** @type {Record<string, string>} */
    const found = {}
    for (const n of this.changedNow) {
      const m = this.own.get(path.resolve(this.folder, n))
      if (m && !untracked.has(n)) found[n] = hashOf(`${m.hash} ${m.state}`)
    }
    return found
  }

  // unnamed returns the modules and packages that the node has changed and that are not among held.
  /** @type {(held: object, packages: Set<string>) => string[]} */
  unnamed(held, packages) {
    const found = [...this.changedNow, ...packages].filter((n) => !(n in held))
    this.lasting ||= found.length > 0
    return found
  }

  // noteRoots notes what belongs to each module: what it exports as a whole, and the functions that it exports. The
  // contents of these are in its state, and in that of no other module.
  noteRoots() {
    this.roots = new Map()
    for (const [file, m] of this.own) {
      const evaluated = m.module?.status === 'evaluated'
      for (const o of [m.exports, evaluated ? m.module?.namespace : undefined]) {
        if (!intrinsics.isObject(o)) continue
        this.belongs(o, file)
        for (const k of types.isProxy(o) ? [] : Reflect.ownKeys(o)) {
          const v = Reflect.getOwnPropertyDescriptor(o, k)?.value
          if (typeof v === 'function') this.belongs(v, file)
        }
      }
    }
  }

  /** @type {(o: object, file: string) => void} */
  belongs(o, file) {
    const had = this.roots.get(o)
    if (had === undefined) this.roots.set(o, [file])
    else had.push(file)
  }

  // stateOf returns a digest of what a module exports, with the variables of its functions, and notes its parts.
  /** @type {(m: Own, file: string) => string} */
  stateOf(m, file) {
    const root = m.module?.status === 'evaluated' ? { ...m.module.namespace } : m.exports
    if (!intrinsics.isObject(root)) return ''
    const name = this.nameOf(file)
    const w = walked((w) => {
      w.inModule = true
      w.levels = null
      w.elsewhere = new Map()
      for (const [o, files] of this.roots) if (!files.includes(file)) w.elsewhere.set(o, this.nameOf(files[0]))
      w.value(root)
    })
    m.shares = w.homes // with ANY among them, which names no file
    for (const p of hardOf(w.places(), w.soft)) {
      const o = identities.objects[p]
      const held = (typeof o === 'object' || typeof o === 'function') && !w.elsewhere.has(o)
      if (held) parts.add(o, name)
    }
    if (w.unsettled) untracked.add(name)
    else untracked.delete(name)
    return w.end()
  }
}

/** @type {(text: string | Buffer) => string} */
const hashOf = (text) => createHash('sha256').update(text).digest('hex')

module.exports = { ModuleStates, hashOf }
