'use strict'
// The names of the program: properties of the global object. Before each node an accessor replaces each name. It notes
// the first read, and then makes way for the value, which costs nothing more.

/** @import {Plan} from './messages' */
/**
 * @typedef {object} NodeNames what a node has read and written
 * @property {Set<string>} reads
 * @property {Set<string>} writes
 * @property {Set<string>} absent names that it looked for and that nothing has
 * @property {Set<string>} declares its let, const and class that are not initialized
 * @property {Map<string, unknown>} fixed constant → its value, while an accessor stays in its place
 */

const define = Object.defineProperty
const property = Object.getOwnPropertyDescriptor
const G = globalThis

// owned is property for a key that is known to be there.
const owned = /** @type {(o: object, k: PropertyKey) => PropertyDescriptor} */ (property)

class Names {
  constructor() {
    /** @type {Map<string, unknown>} */
    this.table = new Map() // name → value
    /** @type {Set<string>} */
    this.constants = new Set()
    /** @type {Set<string>} */
    this.assigned = new Set() // names that a text of the program assigns to, other than by a declaration
    /** @type {Map<string, () => unknown>} */
    this.accessors = new Map() // name → its accessor, while that is in place
    /** @type {NodeNames | null} */
    this.node = null // the names of the running node
    /** @type {Map<PropertyKey, PropertyDescriptor>} */
    this.builtin = new Map() // what the global object has before the program
    this.quiet = () => false // whether what runs belongs to no node
    /** @type {Set<string> | undefined} */
    this.foreign = undefined // accessors that the program has put on the global object
    const names = this
    const behind = Object.getPrototypeOf(G)
    /** @type {(k: PropertyKey) => void} */
    const missing = (k) => {
      if (names.node !== null && typeof k === 'string' && !(k in behind) && !names.quiet()) names.node.absent.add(k)
    }
    Object.setPrototypeOf(G, new Proxy(behind, {
      has(target, k) {
        missing(k)
        return Reflect.has(target, k)
      },
      get(target, k, receiver) {
        missing(k)
        return Reflect.get(target, k, receiver)
      },
      set(target, k, value, receiver) {
        return Reflect.defineProperty(receiver, k,
          { value, writable: true, enumerable: true, configurable: true })
      },
    }))
  }

  // begin notes what the global object has before the program.
  begin() {
    for (const k of Reflect.ownKeys(G)) this.builtin.set(k, owned(G, k))
  }

  /** @type {(name: string, value: unknown, writable?: boolean) => void} */
  data(name, value, writable = true) {
    define(G, name, { value, writable, enumerable: true, configurable: true })
  }

  // arm puts an accessor in the place of a name.
  /** @type {(name: string, value: unknown) => void} */
  arm(name, value) {
    const names = this
    const constant = this.constants.has(name)
    const kept = constant && this.assigned.has(name)
    const get = () => {
      if (names.node !== null) names.node.reads.add(name)
      if (!kept) {
        names.data(name, value, !constant)
        names.accessors.delete(name)
      }
      return value
    }
    /** @type {(v: unknown) => void} */
    const set = (v) => {
      if (constant && !names.node?.declares.has(name)) throw new TypeError('Assignment to constant variable.')
      if (names.node !== null) names.node.writes.add(name)
      names.accessors.delete(name)
      if (constant && names.assigned.has(name)) names.arm(name, v)
      else names.data(name, v)
    }
    this.accessors.set(name, get)
    define(G, name, { get, set, enumerable: true, configurable: true })
  }

