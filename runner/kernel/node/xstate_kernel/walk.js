'use strict'
// Digests of values: two values have one digest only if no program tells them apart. A walk notes as well which mutable
// objects a value reaches, by which its name may share them with others.

/** @import {Source} from './sources' */
/** @typedef {object | symbol} Identity what names can share */
/**
 * @typedef {object} Statics the private fields of a class itself
 * @property {string} names
 * @property {() => unknown[]} get
 * @property {(values: unknown[]) => void} set
 */
/**
 * @typedef {object} Privates the private fields of the instances of a class
 * @property {string} names
 * @property {(o: object) => boolean} has
 * @property {(o: object) => unknown[]} get
 * @property {(o: object, values: unknown[]) => void} set
 */

const { createHash } = require('crypto')
const { types, inspect } = require('util')
const descriptors = require('./descriptors').open
const intrinsics = require('./intrinsics')
const { captured, variables, inside, Scope, UNSET } = require('./closures')
const { sourceOf, namesOf } = require('./sources')
const { writeInside, PRIVATE } = require('./insides')
const { nameOf, symbols } = intrinsics

const { getOwnPropertyDescriptor: property, ownKeys, getPrototypeOf: prototype, isExtensible } = Reflect
// owned is property for a key that is known to be there.
const owned = /** @type {(o: object, k: PropertyKey) => PropertyDescriptor} */ (property)
const OBJECT = Object.prototype
const ARRAY = Array.prototype
const AGAIN = { again: true } // thrown by a walk that named more intrinsics: it begins anew
const KEY = { key: true }
const HOLE = { hole: true }
const ACCESSOR = { accessor: true }

const MANY = 1000 // elements of an array whose keys are listed

// The private fields of a class: its prototype → how they are read and set, see transform.go.
/** @type {WeakMap<object, Privates>} */
const privates = new WeakMap()
/** @type {WeakMap<Function, Statics>} */
const statics = new WeakMap() // class → the same of its static ones

// Workspace modules: file → text; mutable object that one holds → its file.
/** @type {Map<string, string>} */
const moduleTexts = new Map()
/** @type {WeakMap<object, string>} */
const parts = new WeakMap()
/** @type {Set<string>} */
const untracked = new Set() // workspace modules that hold what cannot be looked into

const LOCALS = new Set(['require', 'module', '__filename', '__dirname'])
const MOST = 500 // objects that a walk lets the inspector look into, each some 0.3 ms

/** @type {(o: object) => boolean} */
const isProgramPrototype = (o) => {
  const c = property(o, 'constructor')
  return c !== undefined && typeof c.value === 'function' && !nameOf.has(c.value) &&
    property(c.value, 'prototype')?.value === o
}

// outline is how Node shows an object without its elements, but with all other properties.
/** @type {(v: object) => string} */
const outline = (v) => inspect(v,
  { maxArrayLength: 0, depth: 0, customInspect: false, breakLength: Infinity, showHidden: true })
const N = '\\d+'
const VIEW = new RegExp(`^\\w+\\(${N}\\) (\\[Uint8Array\\] )?` +
  `\\[ \\.\\.\\. ${N} more items, \\[BYTES_PER_ELEMENT\\]: ${N}, ` +
  `\\[length\\]: ${N}, \\[byteLength\\]: ${N}, \\[byteOffset\\]: ${N}, \\[buffer\\]: (Shared)?ArrayBuffer ` +
  `\\{ (maxByteLength: ${N}, )?byteLength: ${N} \\}(, parent: \\[Getter\\], offset: \\[Getter\\])? \\]$`)

// keyed reports whether a view of memory may have properties beside its elements. To list its keys takes a second for
// ten million.
/** @type {(v: ArrayBufferView) => boolean} */
const keyed = (v) => {
  const n = /** @type {Uint8Array} */ (v).length
  return !(n > MANY) || !VIEW.test(outline(v))
}

