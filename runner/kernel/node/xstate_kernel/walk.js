'use strict'
// Digests of values: two values have one digest only if no program distinguishes them. A walk notes as well which
// mutable objects a value reaches, by which its name may share them with others.

/** @import {Identity, Places} from './identities' */
/** @import {Shape} from './shapes' */
/** @import {Source} from './sources' */

const { types, inspect } = require('util')
const descriptors = require('./descriptors').open
const identities = require('./identities')
const intrinsics = require('./intrinsics')
const { captured, variables, inside, Scope, UNSET } = require('./closures')
const { fast, Levels, Slow, HOLE } = require('./fast')
const { privates, statics } = require('./privates')
const { sourceOf, namesOf } = require('./sources')
const { Stream } = require('./stream')
const { writeInside, lengthOf, PRIVATE } = require('./insides')
const { nameOf, symbols, isOfFiles, packageOf } = intrinsics

const { getOwnPropertyDescriptor: property, ownKeys, getPrototypeOf: prototype, isExtensible } = Reflect
// owned is property for a key that is known to be there.
const owned = /** @type {(o: object, k: PropertyKey) => PropertyDescriptor} */ (property)
const { columns } = identities
const OBJECT = Object.prototype
const ARRAY = Array.prototype
const AGAIN = { again: true } // thrown by a walk that named more intrinsics: it begins anew
const KEY = { key: true }
const ACCESSOR = { accessor: true }
const DEEP = 200 // levels that a walk goes down by recursion

const MANY = 1000 // elements of an array whose keys are listed

// Workspace modules: name → text; text of a function → the modules in whose text it is; object → the modules that
// hold it.
/** @type {Map<string, string>} */
const moduleTexts = new Map()
/** @type {WeakMap<Source, string[]>} */
let homes = new WeakMap()
const parts = new (class Parts {
  constructor() {
    /** @type {WeakMap<object, string[]>} */
    this.files = new WeakMap()
    this.changes = 0
  }

  // of returns the modules that hold an object, sorted; undefined: there is none.
  /** @type {(o: object) => string[] | undefined} */
  of(o) { return this.changes ? this.files.get(o) : undefined }

  /** @type {(o: object, file: string) => void} */
  add(o, file) {
    const had = this.files.get(o) ?? []
    if (had.includes(file)) return
    this.files.set(o, [...had, file].sort())
    this.changes++
  }
})()
const ANY = '?' // the name of a module that is not known
/** @type {Set<string>} */
const untracked = new Set() // workspace modules that hold what cannot be looked into

/** @type {Map<object, string>} */
const NOTHING = new Map()
const LOCALS = new Set(['require', 'module', '__filename', '__dirname'])
const ROOM = 1 << 13 // bytes that a level may have
const SLOW = 2000 // objects of a walk that are noted by the bytes that they wrote
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
  return !(lengthOf(v) > MANY) || !VIEW.test(outline(v))
}

class Walk extends Stream {
  constructor() {
    super()
    this.turn = identities.begin()
    this.count = 0 // objects and symbols that it has met
    this.met = new Int32Array(16) // their places, by number
    /** @type {number[]} */
    this.soft = [] // numbers of functions of the program, and of prototypes of them
    /** @type {Map<string | symbol, number>} */
    this.keys = new Map()
    this.opaque = ''
    this.unsettled = false // a reader of the value may change it without a trace
    /** @type {Set<string>} */
    this.deps = new Set()
    /** @type {Set<string>} */
    this.code = new Set()
    this.module = false // it is, or reaches, a part of a module
    /** @type {Set<string>} */
    this.modules = new Set() // the workspace modules of which it is, or reaches, a part
    /** @type {Set<string>} */
    this.homes = new Set() // the workspace modules whose code it may run
    /** @type {Set<string>} */
    this.sets = new Set() // names by which its functions may set what a package holds
    /** @type {Set<string>} */
    this.packages = new Set() // the packages of which it is, or reaches, a part
    this.named = descriptors.size === 0 ? nameOf.size : -1 - nameOf.size // marks an object that has no name now
    this.inModule = false // variables of functions of workspace modules count
    /** @type {Map<object, string>} */
    this.elsewhere = NOTHING // object → another module, to which it belongs
    this.simple = true // it is made of plain objects, arrays and primitives
    this.read = 0 // objects that the inspector looked into
    /** @type {Shape[]} */
    this.shapes = []
    /** @type {Map<string, Shape[]>} */
    this.byKey = new Map() // the last key of an object → its shapes
    /** @type {Shape | undefined} */
    this.last = undefined // shape of the object that was met last
    /** @type {InstanceType<typeof Levels> | null} */
    this.levels = new Levels(parts.changes) // what it met; null: that is not known
  }