  // declare puts an accessor in the place of a name that let, const or class declares and that has no value yet.
  /** @type {(name: string, constant: boolean) => void} */
  declare(name, constant) {
    const names = this
    const get = () => {
      const e = new ReferenceError(`Cannot access '${name}' before initialization`)
      if (!/[( ](?:\/|file:)/.test(String(e.stack).split('\n')[2])) throw e
      return undefined // a file asks for a property of the global object, as lodash does for _
    }
    /** @type {(v: unknown) => void} */
    const set = (v) => {
      names.accessors.delete(name)
      if (names.node !== null) names.node.writes.add(name)
      if (constant && names.assigned.has(name)) {
        names.constants.add(name)
        names.node?.declares.delete(name)
        names.arm(name, v)
        names.node?.fixed.set(name, v)
      } else names.data(name, v)
    }
    this.accessors.set(name, get)
    define(G, name, { get, set, enumerable: true, configurable: true })
  }

  // start puts accessors in the place of names for a node.
  /** @type {(plan: Partial<Plan>) => NodeNames} */
  start(plan) {
    /** @type {NodeNames} */
    const node = {
      reads: new Set(), writes: new Set(), absent: new Set(), declares: new Set(plan.lexical ?? []), fixed: new Map(),
    }
    this.node = node
    for (const n of plan.assigned ?? []) this.assigned.add(n)
    const constants = new Set(plan.constants ?? [])
    for (const n of plan.lexical ?? []) this.constants.delete(n)
    for (const f of plan.functions ?? []) this.constants.delete(f.name)
    for (const n of plan.vars ?? []) this.constants.delete(n)
    for (const [n, v] of this.table) this.arm(n, v)
    for (const n of plan.lexical ?? []) if (!this.table.has(n)) this.declare(n, constants.has(n))
    for (const n of plan.vars ?? []) {
      if (!this.table.has(n) && !this.builtin.has(n)) {
        this.data(n, undefined)
        node.writes.add(n)
      }
    }
    return node
  }

  // end returns what is bound after a node: name → value.
  /** @type {(node: NodeNames) => Map<string, unknown>} */
  end(node) {
    /** @type {Map<string, unknown>} */
    const now = new Map()
    const own = Object.getOwnPropertyNames(G)
    const there = new Set(own)
    for (const n of [...this.table.keys(), ...own]) {
      if (now.has(n) || !there.has(n)) continue
      if (this.accessors.has(n) && this.table.has(n)) {
        now.set(n, node.fixed.has(n) ? node.fixed.get(n) : this.table.get(n))
        continue
      }
      const p = owned(G, n)
      const was = this.builtin.get(n)
      if (was !== undefined && !this.table.has(n) && !node.declares.has(n) && Object.is(was.value, p.value) &&
        was.get === p.get) continue
      if (n.startsWith('__xs_')) continue
      if (was?.get && !this.table.has(n) && 'value' in p && this.isLate(n, was, p)) continue
      if (node.fixed.has(n)) now.set(n, node.fixed.get(n))
      else if ('value' in p) now.set(n, p.value)
      else if (this.accessors.get(n) === p.get) {
        this.accessors.delete(n) // it was declared and not initialized
        Reflect.deleteProperty(G, n)
        if (was !== undefined) define(G, n, was)
      } else this.foreign?.add(n) // an accessor of the program's own stays as it is
    }
    return now
  }

  // isLate reports whether a property is one with which Node has replaced its own accessor.
  /** @type {(name: string, was: PropertyDescriptor, p: PropertyDescriptor) => boolean} */
  isLate(name, was, p) {
    let value
    try {
      value = was.get?.call(G)
    } catch {
      return false
    }
    if (!Object.is(value, p.value)) return false
    this.builtin.set(name, p)
    return true
  }

  /** @type {(name: string, value: unknown) => void} */
  bind(name, value) {
    this.table.set(name, value)
    this.accessors.delete(name)
    this.data(name, value)
  }

  /** @type {(name: string) => void} */
  unbind(name) {
    this.table.delete(name)
    this.accessors.delete(name)
    this.constants.delete(name)
    Reflect.deleteProperty(G, name)
    const was = this.builtin.get(name)
    if (was !== undefined) define(G, name, was)
  }
}

module.exports = { Names }
