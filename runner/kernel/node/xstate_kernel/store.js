'use strict'
// Bytes of a group of values, and the values again, in another process as well: with their sharing, prototypes,
// functions, private fields and what functions capture. Each object is a record; a record names others by number.

const v8 = require('v8')
const vm = require('vm')
const { types } = require('util')
const { nameOf, named, symbols } = require('./intrinsics')
const intrinsics = require('./intrinsics')
const { known, declared, privates, statics, sourceOf } = require('./walk')
const closures = require('./closures')

const { getOwnPropertyDescriptor: property, ownKeys, getPrototypeOf: prototype, defineProperty: define } = Reflect
const URL_ = require('url').URL
const wellKnown = new Map([...symbols].map(([s, n]) => [n, s]))

class Unstorable extends Error {}

// Need says that a definition must be bound before.
class Need extends Error {
  constructor(name, digest) {
    super(name)
    this.need = [name, digest]
  }
}

// Namespace says that a module of Node must be imported before.
class Namespace extends Error {
  constructor(id) {
    super(id)
    this.id = id
  }
}

class Dump {
  constructor(names, groups, list) {
    this.names = names
    this.groups = groups
    this.list = new Set(list)
    this.needs = new Map()
    this.ids = new Map()
    this.records = []
    this.todo = []
  }

  ref(v) {
    switch (typeof v) {
      case 'object': if (v === null) return null; break
      case 'function': break
      case 'symbol': {
        const k = Symbol.keyFor(v)
        if (k !== undefined) return { y: k }
        if (symbols.has(v)) return { w: symbols.get(v) }
        break
      }
      case 'undefined': return { u: 1 }
      case 'string': return v.length > 1 << 28 ? unstorable('a string that is too long') : v
      default: return v
    }
    if (v === closures.UNSET) return { t: 1 }
    const b = nameOf.get(v)
    if (b !== undefined) {
      if (/^npm:|^esm:(?!node:[\w/]+$)/.test(b)) throw new Unstorable('a part of a package, or of a namespace')
      return { b }
    }
    let id = this.ids.get(v)
    if (id === undefined) {
      id = this.records.length
      this.ids.set(v, id)
      const r = {}
      this.records.push(r)
      this.todo.push(v, r)
    }
    return { r: id }
  }

  drain() {
    for (let i = 0; i < this.todo.length; i += 2) this.fill(this.todo[i], this.todo[i + 1])
    this.todo = []
  }

  fill(v, r) {
    if (typeof v === 'symbol') {
      r.k = 'symbol'
      r.d = v.description
      return
    }
    if (v instanceof closures.Scope) {
      r.k = 'scope'
      r.id = v.id
      r.names = v.names
      r.values = v.values().map((x) => this.ref(x))
      return
    }
    if (types.isProxy(v)) throw new Unstorable('a Proxy')
    if (typeof v === 'function') this.function(v, r)
    else this.inside(v, r)
    r.p = this.ref(prototype(v))
    if (!Reflect.isExtensible(v)) r.x = 1
    r.o = this.properties(v, r)
    for (let q = prototype(v); q !== null && q !== Object.prototype; q = prototype(q)) {
      const how = privates.get(q)
      if (!how?.has(v)) continue
      if (!r.h && !bare(q.constructor)) throw new Unstorable('private fields of a class that a function made')
      r.h ??= []
      r.h.push([this.ref(q), how.get(v).map((x) => this.ref(x))])
    }
  }

  properties(v, r) {
    const out = []
    const skip = r.skip
    delete r.skip
    for (const k of ownKeys(v)) {
      if (skip?.(k)) continue
      const d = property(v, k)
      const flags = (d.enumerable ? 1 : 0) | (d.configurable ? 2 : 0) | (d.writable ? 4 : 0)
      const key = typeof k === 'symbol' ? this.ref(k) : k
      if ('value' in d) out.push(key, flags, this.ref(d.value))
      else out.push(key, flags | 8, [this.ref(d.get), this.ref(d.set)])
    }
    return out
  }

