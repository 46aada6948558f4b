'use strict'
// Bytes of a group of values: with their sharing, prototypes, functions, private fields and what functions capture.
// Each object is a record; a record names others by number. load.js makes the values again.

/** @import {Code, Inside, ObjectRecord, Outside, Pointer, Reference, StoredRecord} from './records' */
/** @import {Source} from './sources' */
/** @import {Names} from './names' */
/** @import {Groups} from './groups' */
/** @typedef {(k: string | symbol) => boolean} Skip whether a property is stored with the inside of an object */

const v8 = require('v8')
const { types } = require('util')
const { nameOf, symbols } = require('./intrinsics')
const { privates, statics } = require('./privates')
const { declared, sourceOf } = require('./sources')
const { isDetached, views } = require('./insides')
const closures = require('./closures')

const { getOwnPropertyDescriptor: property, ownKeys, getPrototypeOf: prototype } = Reflect
// owned is property for a key that is known to be there.
const owned = /** @type {(o: object, k: PropertyKey) => PropertyDescriptor} */ (property)
const URL_ = require('url').URL

class Unstorable extends Error {}

/** @type {Skip} */
const isLength = (k) => k === 'length'
/** @type {Skip} */
const isIndex = (k) => typeof k === 'string' && /^\d+$/.test(k)
/** @type {Skip} */
const isIndexOrLength = (k) => k === 'length' || isIndex(k)
/** @type {Skip} */
const isOfFunctions = (k) => k === 'length' || k === 'arguments' || k === 'caller'

class Dump {
  /** @param {Names} names @param {Groups} groups @param {string[]} list */
  constructor(names, groups, list) {
    this.names = names
    this.groups = groups
    this.list = new Set(list)
    /** @type {Map<string, string>} */
    this.needs = new Map()
    /** @type {Map<object | symbol, number>} */
    this.ids = new Map()
    /** @type {Partial<StoredRecord>[]} */
    this.records = []
    /** @type {[object | symbol, Partial<StoredRecord>][]} */
    this.todo = []
  }

  /** @type {(v: unknown) => Reference} */
  ref(v) {
    switch (typeof v) {
      case 'object': return v === null ? null : this.pointer(v)
      case 'function': return this.pointer(v)
      case 'symbol': {
        const k = Symbol.keyFor(v)
        if (k !== undefined) return { y: k }
        const known = symbols.get(v)
        return known !== undefined ? { w: known } : this.record(v)
      }
      case 'undefined': return { u: 1 }
      case 'string': return v.length > 1 << 28 ? unstorable('a string that is too long') : v
      default: return /** @type {number | boolean | bigint} */ (v)
    }
  }

  /** @type {(v: object) => Pointer} */
  pointer(v) {
    if (v === closures.UNSET) return { t: 1 }
    const b = nameOf.get(v)
    if (b === undefined) return this.record(v)
    if (/^npm:|^esm:(?!node:[\w/]+$)/.test(b)) throw new Unstorable('a part of a package, or of a namespace')
    return { b }
  }

  /** @type {(v: object | symbol) => Pointer} */
  record(v) {
    let id = this.ids.get(v)
    if (id === undefined) {
      id = this.records.length
      this.ids.set(v, id)
      const r = {}
      this.records.push(r)
      this.todo.push([v, r])
    }
    return { r: id }
  }

  drain() {
    for (let i = 0; i < this.todo.length; i++) this.fill(...this.todo[i])
    this.todo = []
  }

  /** @type {(v: object | symbol, r: Partial<StoredRecord>) => void} */
  fill(v, r) {
    if (typeof v === 'symbol') {
      Object.assign(r, { k: 'symbol', d: v.description })
      return
    }
    if (v instanceof closures.Scope) {
      Object.assign(r, { k: 'scope', id: v.id, names: v.names, values: v.values().map((x) => this.ref(x)) })
      return
    }
    if (types.isProxy(v)) throw new Unstorable('a Proxy')
    const [inside, skip] = typeof v === 'function' ? this.function(v) : this.inside(v)
    const object = /** @type {ObjectRecord} */ (Object.assign(r, inside))
    object.p = this.ref(prototype(v))
    if (!Reflect.isExtensible(v)) object.x = 1
    object.o = this.properties(v, skip)
    this.privates(v, object)
  }

