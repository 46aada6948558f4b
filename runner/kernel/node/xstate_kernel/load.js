'use strict'
// Makes a group of values again from its bytes, in another process as well. dump.js made the bytes.

/** @import {Code, ObjectRecord, Outside, Pointer, Reference} from './records' */
/** @import {ScopeRecord, Simple, Stored, StoredRecord} from './records' */
/** @import {Accessor, Scope} from './closures' */
/** @import {Names} from './names' */
/** @import {Groups} from './groups' */

const v8 = require('v8')
const vm = require('vm')
const intrinsics = require('./intrinsics')
const { privates, statics } = require('./privates')
const { known, declared, sourceOf } = require('./sources')
const closures = require('./closures')

const { named } = intrinsics
const { getOwnPropertyDescriptor: property, ownKeys, getPrototypeOf: prototype, defineProperty: define } = Reflect
const URL_ = require('url').URL
const wellKnown = new Map([...intrinsics.symbols].map(([s, n]) => [n, s]))

// Need says that a definition must be bound before.
class Need extends Error {
  /** @param {string} name @param {string} digest */
  constructor(name, digest) {
    super(name)
    this.need = [name, digest]
  }
}

// Namespace says that a module of Node must be imported before.
class Namespace extends Error {
  /** @param {string} id */
  constructor(id) {
    super(id)
    this.id = id
  }
}

// recordOf returns the number of the record that a reference names; undefined: it names none.
/** @type {(x: Reference | Reference[] | undefined) => number | undefined} */
function recordOf(x) {
  return typeof x === 'object' && x !== null && !Array.isArray(x) ? x.r : undefined
}

class Load {
  /** @param {Stored} stored @param {Groups} groups */
  constructor(stored, groups) {
    this.roots = stored.roots
    this.constants = stored.constants
    this.records = stored.records
    /** @type {unknown[]} */
    this.made = new Array(this.records.length)
    this.state = new Uint8Array(this.records.length) // 1: made, 2: filled
    this.groups = groups
    /** @type {number[]} */
    this.fills = [] // records that are made and not filled
    /** @type {(() => void)[]} */
    this.last = [] // what to do when all are filled
    this.scoped = false // the scopes are made
  }

  /** @type {(x: Reference | undefined) => unknown} */
  value(x) {
    if (x === null || typeof x !== 'object') return x
    if (x.u !== undefined) return undefined
    if (x.y !== undefined) return Symbol.for(x.y)
    if (x.w !== undefined) return wellKnown.get(x.w)
    if (x.t !== undefined) return closures.UNSET
    if (x.b !== undefined) return this.builtin(x.b)
    return this.object(/** @type {number} */ (x.r))
  }

  // builtin returns an object that every program has.
  /** @type {(name: string) => object | undefined} */
  builtin(name) {
    if (!named.has(name)) intrinsics.late()
    if (!named.has(name) && name.startsWith('esm:node:')) throw new Namespace(name.slice(4))
    if (!named.has(name) && name.startsWith('node:')) {
      const id = name.split('.')[0]
      intrinsics.name(id, require(id))
    }
    if (!named.has(name)) throw new Error(`there is no ${name}`)
    return named.get(name)
  }

  // key returns the key of a property from its reference.
  /** @type {(x: Outside['o'][number]) => PropertyKey} */
  key(x) {
    return /** @type {PropertyKey} */ (typeof x === 'string' ? x : this.value(/** @type {Pointer} */ (x)))
  }

  /** @type {(id: number) => unknown} */
  object(id) {
    if (this.state[id] === 0) {
      this.state[id] = 1
      this.make(id, this.records[id])
      this.fills.push(id)
    }
    return this.made[id]
  }

  /** @type {(id: number, r: StoredRecord) => void} */
  make(id, r) {
    if (r.k === 'object' && this.maker(id, r)) return
    if (r.k === 'scope') this.scopes()
    else if (r.k === 'symbol') this.made[id] = Symbol(r.d)
    else if (r.h) this.made[id] = this.instance(r.h)
    else if (r.k === 'function' || r.k === 'class') this.code(id, r)
    else this.made[id] = this.empty(r)
  }