class Walk {
  constructor() {
    /** @type {Map<Identity, number>} */
    this.ids = new Map() // mutable object → its number
    /** @type {Map<object, number>} */
    this.soft = new Map() // function of the program, or prototype of one → its number
    /** @type {Map<symbol, number>} */
    this.symbols = new Map()
    /** @type {Map<string | symbol, number>} */
    this.keys = new Map()
    this.opaque = ''
    this.unsettled = false // whoever reads the value may change it without a trace
    /** @type {Set<string>} */
    this.deps = new Set()
    /** @type {Set<string>} */
    this.code = new Set()
    this.module = false // it is, or reaches, a part of a workspace module
    this.inModule = false // variables of functions of workspace modules count
    this.simple = true // it is made of plain objects, arrays and primitives
    this.read = 0 // objects that the inspector looked into
    this.size = 0
    this.count = 0
    this.hash = createHash('sha256')
    this.buffer = Buffer.allocUnsafe(1 << 14)
    this.at = 0
  }

  /** @type {(n: number) => void} */
  room(n) {
    if (this.at + n > this.buffer.length) {
      this.hash.update(this.buffer.subarray(0, this.at))
      this.size += this.at
      this.at = 0
    }
  }

  /** @type {(t: number) => void} */
  tag(t) {
    this.room(1)
    this.buffer[this.at++] = t
  }

  /** @type {(x: number) => void} */
  int(x) {
    this.room(4)
    this.buffer.writeInt32LE(x | 0, this.at)
    this.at += 4
  }

  /** @type {(x: number) => void} */
  float(x) {
    this.room(8)
    this.buffer.writeDoubleLE(x, this.at)
    this.at += 8
  }

  /** @type {(s: string) => void} */
  string(s) {
    const n = s.length
    if (n <= 64) {
      this.room(5 + 2 * n)
      const from = this.at
      let at = from + 5
      let i = 0
      for (; i < n; i++) {
        const c = s.charCodeAt(i)
        if (c > 127) break
        this.buffer[at++] = c
      }
      if (i === n) {
        this.buffer[from] = 1
        this.buffer.writeInt32LE(n, from + 1)
        this.at = at
        return
      }
    }
    this.room(5)
    this.buffer[this.at++] = 2
    this.buffer.writeInt32LE(n, this.at)
    this.at += 4
    this.bytes(Buffer.from(s, 'utf16le'))
  }

  /** @type {(data: Uint8Array) => void} */
  bytes(data) {
    if (this.at) {
      this.hash.update(this.buffer.subarray(0, this.at))
      this.size += this.at
      this.at = 0
    }
    this.hash.update(data)
    this.size += data.byteLength
  }

  end() {
    this.bytes(Buffer.alloc(0))
    return this.hash.digest('hex')
  }

  /** @type {(why: string, unsettled?: boolean) => void} */
  hide(why, unsettled = true) {
    this.opaque = this.opaque || why
    this.unsettled = this.unsettled || unsettled
  }

  /** @type {(root: unknown) => void} */
  value(root) {
    /** @type {unknown[]} */
    const todo = [root]
    while (todo.length) {
      const v = todo.pop()
      switch (typeof v) {
        case 'string': this.tag(10); this.string(v); continue
        case 'number':
          if (descriptors.size !== 0 && descriptors.has(v)) this.descriptor(v)
          if ((v | 0) === v && !(v === 0 && 1 / v < 0)) { this.tag(11); this.int(v) }
          else if (v !== v) this.tag(12)
          else { this.tag(13); this.float(v) }
          continue
        case 'undefined': this.tag(14); continue
        case 'boolean': this.tag(v ? 16 : 17); continue
        case 'bigint': this.tag(18); this.string(v.toString(36)); continue
        case 'symbol': this.simple = false; this.symbol(v); continue
      }
      if (v === null) { this.tag(15); continue }
      if (v === KEY) { this.key(/** @type {string | symbol} */ (todo.pop())); continue }
      if (v === HOLE) { this.tag(6); continue }
      if (v === ACCESSOR) { this.tag(24); continue }
      if (v === UNSET) { this.tag(25); continue }
      const o = /** @type {object} */ (v)
      const seen = this.ids.get(o) ?? this.soft.get(o)
      if (seen !== undefined) { this.tag(3); this.int(seen); continue }
      const known = nameOf.get(o)
      if (known !== undefined) { this.simple = false; this.tag(4); this.string(known); continue }
      this.object(o, todo)
    }
  }