  // privates adds the private fields of an object.
  /** @type {(v: object, r: Outside) => void} */
  privates(v, r) {
    for (let q = prototype(v); q !== null && q !== Object.prototype; q = prototype(q)) {
      const how = privates.get(q)
      if (!how?.has(v)) continue
      if (!r.h && !bare(q.constructor)) throw new Unstorable('private fields of a class that a function made')
      r.h ??= []
      r.h.push([this.ref(q), how.get(v).map((x) => this.ref(x))])
    }
  }

  /** @type {(v: object, skip: Skip | undefined) => Outside['o']} */
  properties(v, skip) {
    /** @type {Outside['o']} */
    const out = []
    for (const k of ownKeys(v)) {
      if (skip?.(k)) continue
      const d = owned(v, k)
      const flags = (d.enumerable ? 1 : 0) | (d.configurable ? 2 : 0) | (d.writable ? 4 : 0)
      const key = typeof k === 'symbol' ? this.ref(k) : k
      if ('value' in d) out.push(key, flags, this.ref(d.value))
      else out.push(key, flags | 8, [this.ref(d.get), this.ref(d.set)])
    }
    return out
  }

  // inside returns what an object holds beside its properties, and which properties show a part of that.
  /** @type {(v: object) => [inside: Inside, skip?: Skip]} */
  inside(v) {
    if (Array.isArray(v)) return this.array(v)
    if (types.isMap(v)) {
      return [{ k: 'map', e: [...Map.prototype.entries.call(v)].flatMap(([a, b]) => [this.ref(a), this.ref(b)]) }]
    }
    if (types.isSet(v)) return [{ k: 'set', e: [...Set.prototype.values.call(v)].map((a) => this.ref(a)) }]
    if (types.isDate(v)) return [{ k: 'date', v: Date.prototype.getTime.call(v) }]
    if (types.isRegExp(v)) {
      return [{ k: 'regexp', v: [v.source, v.flags, this.ref(v.lastIndex)] }, (k) => k === 'lastIndex']
    }
    if (types.isSharedArrayBuffer(v)) throw new Unstorable('memory that workers share')
    if (types.isArrayBuffer(v)) {
      if (isDetached(v)) throw new Unstorable('a buffer that was handed over')
      return [{ k: 'buffer', v: Buffer.from(new Uint8Array(v)), m: v.resizable ? v.maxByteLength : -1 }]
    }
    if (ArrayBuffer.isView(v)) {
      const c = /** @type {string} */ (views.call(v) ?? 'DataView')
      const n = /** @type {Uint8Array} */ (v).length ?? v.byteLength
      return [{ k: 'view', c, b: this.ref(v.buffer), at: v.byteOffset, n }, isIndex]
    }
    if (types.isNativeError(v)) {
      return [{ k: 'error', s: typeof v.stack === 'string' ? v.stack : '' }, (k) => k === 'stack']
    }
    if (types.isBoxedPrimitive(v)) {
      const inner = this.ref(types.isSymbolObject(v) ? Symbol.prototype.valueOf.call(v) : v.valueOf())
      return [{ k: 'boxed', v: inner }, types.isStringObject(v) ? isIndexOrLength : undefined]
    }
    if (isUnread(v)) throw new Unstorable(`an object of kind ${Object.prototype.toString.call(v).slice(8, -1)}`)
    return [prototype(v) === URL_.prototype ? { k: 'url', v: /** @type {URL} */ (v).href } : { k: 'object' }]
  }