  // empty returns an object without its properties, and without what fill puts into it.
  /** @type {(r: ObjectRecord) => object} */
  empty(r) {
    switch (r.k) {
      case 'array': return new Array(r.n)
      case 'map': return new Map()
      case 'set': return new Set()
      case 'date': return new Date(r.v)
      case 'url': return new URL_(r.v)
      case 'regexp': return new RegExp(r.v[0], r.v[1])
      case 'buffer': {
        const n = r.v.length
        const b = r.m !== undefined && r.m >= 0 ? new ArrayBuffer(n, { maxByteLength: r.m }) : new ArrayBuffer(n)
        new Uint8Array(b).set(r.v)
        return b
      }
      case 'view': return new (Reflect.get(globalThis, r.c))(this.value(r.b), r.at, r.n)
      case 'error': return new Error()
      case 'boxed': return Object(this.value(r.v))
      default: return r.p === null ? Object.create(null) : {}
    }
  }

  // instance makes an object with private fields, which only its class can give it. While __xs_bare is set,
  // constructors and initializers of fields run no other code of the program, see transform.go.
  /** @type {(fields: [prototype: Reference, values: Reference[]][]) => unknown} */
  instance(fields) {
    const { constructor } = /** @type {object} */ (this.value(fields[0][0]))
    globalThis.__xs_bare = true
    try {
      return Reflect.construct(constructor, [])
    } finally {
      globalThis.__xs_bare = false
    }
  }