  // descriptor notes that a number stands for an open file. All that hold it share the file.
  /** @type {(v: number) => void} */
  descriptor(v) {
    const shared = /** @type {object} */ (descriptors.get(v))
    if (!this.ids.has(shared)) this.ids.set(shared, this.count++)
    this.simple = false
    this.hide('an open file')
  }

  /** @type {(v: symbol) => void} */
  symbol(v) {
    const shared = Symbol.keyFor(v)
    if (shared !== undefined) { this.tag(19); this.string(shared); return }
    const known = symbols.get(v)
    if (known !== undefined) { this.tag(20); this.string(known); return }
    let n = this.symbols.get(v)
    if (n === undefined) {
      n = this.count++
      this.symbols.set(v, n)
      this.ids.set(v, n)
      this.tag(21)
      this.string(v.description === undefined ? '\0none' : v.description)
    } else { this.tag(22); this.int(n) }
  }

  /** @type {(k: string | symbol) => void} */
  key(k) {
    const n = this.keys.get(k)
    if (n !== undefined) { this.tag(2); this.int(n); return }
    this.keys.set(k, this.keys.size)
    this.tag(1)
    if (typeof k === 'symbol') this.symbol(k)
    else this.string(k)
  }

  // property pushes a property, and writes what its attributes have of their own.
  /** @type {(o: object, k: PropertyKey, todo: unknown[]) => void} */
  property(o, k, todo) {
    const p = property(o, k)
    if (p === undefined) return
    const flags = (p.enumerable ? 1 : 0) | (p.configurable ? 2 : 0) | (p.writable ? 4 : 0)
    if ('value' in p) {
      todo.push(p.value, k, KEY)
      if (flags !== 7) todo.push(`\0p${flags}`)
    } else todo.push(p.set, p.get, k, KEY, `\0a${flags}`)
  }

  /** @type {(v: object, todo: unknown[]) => void} */
  object(v, todo) {
    if (v instanceof Scope) { this.scope(v, todo); return }
    if (types.isProxy(v)) {
      this.simple = false
      this.ids.set(v, this.count++)
      this.tag(99)
      const parts = this.slots(v, '[[Target]]', '[[Handler]]')
      if (parts === undefined) this.hide('a Proxy')
      else todo.push(...parts)
      return
    }
    if (typeof v === 'function') { this.simple = false; this.function(v, todo); return }
    const p = prototype(v)
    const file = this.inModule ? undefined : parts.get(v)
    if (file !== undefined) { // equal to no value outside of the module
      this.module = true
      this.simple = false
      this.tag(62)
      this.string(file)
    }
    if (isProgramPrototype(v)) this.soft.set(v, this.count++)
    else this.ids.set(v, this.count++)
    if (!isExtensible(v)) {
      this.simple = false
      this.tag(Object.isFrozen(v) ? 9 : Object.isSealed(v) ? 8 : 7)
    }
    if (Array.isArray(v)) {
      if (!owned(v, 'length').writable) this.simple = false
      if (this.array(v, p, todo)) return
      this.simple = false
    } else if (p === OBJECT && this.plain(v, todo)) return
    else {
      this.simple = false
      writeInside(this, v, p, todo)
    }
    if (p === OBJECT) this.tag(32)
    else { todo.push(p); this.hidden(v, p, todo) }
    this.properties(v, todo)
  }

  // properties writes the properties of an object, without those that its inside shows.
  /** @type {(v: object, todo: unknown[]) => void} */
  properties(v, todo) {
    if (ArrayBuffer.isView(v) && !keyed(v)) { this.int(0); return }
    const keys = ownKeys(v)
    const indexed = Array.isArray(v) || ArrayBuffer.isView(v) && !(v instanceof DataView) ||
      types.isStringObject(v)
    const from = todo.length
    for (const k of keys) {
      if (indexed && (k === 'length' || typeof k === 'string' && /^\d+$/.test(k))) continue
      if (k === 'stack' && types.isNativeError(v)) continue
      if (k === 'lastIndex' && types.isRegExp(v)) continue
      /** @type {unknown[]} */
      const here = []
      this.property(v, k, here)
      todo.push(here)
    }
    const pushed = /** @type {unknown[][]} */ (todo.splice(from))
    this.int(pushed.length)
    for (let i = pushed.length - 1; i >= 0; i--) todo.push(...pushed[i])
  }