  /** @type {(why: string, unsettled?: boolean) => void} */
  hide(why, unsettled = true) {
    this.opaque = this.opaque || why
    this.unsettled = this.unsettled || unsettled
  }

  // meet gives an object the next number.
  /** @type {(o: Identity, place?: number) => void} */
  meet(o, place = identities.at.get(o) ?? identities.add(o)) {
    const n = this.count++
    columns.turn[place] = this.turn
    columns.number[place] = n
    columns.named[place] = this.named
    if (n === this.met.length) {
      const more = new Int32Array(4 * n + 16)
      more.set(this.met)
      this.met = more
    }
    this.met[n] = place
  }

  // places returns the places of what it has met, by number.
  places() {
    if (this.met.length !== this.count) this.met = this.met.slice(0, this.count)
    return this.met
  }

  /** @type {(root: unknown) => void} */
  value(root) {
    this.one(root, 0)
  }

  // one writes a value, and what it reaches. depth counts the calls that lead here.
  /** @type {(v: unknown, depth: number) => void} */
  one(v, depth) {
    switch (typeof v) {
      case 'string': this.tag(10); this.string(v); return
      case 'number':
        if (descriptors.size !== 0 && descriptors.has(v)) this.descriptor(v)
        if ((v | 0) === v && !(v === 0 && 1 / v < 0)) this.tagged(11, v)
        else this.number(v)
        return
      case 'undefined': this.tag(14); return
      case 'boolean': this.tag(v ? 16 : 17); return
      case 'bigint': this.tag(18); this.string(v.toString(36)); return
      case 'symbol': this.simple = false; this.symbol(v); return
    }
    if (v === null) { this.tag(15); return }
    const o = /** @type {object} */ (v)
    const place = identities.find(o)
    if (this.seen(o, place) || this.belongs(o)) return
    if (depth < DEEP && (this.inModule || parts.of(o) === undefined) && fast(this, o, place, depth)) return
    /** @type {unknown[]} */
    const todo = []
    this.slow(o, todo)
    this.rest(todo, depth)
  }

  // number writes a number that is not an integer of 32 bits.
  /** @type {(v: number) => void} */
  number(v) {
    if (v !== v) { this.tag(12); return }
    this.tag(13)
    this.float(v)
  }

  // seen writes an object that the walk has met before, or that every program has. It reports whether it is one.
  /** @type {(o: object, place: number | undefined) => boolean} */
  seen(o, place) {
    if (place !== undefined) {
      if (columns.turn[place] === this.turn) { this.tagged(3, columns.number[place]); return true }
      if (columns.named[place] === this.named) return false
    }
    const known = nameOf.get(o)
    if (known === undefined || descriptors.size !== 0 && isOfFiles(known)) return false
    const from = packageOf(known)
    if (from !== '') this.packages.add(from)
    this.simple = false
    this.tag(4)
    this.string(known)
    return true
  }

  // belongs writes the name of an object that belongs to another module than the one whose state is walked: what it
  // holds is in the state of that one. It reports whether it is such an object.
  /** @type {(o: object) => boolean} */
  belongs(o) {
    const name = this.elsewhere.get(o)
    if (name === undefined) return false
    this.homes.add(name)
    this.meet(o)
    this.tag(63)
    this.string(name)
    return true
  }

  // rest writes what is left to do, the last first.
  /** @type {(todo: unknown[], depth: number) => void} */
  rest(todo, depth) {
    while (todo.length) {
      const v = todo.pop()
      if (v === KEY) this.key(/** @type {string | symbol} */ (todo.pop()))
      else if (v === HOLE) this.tag(6)
      else if (v === ACCESSOR) this.tag(24)
      else if (v === UNSET) this.tag(25)
      else if (depth < DEEP || !intrinsics.isObject(v)) this.one(v, depth + 1)
      else if (!this.seen(v, identities.at.get(v)) && !this.belongs(v)) this.slow(v, todo)
    }
  }

  // slow writes an object, and pushes what it reaches. It notes both as a level, unless those are many.
  /** @type {(o: object, todo: unknown[]) => void} */
  slow(o, todo) {
    const { levels } = this
    if (levels === null) { this.object(o, todo); return }
    this.room(ROOM)
    const { at, flushed, count } = this
    const from = todo.length
    this.object(o, todo)
    if (this.flushed !== flushed || this.count !== count + 1 || ++levels.slow > SLOW) { this.levels = null; return }
    levels.kinds.push(new Slow(Buffer.from(this.buffer.subarray(at, this.at)), todo.slice(from)))
  }