  inside(v, r) {
    if (Array.isArray(v)) {
      r.k = 'array'
      r.n = v.length
      r.lw = property(v, 'length').writable
      r.e = []
      let plain = true
      for (let i = 0; i < v.length && plain; i++) {
        const d = property(v, i)
        plain = d !== undefined && d.writable === true && d.enumerable && d.configurable
      }
      if (plain) {
        for (let i = 0; i < v.length; i++) r.e.push(this.ref(v[i]))
        r.skip = (k) => k === 'length' || typeof k === 'string' && /^\d+$/.test(k)
      } else r.skip = (k) => k === 'length'
    } else if (types.isMap(v)) {
      r.k = 'map'
      r.e = [...Map.prototype.entries.call(v)].flatMap(([a, b]) => [this.ref(a), this.ref(b)])
    } else if (types.isSet(v)) {
      r.k = 'set'
      r.e = [...Set.prototype.values.call(v)].map((a) => this.ref(a))
    } else if (types.isDate(v)) {
      r.k = 'date'
      r.v = Date.prototype.getTime.call(v)
    } else if (types.isRegExp(v)) {
      r.k = 'regexp'
      r.v = [v.source, v.flags, this.ref(v.lastIndex)]
      r.skip = (k) => k === 'lastIndex'
    } else if (types.isSharedArrayBuffer(v)) throw new Unstorable('memory that workers share')
    else if (types.isArrayBuffer(v)) {
      r.k = 'buffer'
      r.v = Buffer.from(new Uint8Array(v))
      r.m = v.resizable ? v.maxByteLength : -1
    } else if (ArrayBuffer.isView(v)) {
      r.k = 'view'
      r.c = Object.getOwnPropertyDescriptor(prototype(Uint8Array.prototype), Symbol.toStringTag).get.call(v) ?? 'DataView'
      Object.assign(r, { b: this.ref(v.buffer), at: v.byteOffset, n: v.length ?? v.byteLength })
      r.skip = (k) => typeof k === 'string' && /^\d+$/.test(k)
    } else if (types.isNativeError(v)) {
      r.k = 'error'
      r.s = typeof v.stack === 'string' ? v.stack : ''
      r.skip = (k) => k === 'stack'
    } else if (types.isBoxedPrimitive(v)) {
      r.k = 'boxed'
      r.v = this.ref(types.isSymbolObject(v) ? Symbol.prototype.valueOf.call(v) : v.valueOf())
      if (types.isStringObject(v)) r.skip = (k) => k === 'length' || typeof k === 'string' && /^\d+$/.test(k)
    } else if (types.isArgumentsObject(v) || types.isPromise(v) || types.isWeakMap(v) || types.isWeakSet(v) ||
      types.isGeneratorObject(v) || types.isExternal(v) || types.isModuleNamespaceObject(v) || v instanceof WeakRef ||
      types.isMapIterator(v) || types.isSetIterator(v)) {
      throw new Unstorable(`an object of kind ${Object.prototype.toString.call(v).slice(8, -1)}`)
    } else if (prototype(v) === URL_.prototype) {
      r.k = 'url'
      r.v = v.href
    } else r.k = 'object'
  }

  function(f, r) {
    const s = sourceOf(f)
    if (!s.own) throw new Unstorable('a function of a module')
    if (s.captures.includes('!')) throw new Unstorable('a function that captures what cannot be read')
    r.k = s.isClass ? 'class' : 'function'
    r.t = s.text
    if (declared.has(f)) r.decl = declared.get(f)
    r.strict = isStrict(f, s)
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
    r.skip = (k) => k === 'length' || k === 'arguments' || k === 'caller'
  }
}

// bare reports whether a class and those it extends can be constructed without code of the program.
function bare(c) {
  for (; c !== null && c !== Function.prototype; c = prototype(c)) {
    if (nameOf.has(c)) return true
    if (typeof c !== 'function' || !sourceOf(c).own || !sourceOf(c).isClass) return false
  }
  return true
}

function unstorable(why) { throw new Unstorable(why) }