  // plain writes an object that only has data properties.
  /** @type {(v: object, todo: unknown[]) => boolean} */
  plain(v, todo) {
    const keys = ownKeys(v)
    if (types.isDate(v) || types.isMap(v) || types.isSet(v) || types.isRegExp(v) || types.isArgumentsObject(v) ||
      types.isNativeError(v) || types.isPromise(v) || types.isBoxedPrimitive(v) || types.isAnyArrayBuffer(v) ||
      types.isWeakMap(v) || types.isWeakSet(v) || types.isGeneratorObject(v) || types.isExternal(v)) return false
    const from = todo.length
    for (let i = keys.length - 1; i >= 0; i--) {
      const d = owned(v, keys[i])
      if (d.writable !== true || !d.enumerable || !d.configurable) { todo.length = from; return false }
      todo.push(d.value, keys[i], KEY)
    }
    this.tag(42)
    this.int(keys.length)
    return true
  }

  /** @type {(v: unknown[], p: object | null, todo: unknown[]) => boolean} */
  array(v, p, todo) {
    const n = v.length
    const keyed = n <= MANY ? ownKeys(v).length !== n + 1 && this.listed(v) :
      outline(v) !== `[ ... ${n} more items, [length]: ${n} ]`
    if (p === ARRAY && n > 32 && !keyed && this.numbers(v, n)) return true
    this.tag(31)
    this.int(n)
    if (p === ARRAY && !keyed) {
      for (let i = n - 1; i >= 0; i--) {
        const x = v[i]
        todo.push(x === undefined && !(i in v) ? HOLE : x)
      }
      return true
    }
    this.tag(5)
    for (let i = n - 1; i >= 0; i--) {
      const d = property(v, i)
      if (d === undefined) todo.push(HOLE)
      else if ('value' in d) todo.push(d.value)
      else todo.push(d.set, d.get, ACCESSOR)
    }
    return false
  }

  // listed reports whether an array has keys that are no indices, or elements that are accessors.
  /** @type {(v: unknown[]) => boolean} */
  listed(v) {
    for (const k of ownKeys(v)) {
      if (typeof k === 'symbol' || k !== 'length' && !/^\d+$/.test(k) || !('value' in owned(v, k))) return true
    }
    return false
  }

  /** @type {(v: unknown[], n: number) => boolean} */
  numbers(v, n) {
    for (let i = 0; i < n; i++) {
      const x = v[i]
      if (typeof x !== 'number' || x !== x) return false
    }
    this.tag(30)
    this.int(n)
    const data = Float64Array.from(/** @type {number[]} */ (v))
    this.bytes(new Uint8Array(data.buffer))
    return true
  }

  // slots returns the values of some internal slots of an object; undefined: it has none, or it cost too much.
  /** @type {(v: object, ...names: string[]) => unknown[] | undefined} */
  slots(v, ...names) {
    return this.read++ < MOST ? inside(v, ...names) : undefined
  }

  /** @type {(v: object, p: object | null, todo: unknown[]) => void} */
  hidden(v, p, todo) {
    for (let q = p; q !== null && q !== OBJECT; q = prototype(q)) {
      const how = privates.get(q)
      if (how !== undefined && how.has(v)) todo.push(...how.get(v), `\0#${how.names}`)
    }
  }