  // descriptor notes that a number is that of an open file. All that hold it share the file.
  /** @type {(v: number) => void} */
  descriptor(v) {
    const shared = /** @type {object} */ (descriptors.get(v))
    if (!this.hasMet(shared)) this.meet(shared)
    this.levels = null
    this.simple = false
    this.hide('an open file')
  }

  /** @type {(o: Identity) => boolean} */
  hasMet(o) {
    const place = identities.at.get(o)
    return place !== undefined && columns.turn[place] === this.turn
  }

  /** @type {(v: symbol) => void} */
  symbol(v) {
    const shared = Symbol.keyFor(v)
    if (shared !== undefined) { this.tag(19); this.string(shared); return }
    const known = symbols.get(v)
    if (known !== undefined) { this.tag(20); this.string(known); return }
    if (this.hasMet(v)) {
      this.tagged(22, columns.number[/** @type {number} */ (identities.at.get(v))])
      return
    }
    this.meet(v)
    this.levels?.kinds.push(null)
    this.tag(21)
    this.string(v.description === undefined ? '\0none' : v.description)
  }

  // key writes a key, and returns its number.
  /** @type {(k: string | symbol) => number} */
  key(k) {
    const n = this.keys.get(k)
    if (n !== undefined) { this.tagged(2, n); return n }
    const next = this.keys.size
    this.keys.set(k, next)
    this.tag(1)
    if (typeof k === 'symbol') this.symbol(k)
    else this.string(k)
    return next
  }

  // property pushes a property, and writes its attributes if they are unusual.
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
    if (types.isProxy(v)) {
      this.simple = false
      this.meet(v)
      this.tag(99)
      const parts = this.slots(v, '[[Target]]', '[[Handler]]')
      if (parts === undefined) this.hide('a Proxy')
      else todo.push(...parts)
      return
    }
    if (v instanceof Scope) { this.scope(v, todo); return }
    if (typeof v === 'function') { this.simple = false; this.function(v, todo); return }
    const p = prototype(v)
    const holders = parts.of(v)
    if (holders !== undefined) {
      for (const m of holders) this.modules.add(m)
      if (!this.inModule) { // equal to no value outside of the module
        this.module = true
        this.simple = false
        this.tag(62)
        this.string(holders[0])
      }
    }
    if (isProgramPrototype(v)) this.soft.push(this.count)
    this.meet(v)
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

  // listed reports whether an array has keys that are not indices, or elements that are accessors.
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
    const data = new Float64Array(n)
    for (let i = 0; i < n; i++) data[i] = /** @type {number} */ (v[i])
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
    this.soft.push(this.count)
    this.meet(f)
    this.tag(45)
    this.string(s.text)
    for (const n of namesOf(s.text)) this.deps.add(n)
    for (const n of s.sets) this.sets.add(n)
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
    this.meet(f)
    this.module = true
    const native = /\[native code\]\s*\}$/.test(s.text)
    const where = native ? [] : homesOf(s)
    if (!native && !where.length) this.homes.add(ANY)
    for (const m of where) this.homes.add(m)
    for (const m of parts.of(f) ?? []) this.modules.add(m)
    if (this.inModule && this.read < MOST && where.length) { this.moduleFunction(f, s, todo); return }
    this.tag(97)
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
    this.meet(v)
    this.tag(60)
    const values = v.values()
    this.string(v.names.join())
    for (const x of values) todo.push(x)
  }
}

/** @type {Set<PropertyKey>} */
const FUNCTION = new Set(['length', 'name', 'arguments', 'caller'])

// homesOf returns the workspace modules in whose text that of a function is.
/** @type {(s: Source) => string[]} */
function homesOf(s) {
  let found = homes.get(s)
  if (found === undefined) {
    found = [...moduleTexts].filter(([, text]) => text.includes(s.text)).map(([name]) => name)
    homes.set(s, found)
  }
  return found
}

// know notes the text of a workspace module; null: it was unloaded.
/** @type {(name: string, text: string | null) => void} */
function know(name, text) {
  homes = new WeakMap()
  if (text === null) moduleTexts.delete(name)
  else moduleTexts.set(name, text)
}

// isTracked reports whether what a call of a function changes beside its arguments is seen as a change of its module.
/** @type {(f: Function, s: Source) => boolean} */
function isTracked(f, s) {
  return parts.of(f) !== undefined && !untracked.size && !(s.isClass && PRIVATE.test(s.text))
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
    } finally {
      identities.note(w.places())
    }
  }
}

module.exports = { ANY, know, parts, untracked, walked, Walk, isProgramPrototype }