// isStrict reports whether a function was in strict code: only sloppy ones have these properties, or no prototype.
function isStrict(f, s) {
  if (s.isClass || /^\s*(async\b|\(|[\w$]+\s*=>|function\s*\*|async\s+function)/.test(s.text)) return strictly.get(f) ?? !s.sloppy
  return property(f, 'caller') === undefined
}
const strictly = new WeakMap()

function dump(list, names, groups) {
  if (list.every((n) => groups.prints.get(n)?.simple)) return { data: v8.serialize(simple(list, names)), needs: [] }
  const d = new Dump(names, groups, list)
  const roots = list.map((n) => d.ref(names.table.get(n)))
  d.drain()
  const constants = list.map((n) => names.constants.has(n))
  return { data: v8.serialize({ roots, constants, records: d.records, list }), needs: [...d.needs] }
}

// simple is what is stored of values that V8's format keeps as they are, much faster than by records.
function simple(list, names) {
  return { simple: list.map((n) => names.table.get(n)), constants: list.map((n) => names.constants.has(n)) }
}

class Load {
  constructor(stored, names, groups) {
    Object.assign(this, stored)
    this.made = new Array(this.records.length)
    this.state = new Uint8Array(this.records.length) // 1: made, 2: filled
    this.names = names
    this.groups = groups
    this.fills = []
  }

  value(x) {
    if (x === null || typeof x !== 'object') return x
    if ('u' in x) return undefined
    if ('y' in x) return Symbol.for(x.y)
    if ('w' in x) return wellKnown.get(x.w)
    if ('t' in x) return closures.UNSET
    if ('b' in x) {
      if (!named.has(x.b)) intrinsics.late()
      if (!named.has(x.b) && x.b.startsWith('esm:node:')) throw new Namespace(x.b.slice(4))
      if (!named.has(x.b) && x.b.startsWith('node:')) {
        const id = x.b.split('.')[0]
        intrinsics.name(id, require(id))
      }
      if (!named.has(x.b)) throw new Error(`there is no ${x.b}`)
      return named.get(x.b)
    }
    return this.object(x.r)
  }

  object(id) {
    if (this.state[id] === 0) {
      this.state[id] = 1
      this.make(id, this.records[id])
      this.fills.push(id)
    }
    return this.made[id]
  }

  make(id, r) {
    const set = (v) => { this.made[id] = v }
    if (r.k === 'object' && this.maker(id, r)) return
    if (r.h) {
      set(this.instance(r))
      return
    }
    switch (r.k) {
      case 'symbol': set(Symbol(r.d)); break
      case 'scope': this.scopes(id); break
      case 'array': set(new Array(r.n)); break
      case 'map': set(new Map()); break
      case 'set': set(new Set()); break
      case 'date': set(new Date(r.v)); break
      case 'url': set(new URL_(r.v)); break
      case 'regexp': set(new RegExp(r.v[0], r.v[1])); break
      case 'buffer': {
        const b = r.m >= 0 ? new ArrayBuffer(r.v.length, { maxByteLength: r.m }) : new ArrayBuffer(r.v.length)
        new Uint8Array(b).set(r.v)
        set(b)
        break
      }
      case 'view': set(new globalThis[r.c](this.value(r.b), r.at, r.n)); break
      case 'error': set(new Error()); break
      case 'boxed': set(Object(this.value(r.v))); break
      case 'function': case 'class': this.code(id, r); break
      default: set(r.p === null ? Object.create(null) : {})
    }
  }

  // instance makes an object with private fields, which only its class can give it. While __xs_bare is set, constructors
  // and initializers of fields run no other code of the program, see transform.go.
  instance(r) {
    if (!r.h) return undefined
    const c = this.value(r.h[0][0]).constructor
    globalThis.__xs_bare = true
    try {
      return Reflect.construct(c, [])
    } finally {
      globalThis.__xs_bare = false
    }
  }

  // code makes a function or class that captures nothing, or all functions of its scopes.
  code(id, r) {
    const kept = r.bound ? this.groups.same(r.bound[1]) : r.self ? this.groups.same(r.self) : undefined
    if (kept !== undefined) {
      this.same(id, kept)
      return
    }
    if (r.bound) throw new Need(...r.bound)
    if (r.scopes?.length) {
      for (const s of r.scopes) this.object(s.r)
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
  took(id, f) {
    this.made[id] = f
    const r = this.records[id]
    if (r.decl) declared.set(f, r.decl)
    if (r.base !== undefined) known(f, r.t)
    const at = r.o.indexOf('prototype')
    const ref = at < 0 ? undefined : r.o[at + 2]
    const own = property(f, 'prototype')?.value
    if (ref !== null && typeof ref === 'object' && 'r' in ref && own !== undefined && this.state[ref.r] !== 2) {
      const first = this.made[ref.r] === undefined
      if (!first) return
      this.adopt(ref.r, own)
      if (r.k === 'class') this.members(this.records[ref.r], own)
    }
    if (r.k === 'class') this.members(r, f)
  }

  // same takes a function that is there, with all that it is made of.
  same(id, v) {
    if (this.state[id] === 2) return
    this.made[id] = v
    this.state[id] = 2
    const r = this.records[id]
    for (let i = 0; i < r.o.length; i += 3) {
      const k = typeof r.o[i] === 'string' ? r.o[i] : this.value(r.o[i])
      const d = property(v, k)
      if (d === undefined) continue
      const refs = r.o[i + 1] & 8 ? r.o[i + 2] : [r.o[i + 2]]
      const made = r.o[i + 1] & 8 ? [d.get, d.set] : [d.value]
      for (const [j, ref] of refs.entries()) if (ref?.r !== undefined && made[j] !== undefined) this.same(ref.r, made[j])
    }
    if (r.p?.r !== undefined) this.same(r.p.r, prototype(v))
  }

  adopt(id, v) {
    this.made[id] = v
    if (this.state[id] === 0) this.fills.push(id)
    this.state[id] = 1
  }

  // members takes the methods that a class has made.
  members(r, o) {
    for (let i = 0; i < r.o.length; i += 3) {
      const k = typeof r.o[i] === 'string' ? r.o[i] : r.o[i]?.w !== undefined ? wellKnown.get(r.o[i].w) : undefined
      const d = k === undefined ? undefined : property(o, k)
      if (d === undefined) continue
      const refs = r.o[i + 1] & 8 ? r.o[i + 2] : [r.o[i + 2]]
      const made = r.o[i + 1] & 8 ? [d.get, d.set] : [d.value]
      for (const [j, ref] of refs.entries()) {
        const id = ref?.r
        if (id === undefined || this.made[id] !== undefined || this.records[id].k !== 'function') continue
        if (typeof made[j] === 'function' && sourceOf(made[j]).text === this.records[id].t) this.adopt(id, made[j])
      }
    }
  }

  // owner makes the class that a method belongs to.
  owner(id) {
    const names = (o) => o.some((x, i) => i % 3 === 2 && (x?.r === id || Array.isArray(x) && x.some((y) => y?.r === id)))
    for (const [i, r] of this.records.entries()) {
      if (r.k === 'class' && names(r.o)) return this.object(i)
      if (r.k === 'object' && r.o.includes('constructor') && names(r.o)) this.object(i)
      if (this.made[id] !== undefined) return
    }
  }

  // maker makes the function that an object is the prototype of.
  maker(id, r) {
    const at = r.o.indexOf('constructor')
    const ref = at < 0 ? undefined : r.o[at + 2]
    if (ref === null || typeof ref !== 'object' || !('r' in ref)) return false
    const f = this.records[ref.r]
    const back = (f.k === 'class' || f.k === 'function') && f.o.indexOf('prototype')
    if (back === false || back < 0 || f.o[back + 2]?.r !== id) return false
    this.object(ref.r)
    return this.made[id] !== undefined
  }

  // scopes makes all scopes that one belongs to, with their functions, by one text.
  scopes() {
    if (this.scoped) return
    this.scoped = true
    const parent = new Map()
    const inner = new Map() // scope, or -1 → functions
    for (const [id, r] of this.records.entries()) {
      if (!r.scopes?.length) continue
      const list = r.scopes.map((s) => s.r)
      for (let i = 0; i < list.length; i++) parent.set(list[i], list[i + 1] ?? -1)
      if (!inner.has(list[0])) inner.set(list[0], [])
      inner.get(list[0]).push(id)
    }
    const text = (id) => {
      const r = this.records[id]
      const own = r.names.filter((n) => n !== 'this')
      const cases = r.names.map((n, i) => `case ${i}:return ${n === 'this' ? 'this' : `w?${n}=v:${n}`};`).join('')
      let t = `(function(){let ${own.length ? own.join() : '__xs_none'};const __xs${r.id}=(k,v,w)=>{switch(k){${cases}` +
        `default:return[${JSON.stringify(r.names.join())},__xs${r.id}]}};__xs_made(${id},__xs${r.id});`
      for (const f of inner.get(id) ?? []) t += `__xs_made(${f},${expression(this.records[f])});`
      for (const [child, p] of parent) if (p === id) t += text(child)
      return t + `}).call(__xs_this(${id}));`
    }
    const scopes = new Map()
    const receiver = (id) => {
      const r = this.records[id]
      const i = r.names.indexOf('this')
      return i < 0 ? undefined : this.value(r.values[i])
    }
    const strict = [...this.records.values()].some((r) => r.scopes?.length && r.strict)
    let all = strict ? '"use strict";' : ''
    for (const [id, p] of parent) if (p === -1) all += text(id)
    const run = vm.compileFunction(all, ['__xs_made', '__xs_this'])
    run((id, v) => {
      if (this.records[id].k === 'scope') {
        v = closures.scopeOf(this.records[id].id, v)
        scopes.set(id, v)
      }
      if (this.state[id] === 0) {
        this.state[id] = 1
        this.fills.push(id)
      }
      if (typeof v === 'function') this.took(id, v)
      else this.made[id] = v
    }, receiver)
    for (const [id, r] of this.records.entries()) {
      if (r.scopes?.length) closures.made(this.made[id], r.scopes.map((s) => this.made[s.r]))
    }
  }

  run() {
    const values = this.roots.map((x) => this.value(x))
    while (this.fills.length) this.fill(this.fills.pop())
    for (const f of this.last ?? []) f()
    return { values, constants: this.constants }
  }

  fill(id) {
    if (this.state[id] === 2) return
    const r = this.records[id]
    const v = this.made[id]
    const later = (f) => (this.last ??= []).push(f)
    switch (r.k) {
      case 'symbol': return
      case 'scope': {
        const values = r.values.map((x) => this.value(x))
        v.set(values)
        return
      }
      case 'array':
        for (let i = 0; i < r.e.length; i++) v[i] = this.value(r.e[i])
        if (r.lw === false) later(() => define(v, 'length', { writable: false }))
        break
      case 'map': for (let i = 0; i < r.e.length; i += 2) v.set(this.value(r.e[i]), this.value(r.e[i + 1])); break
      case 'set': for (const x of r.e) v.add(this.value(x)); break
      case 'regexp': v.lastIndex = this.value(r.v[2]); break
      case 'error': define(v, 'stack', { value: r.s, writable: true, enumerable: false, configurable: true }); break
    }
    const p = this.value(r.p)
    if (prototype(v) !== p) Reflect.setPrototypeOf(v, p)
    const want = new Set()
    for (let i = 0; i < r.o.length; i += 3) want.add(typeof r.o[i] === 'string' ? r.o[i] : this.value(r.o[i]))
    for (const k of ownKeys(v)) {
      if (want.has(k) || r.k === 'array' || r.k === 'view' || r.k === 'boxed') continue
      if (k === 'stack' && r.k === 'error' || k === 'length' && typeof v === 'function') continue
      Reflect.deleteProperty(v, k)
    }
    for (let i = 0; i < r.o.length; i += 3) {
      const k = typeof r.o[i] === 'string' ? r.o[i] : this.value(r.o[i])
      const flags = r.o[i + 1]
      const d = { enumerable: Boolean(flags & 1), configurable: Boolean(flags & 2) }
      if (flags & 8) {
        d.get = this.value(r.o[i + 2][0])
        d.set = this.value(r.o[i + 2][1])
      } else {
        d.value = this.value(r.o[i + 2])
        d.writable = Boolean(flags & 4)
      }
      if (!define(v, k, d)) {
        const now = property(v, k)
        if (now === undefined || !Object.is(now.value, d.value)) {
          if (!Reflect.set(v, k, d.value)) throw new Error(`the property ${String(k)} cannot be set`)
        }
      }
    }
    if (r.h) {
      for (const [q, values] of r.h) {
        const how = privates.get(this.value(q))
        if (!how?.has(v)) throw new Error('private fields cannot be set')
        const all = values.map((x) => this.value(x))
        later(() => how.set(v, all))
      }
    }
    if (r.statics) {
      const all = r.statics.map((x) => this.value(x))
      later(() => statics.get(v).set(all))
    }
    if (r.x) later(() => Reflect.preventExtensions(v))
  }
}

// expression returns the text of a function as an expression.
function expression(r) {
  if (r.k === 'class') return `(${r.t})`
  try {
    new vm.Script(`(${r.t})`)
    return `(${r.t})`
  } catch {
    return `__xs_member({${r.t}})`
  }
}

function evaluate(r, base) {
  const strict = r.strict ? '"use strict";' : ''
  if (base !== undefined) {
    const t = r.t.replace(/^(class\s*[\w$]*\s*extends)\b[^{]*\{/, '$1 __xs_base{')
    return vm.compileFunction(`${strict}return ${t}`, ['__xs_base'])(base)
  }
  return new vm.Script(`${strict}${expression(r)}`).runInThisContext()
}

function load(data, names, groups) {
  const stored = v8.deserialize(data)
  return stored.simple ? { values: stored.simple, constants: stored.constants } : new Load(stored, names, groups).run()
}

globalThis.__xs_member = (o) => {
  const d = property(o, ownKeys(o)[0])
  return d.value ?? d.get ?? d.set
}
Object.defineProperty(globalThis, '__xs_member', { enumerable: false })
Object.defineProperty(globalThis, '__xs_bare',
  { value: false, writable: true, configurable: true, enumerable: false })

module.exports = { dump, load, Namespace, Need }