  /** @type {(f: Function, todo: unknown[]) => void} */
  function(f, todo) {
    const s = sourceOf(f)
    if (!s.own) { this.foreign(f, s, todo); return }
    this.soft.set(f, this.count++)
    this.tag(45)
    this.string(s.text)
    for (const n of namesOf(s.text)) this.deps.add(n)
    if (f.name !== '' && s.isClass) this.code.add(f.name)
    const p = prototype(f)
    if (p !== Function.prototype) todo.push(p)
    else this.tag(46)
    if (!isExtensible(f)) this.tag(Object.isFrozen(f) ? 9 : Object.isSealed(f) ? 8 : 7)
    /** @type {unknown[]} */
    const own = []
    for (const k of ownKeys(f)) {
      if (k === 'length' || k === 'arguments' || k === 'caller') continue
      const d = owned(f, k)
      if (k === 'name' && d.writable === false && typeof d.value === 'string') {
        this.string(d.value)
        continue
      }
      if (k === 'prototype' && !s.isClass) {
        const o = d.value
        if (o === undefined || o === null || ownKeys(o).length === 1 && prototype(o) === OBJECT &&
          property(o, 'constructor')?.value === f || ownKeys(o).length === 0) continue
      }
      this.property(f, k, own)
    }
    this.int(own.length)
    for (const x of own) todo.push(x)
    const st = statics.get(f)
    if (st !== undefined) todo.push(...st.get())
    if (s.captures) {
      const scopes = captured(f, s.captures)
      if (scopes === null) this.hide('a function that captures what cannot be read')
      else todo.push(...scopes)
    }
  }

  // foreign writes a function that is not of the program: of a module, of Node, or bound.
  /** @type {(f: Function, s: Source, todo: unknown[]) => void} */
  foreign(f, s, todo) {
    if (intrinsics.late()) throw AGAIN
    this.ids.set(f, this.count++)
    this.module = true
    if (this.inModule && this.read < MOST && ofModule(s)) { this.moduleFunction(f, s, todo); return }
    this.tag(97)
    const native = /\[native code\]\s*\}$/.test(s.text)
    const bound = native ? this.slots(f, '[[TargetFunction]]', '[[BoundThis]]', '[[BoundArgs]]') : undefined
    if (bound !== undefined) {
      const [target, self] = bound
      const args = /** @type {unknown[]} */ (bound[2])
      for (const k of ownKeys(f)) this.property(f, k, todo)
      this.int(args.length)
      todo.push(...args, self, target)
    } else if (native) this.hide('a native function')
    else this.hide('a function of a module', !isTracked(f, s))
  }

  /** @type {(f: Function, s: Source, todo: unknown[]) => void} */
  moduleFunction(f, s, todo) {
    this.read++
    this.tag(61)
    this.string(s.text)
    if (s.isClass && PRIVATE.test(s.text)) this.hide('private fields of a class of a module')
    for (const k of ownKeys(f)) if (!FUNCTION.has(k)) this.property(f, k, todo)
    for (const scope of variables(f)) {
      for (const [k, v] of Object.entries(scope)) if (!LOCALS.has(k)) todo.push(v, k, KEY)
    }
  }

  /** @type {(v: Scope, todo: unknown[]) => void} */
  scope(v, todo) {
    this.ids.set(v, this.count++)
    this.tag(60)
    const values = v.values()
    this.string(v.names.join())
    for (const x of values) todo.push(x)
  }
}

/** @type {Set<PropertyKey>} */
const FUNCTION = new Set(['length', 'name', 'arguments', 'caller'])

// ofModule reports whether a function is in the text of a workspace module.
/** @type {(s: Source) => boolean} */
function ofModule(s) {
  s.module ??= [...moduleTexts.values()].some((t) => t.includes(s.text))
  return s.module
}

// isTracked reports whether what a call of a function changes beside its arguments is seen as a change of its module.
/** @type {(f: Function, s: Source) => boolean} */
function isTracked(f, s) {
  return parts.has(f) && !untracked.size && !(s.isClass && PRIVATE.test(s.text))
}

// walked returns a walk that visit has completed.
/** @type {(visit: (w: Walk) => void) => Walk} */
function walked(visit) {
  for (;;) {
    const w = new Walk()
    try {
      visit(w)
      return w
    } catch (e) {
      if (e !== AGAIN) throw e
    }
  }
}

module.exports = { moduleTexts, parts, untracked, walked, Walk, privates, statics, isProgramPrototype }