  /** @type {(v: unknown[]) => [inside: Inside, skip: Skip]} */
  array(v) {
    /** @type {Reference[]} */
    const e = []
    const { writable } = owned(v, 'length')
    let plain = true
    for (let i = 0; i < v.length && plain; i++) {
      const d = property(v, i)
      plain = d !== undefined && d.writable === true && d.enumerable === true && d.configurable === true
    }
    if (plain) for (let i = 0; i < v.length; i++) e.push(this.ref(v[i]))
    return [{ k: 'array', n: v.length, lw: writable, e }, plain ? isIndexOrLength : isLength]
  }

  /** @type {(f: Function) => [inside: Code, skip: Skip]} */
  function(f) {
    const s = sourceOf(f)
    if (!s.own) throw new Unstorable('a function of a module')
    if (s.captures.includes('!')) throw new Unstorable('a function that captures what cannot be read')
    const decl = declared.get(f)
    /** @type {Code} */
    const r = {
      k: s.isClass ? 'class' : 'function', t: s.text, ...(decl === undefined ? {} : { decl }), strict: isStrict(f, s),
    }
    if (s.isClass && /^class\s*[\w$]*\s*extends\b/.test(s.text)) r.base = this.ref(prototype(f))
    if (s.captures) {
      const all = closures.chain(f)
      if (all === null) throw new Unstorable('a function that captures what cannot be read')
      r.scopes = all.map((x) => this.ref(x))
    }
    const fp = this.groups.prints.get(f.name)
    if (fp?.definition === f && !this.list.has(f.name)) {
      r.bound = [f.name, fp.digest]
      this.needs.set(f.name, fp.digest)
    } else if (fp?.definition === f) r.self = fp.digest
    const st = statics.get(f)
    if (st) r.statics = st.get().map((x) => this.ref(x))
    return [r, isOfFunctions]
  }
}

// isUnread reports whether an object has an inside that a program cannot read.
/** @type {(v: object) => boolean} */
function isUnread(v) {
  return types.isArgumentsObject(v) || types.isPromise(v) || types.isWeakMap(v) || types.isWeakSet(v) ||
    types.isGeneratorObject(v) || types.isExternal(v) || types.isModuleNamespaceObject(v) || v instanceof WeakRef ||
    types.isMapIterator(v) || types.isSetIterator(v)
}

// bare reports whether a class and those it extends can be constructed without code of the program.
/** @type {(c: object | null) => boolean} */
function bare(c) {
  for (; c !== null && c !== Function.prototype; c = prototype(c)) {
    if (nameOf.has(c)) return true
    if (typeof c !== 'function' || !sourceOf(c).own || !sourceOf(c).isClass) return false
  }
  return true
}

/** @type {(why: string) => never} */
function unstorable(why) { throw new Unstorable(why) }

// isStrict reports whether a function was in strict code: only sloppy ones have these properties, or no prototype.
/** @type {(f: Function, s: Source) => boolean} */
function isStrict(f, s) {
  if (s.isClass || /^\s*(async\b|\(|[\w$]+\s*=>|function\s*\*|async\s+function)/.test(s.text)) return true
  return property(f, 'caller') === undefined
}

// dump returns the bytes of the values of some names, and the definitions that must be bound before: name, digest.
/** @type {(list: string[], names: Names, groups: Groups) => { data: Buffer, needs: [string, string][] }} */
function dump(list, names, groups) {
  const constants = list.map((n) => names.constants.has(n))
  if (list.every((n) => groups.prints.get(n)?.simple)) {
    // V8's format keeps these values as they are, much faster than by records.
    return { data: v8.serialize({ simple: list.map((n) => names.table.get(n)), constants }), needs: [] }
  }
  const d = new Dump(names, groups, list)
  const roots = list.map((n) => d.ref(names.table.get(n)))
  d.drain()
  return { data: v8.serialize({ roots, constants, records: d.records, list }), needs: [...d.needs] }
}

module.exports = { dump }