  // code makes a function or class that captures nothing, or all functions of its scopes.
  /** @type {(id: number, r: Code) => void} */
  code(id, r) {
    const kept = r.bound ? this.groups.same(r.bound[1]) : r.self ? this.groups.same(r.self) : undefined
    if (kept !== undefined) {
      this.same(id, kept)
      return
    }
    if (r.bound) throw new Need(...r.bound)
    if (r.scopes?.length) {
      for (const s of r.scopes) this.value(s)
      if (this.made[id] === undefined) throw new Error('a function that captures variables was not made')
      return
    }
    const base = r.base !== undefined ? this.value(r.base) : undefined
    if (this.made[id] !== undefined) return
    if (r.k === 'function' && !/^(async\s+)?(function\b|\(|[\w$]+\s*=>)/.test(r.t)) this.owner(id)
    if (this.made[id] !== undefined) return
    this.took(id, evaluate(r, base))
  }

  // took notes a function that was made, with its prototype.
  /** @type {(id: number, f: Function) => void} */
  took(id, f) {
    this.made[id] = f
    const r = /** @type {Code & Outside} */ (this.records[id])
    if (r.decl) declared.set(f, r.decl)
    if (r.base !== undefined) known(f, r.t)
    const at = r.o.indexOf('prototype')
    const first = at < 0 ? undefined : recordOf(r.o[at + 2])
    const own = property(f, 'prototype')?.value
    if (first !== undefined && own !== undefined && this.state[first] !== 2) {
      if (this.made[first] !== undefined) return
      this.adopt(first, own)
      if (r.k === 'class') this.members(/** @type {ObjectRecord} */ (this.records[first]), own)
    }
    if (r.k === 'class') this.members(r, f)
  }

  // same takes a function that is there, with all that it is made of.
  /** @type {(id: number, v: object) => void} */
  same(id, v) {
    if (this.state[id] === 2) return
    this.made[id] = v
    this.state[id] = 2
    const r = /** @type {ObjectRecord} */ (this.records[id])
    for (let i = 0; i < r.o.length; i += 3) {
      const d = property(v, this.key(r.o[i]))
      if (d === undefined) continue
      for (const [ref, made] of partsOf(r.o[i + 2], d)) {
        if (ref !== undefined && made !== undefined) this.same(ref, made)
      }
    }
    const p = recordOf(r.p)
    if (p !== undefined) this.same(p, /** @type {object} */ (prototype(v)))
  }

  /** @type {(id: number, v: object) => void} */
  adopt(id, v) {
    this.made[id] = v
    if (this.state[id] === 0) this.fills.push(id)
    this.state[id] = 1
  }

  // members takes the methods that a class has made.
  /** @type {(r: Outside, o: object) => void} */
  members(r, o) {
    for (let i = 0; i < r.o.length; i += 3) {
      const x = /** @type {string | Pointer} */ (r.o[i])
      const k = typeof x === 'string' ? x : x.w !== undefined ? wellKnown.get(x.w) : undefined
      const d = k === undefined ? undefined : property(o, k)
      if (d === undefined) continue
      for (const [id, made] of partsOf(r.o[i + 2], d)) {
        if (id === undefined || this.made[id] !== undefined) continue
        const member = this.records[id]
        if (member.k !== 'function' || typeof made !== 'function') continue
        if (sourceOf(made).text === member.t) this.adopt(id, made)
      }
    }
  }

  // owner makes the class that a method belongs to.
  /** @type {(id: number) => void} */
  owner(id) {
    /** @type {(o: Outside['o']) => boolean} */
    const names = (o) => o.some((x, i) => i % 3 === 2 &&
      (Array.isArray(x) ? x.some((y) => recordOf(y) === id) : recordOf(x) === id))
    for (const [i, r] of this.records.entries()) {
      if (r.k === 'class' && names(r.o)) {
        this.object(i)
        return
      }
      if (r.k === 'object' && r.o.includes('constructor') && names(r.o)) this.object(i)
      if (this.made[id] !== undefined) return
    }
  }

  // maker makes the function that an object is the prototype of. It reports whether there is one.
  /** @type {(id: number, r: Outside) => boolean} */
  maker(id, r) {
    const at = r.o.indexOf('constructor')
    const ref = at < 0 ? undefined : recordOf(r.o[at + 2])
    if (ref === undefined) return false
    const f = this.records[ref]
    if (f.k !== 'class' && f.k !== 'function') return false
    const back = f.o.indexOf('prototype')
    if (back < 0 || recordOf(f.o[back + 2]) !== id) return false
    this.object(ref)
    return this.made[id] !== undefined
  }

  // scopes makes all scopes that one belongs to, with their functions, by one text.
  scopes() {
    if (this.scoped) return
    this.scoped = true
    const captured = [...this.records.entries()].flatMap(([id, r]) => {
      const list = r.k === 'function' || r.k === 'class' ? r.scopes ?? [] : []
      return list.length ? [{ id, list: list.map((s) => /** @type {number} */ (recordOf(s))) }] : []
    })
    const strict = captured.some(({ id }) => /** @type {Code} */ (this.records[id]).strict)
    const text = (strict ? '"use strict";' : '') + this.scopesText(captured)
    vm.compileFunction(text, ['__xs_made', '__xs_this'])(/** @type {(id: number, v: unknown) => void} */ ((id, v) => {
      const r = this.records[id]
      if (r.k === 'scope') v = closures.scopeOf(r.id, /** @type {Accessor} */ (v))
      if (this.state[id] === 0) {
        this.state[id] = 1
        this.fills.push(id)
      }
      if (typeof v === 'function') this.took(id, v)
      else this.made[id] = v
    }), /** @type {(id: number) => unknown} */ ((id) => {
      const r = /** @type {ScopeRecord} */ (this.records[id])
      const i = r.names.indexOf('this')
      return i < 0 ? undefined : this.value(r.values[i])
    }))
    for (const { id, list } of captured) {
      closures.made(/** @type {Function} */ (this.made[id]), list.map((s) => /** @type {Scope} */ (this.made[s])))
    }
  }

  // scopesText returns a text that makes scopes, and the functions that capture them. captured: functions, with their
  // scopes, the innermost first.
  /** @type {(captured: { id: number, list: number[] }[]) => string} */
  scopesText(captured) {
    /** @type {Map<number, number>} */
    const parent = new Map() // scope → the scope around it, or -1
    /** @type {Map<number, number[]>} */
    const inner = new Map() // scope → functions
    for (const { id, list } of captured) {
      for (let i = 0; i < list.length; i++) parent.set(list[i], list[i + 1] ?? -1)
      const beside = inner.get(list[0])
      if (beside === undefined) inner.set(list[0], [id])
      else beside.push(id)
    }
    /** @type {(id: number) => string} */
    const text = (id) => {
      const r = /** @type {ScopeRecord} */ (this.records[id])
      const own = r.names.filter((n) => n !== 'this')
      const access = (/** @type {string} */ n) => (n === 'this' ? 'this' : `__xs_w?${n}=__xs_v:${n}`)
      const cases = r.names.map((n, i) => `case ${i}:return ${access(n)};`).join('')
      let t = `(function(){let ${own.length ? own.join() : '__xs_none'};` +
        `const __xs${r.id}=(__xs_k,__xs_v,__xs_w)=>{switch(__xs_k){${cases}` +
        `default:return[${JSON.stringify(r.names.join())},__xs${r.id}]}};__xs_made(${id},__xs${r.id});`
      for (const f of inner.get(id) ?? []) {
        t += `__xs_made(${f},${expression(/** @type {Code} */ (this.records[f]))});`
      }
      for (const [child, p] of parent) if (p === id) t += text(child)
      return t + `}).call(__xs_this(${id}));`
    }
    let all = ''
    for (const [id, p] of parent) if (p === -1) all += text(id)
    return all
  }

  run() {
    const values = this.roots.map((x) => this.value(x))
    for (let id = this.fills.pop(); id !== undefined; id = this.fills.pop()) this.fill(id)
    for (const f of this.last) f()
    return { values, constants: this.constants }
  }

  /** @type {(id: number) => void} */
  fill(id) {
    if (this.state[id] === 2) return
    const r = this.records[id]
    if (r.k === 'symbol') return
    if (r.k === 'scope') {
      /** @type {Scope} */ (this.made[id]).set(r.values.map((x) => this.value(x)))
      return
    }
    const v = /** @type {object} */ (this.made[id])
    this.content(r, v)
    const p = /** @type {object | null} */ (this.value(r.p))
    if (prototype(v) !== p) Reflect.setPrototypeOf(v, p)
    this.properties(r, v)
    this.privates(r, v)
    if (r.x) this.last.push(() => Reflect.preventExtensions(v))
  }

  // content gives an object what it holds beside its properties.
  /** @type {(r: ObjectRecord, v: any) => void} v is of the kind that r says */
  content(r, v) {
    switch (r.k) {
      case 'array':
        for (let i = 0; i < r.e.length; i++) v[i] = this.value(r.e[i])
        if (r.lw === false) this.last.push(() => define(v, 'length', { writable: false }))
        break
      case 'map': for (let i = 0; i < r.e.length; i += 2) v.set(this.value(r.e[i]), this.value(r.e[i + 1])); break
      case 'set': for (const x of r.e) v.add(this.value(x)); break
      case 'regexp': v.lastIndex = this.value(r.v[2]); break
      case 'error': define(v, 'stack', { value: r.s, writable: true, enumerable: false, configurable: true }); break
    }
  }

  // properties gives an object its properties, and takes those that it was made with and did not have.
  /** @type {(r: ObjectRecord, v: object) => void} */
  properties(r, v) {
    /** @type {Set<PropertyKey>} */
    const want = new Set()
    for (let i = 0; i < r.o.length; i += 3) want.add(this.key(r.o[i]))
    for (const k of ownKeys(v)) {
      if (want.has(k) || r.k === 'array' || r.k === 'view' || r.k === 'boxed') continue
      if (k === 'stack' && r.k === 'error' || k === 'length' && typeof v === 'function') continue
      Reflect.deleteProperty(v, k)
    }
    for (let i = 0; i < r.o.length; i += 3) {
      const k = this.key(r.o[i])
      const d = this.descriptor(/** @type {number} */ (r.o[i + 1]), r.o[i + 2])
      if (define(v, k, d)) continue
      const now = property(v, k)
      if (now !== undefined && Object.is(now.value, d.value)) continue
      if (!Reflect.set(v, k, d.value)) throw new Error(`the property ${String(k)} cannot be set`)
    }
  }

  // descriptor returns the descriptor of a property.
  /** @type {(flags: number, x: Outside['o'][number]) => PropertyDescriptor} */
  descriptor(flags, x) {
    /** @type {PropertyDescriptor} */
    const d = { enumerable: Boolean(flags & 1), configurable: Boolean(flags & 2) }
    if (Array.isArray(x)) {
      d.get = /** @type {() => unknown} */ (this.value(x[0]))
      d.set = /** @type {(v: unknown) => void} */ (this.value(x[1]))
    } else {
      d.value = this.value(x)
      d.writable = Boolean(flags & 4)
    }
    return d
  }

  // privates sets private fields, of an object and of a class itself, when all objects are filled.
  /** @type {(r: ObjectRecord, v: object) => void} */
  privates(r, v) {
    for (const [q, values] of r.h ?? []) {
      const how = privates.get(/** @type {object} */ (this.value(q)))
      if (!how?.has(v)) throw new Error('private fields cannot be set')
      const all = values.map((x) => this.value(x))
      this.last.push(() => how.set(v, all))
    }
    if ((r.k === 'class' || r.k === 'function') && r.statics) {
      const all = r.statics.map((x) => this.value(x))
      this.last.push(() => statics.get(/** @type {Function} */ (v))?.set(all))
    }
  }
}

// partsOf returns the records that a stored property names, each with what it is in a property that was made.
/** @type {(x: Outside['o'][number], d: PropertyDescriptor) => [id: number | undefined, made: any][]} */
function partsOf(x, d) {
  return Array.isArray(x) ? [[recordOf(x[0]), d.get], [recordOf(x[1]), d.set]] : [[recordOf(x), d.value]]
}

// expression returns the text of a function as an expression.
/** @type {(r: Code) => string} */
function expression(r) {
  if (r.k === 'class') return `(${r.t})`
  try {
    new vm.Script(`(${r.t})`)
    return `(${r.t})`
  } catch {
    return `__xs_member({${r.t}})`
  }
}

/** @type {(r: Code, base: unknown) => Function} */
function evaluate(r, base) {
  const strict = r.strict ? '"use strict";' : ''
  if (base !== undefined) {
    const t = r.t.replace(/^(class\s*[\w$]*\s*extends)\b[^{]*\{/, '$1 __xs_base{')
    return vm.compileFunction(`${strict}return ${t}`, ['__xs_base'])(base)
  }
  return new vm.Script(`${strict}${expression(r)}`).runInThisContext()
}

// load returns the values of a group, and which of their names are constants. Of a foreign group it makes only plain
// objects, arrays and primitives: the records of others hold texts that are evaluated, and names of functions.
/** @type {(data: Buffer, groups: Groups, foreign?: boolean) => { values: unknown[], constants: boolean[] }} */
function load(data, groups, foreign) {
  /** @type {Stored | Simple} */
  const stored = v8.deserialize(data)
  if (foreign && !('simple' in stored && Array.isArray(stored.simple) && Array.isArray(stored.constants))) {
    throw new Error('a value of a foreign store that is more than data')
  }
  return 'simple' in stored ? { values: stored.simple, constants: stored.constants } : new Load(stored, groups).run()
}

// member returns the function of an object with one.
/** @type {(o: object) => unknown} */
const member = (o) => {
  const d = property(o, ownKeys(o)[0])
  return d?.value ?? d?.get ?? d?.set
}

for (const [k, value] of Object.entries({ __xs_member: member, __xs_bare: false })) {
  Object.defineProperty(globalThis, k, { value, writable: true, configurable: true, enumerable: false })
}

module.exports = { load, Namespace, Need }
