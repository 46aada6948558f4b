'use strict'
// Digests of values: two values have one digest only if no program tells them apart. A walk notes as well which mutable
// objects a value reaches, by which its name may share them with others.

const { createHash } = require('crypto')
const { types, inspect } = require('util')
const descriptors = require('./descriptors').open
const intrinsics = require('./intrinsics')
const { captured, variables, inside, Scope, UNSET } = require('./closures')
const { nameOf, symbols, isObject } = intrinsics

const { getOwnPropertyDescriptor: property, ownKeys, getPrototypeOf: prototype, isExtensible } = Reflect
const text = Function.prototype.toString
const OBJECT = Object.prototype
const ARRAY = Array.prototype
const MAP = Map.prototype.entries
const SET = Set.prototype.values
const URL_ = require('url').URL
const href = Object.getOwnPropertyDescriptor(URL_.prototype, 'href').get
const AGAIN = { again: true } // thrown by a walk that named more intrinsics: it begins anew
const KEY = { key: true }
const HOLE = { hole: true }
const ACCESSOR = { accessor: true }
const views = Object.getOwnPropertyDescriptor(prototype(Uint8Array.prototype), Symbol.toStringTag).get
const MANY = 1000 // elements of an array whose keys are listed

// The private fields of a class: its prototype → how they are read and set, see transform.go.
const privates = new WeakMap()
const statics = new WeakMap() // class → the same of its static ones

// Workspace modules: file → text; mutable object that one holds → its file.
const moduleTexts = new Map()
const parts = new WeakMap()
const untracked = new Set() // workspace modules that hold what cannot be looked into
const PRIVATE = /#[A-Za-z_$]/
const LOCALS = new Set(['require', 'module', '__filename', '__dirname'])
const MOST = 500 // objects that a walk lets the inspector look into, each some 0.3 ms

const LAST = /\/\*@xs([^*]*)\*\/\}$/ // of a function with a body in braces, and of a class
const FIRST = /\/\*@xe([^*]*)\*\// // of an arrow whose body is an expression

// original returns a text without what the transform has put into it, see transform.go and captures.go.
function original(code) {
  if (!code.includes('@x') && !code.includes('__xs')) return code
  return code
    .replace(/\{const __xs\d+=\(k,v,w\)=>\{switch\(k\)\{.*?,__xs\d+\]\}\};return\(/g, '')
    .replace(/const __xs\d+=\(k,v,w\)=>\{switch\(k\)\{.*?,__xs\d+\]\}\};/g, '')
    .replace(/\/\*@xb\*\/\)(\/\*@xs[^*]*\*\/)?\}/g, (m, mark) => (mark ? '' : m.slice(0, -1) === '/*@xb*/)' ? '' : m))
    .replace(/static\{__xs_private\(this,"[^"]*",o=>.*?v\)=>\{(?:\[[^\]]*\]=v)?\}(?:,"[^"]*",\(\)=>.*?=v\})?\)\}/g, '')
    .replace(/if\(__xs_bare\)(?:return;|\{super\(\);return\})/g, '')
    .replace(/__xs_bare\?void 0:\(/g, '').replace(/\/\*@xb\*\/\)/g, '')
    .replace(/\{return\((?=[^]*$)/g, (m) => m)
    .replace(/\/\*@x[se][^*]*\*\//g, '').replace(/__xs_import/g, 'import').replace(/__xs_meta/g, 'import.meta')
}

const declared = new WeakMap() // function → the declaration that it comes from

// textOf is what a program sees of the text of a function.
function textOf(f) {
  return declared.get(f) ?? original(text.call(f))
}

const sources = new WeakMap() // function → what is known of its text

// sourceOf returns what is known of a function: its text, whether it is the program's, a class, and names in it.
function sourceOf(f) {
  let s = sources.get(f)
  if (s === undefined) {
    s = describe(text.call(f))
    sources.set(f, s)
  }
  return s
}

function describe(code) {
  const mark = LAST.exec(code) ?? (code.endsWith('/}') ? null : FIRST.exec(code))
  return { text: code, own: mark !== null, captures: mark !== null ? mark[1].trim() : '', isClass: /^class\b/.test(code) }
}

const namesIn = new Map() // text → names

const WORDS = new Set(('break case catch class const continue debugger default delete do else export extends finally ' +
  'for function if import in instanceof new return super switch this throw try typeof var void while with yield let ' +
  'static async await of get set null true false undefined arguments').split(' '))

// namesOf returns the names that a text may load: a superset.
function namesOf(code) {
  let found = namesIn.get(code)
  if (found === undefined) {
    found = new Set()
    for (const [, dot, name] of original(code).matchAll(/((?<!\.)\.\s*|#)?([A-Za-z_$\u0080-\uffff][\w$\u0080-\uffff]*)/g)) {
      if (!dot && !WORDS.has(name) && !name.startsWith('__xs_')) found.add(name)
    }
    namesIn.set(code, found)
  }
  return found
}

const isProgramPrototype = (o) => {
  const c = property(o, 'constructor')
  return c !== undefined && typeof c.value === 'function' && !nameOf.has(c.value) &&
    property(c.value, 'prototype')?.value === o
}

class Walk {
  constructor() {
    this.ids = new Map() // mutable object → its number
    this.soft = new Map() // function of the program, or prototype of one → its number
    this.symbols = new Map()
    this.keys = new Map()
    this.opaque = ''
    this.unsettled = false // whoever reads the value may change it without a trace
    this.deps = new Set()
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

  room(n) {
    if (this.at + n > this.buffer.length) {
      this.hash.update(this.buffer.subarray(0, this.at))
      this.size += this.at
      this.at = 0
    }
  }

  tag(t) {
    this.room(1)
    this.buffer[this.at++] = t
  }

  int(x) {
    this.room(4)
    this.buffer.writeInt32LE(x | 0, this.at)
    this.at += 4
  }

  float(x) {
    this.room(8)
    this.buffer.writeDoubleLE(x, this.at)
    this.at += 8
  }

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

  hide(why, unsettled = true) {
    this.opaque = this.opaque || why
    this.unsettled = this.unsettled || unsettled
  }

  value(root) {
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
      if (v === KEY) { this.key(todo.pop()); continue }
      if (v === HOLE) { this.tag(6); continue }
      if (v === ACCESSOR) { this.tag(24); continue }
      if (v === UNSET) { this.tag(25); continue }
      const seen = this.ids.get(v) ?? this.soft.get(v)
      if (seen !== undefined) { this.tag(3); this.int(seen); continue }
      const known = nameOf.get(v)
      if (known !== undefined) { this.simple = false; this.tag(4); this.string(known); continue }
      this.object(v, todo)
    }
  }

  // descriptor notes that a number stands for an open file. All that hold it share the file.
  descriptor(v) {
    const shared = descriptors.get(v)
    if (!this.ids.has(shared)) this.ids.set(shared, this.count++)
    this.simple = false
    this.hide('an open file')
  }

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

  key(k) {
    const n = this.keys.get(k)
    if (n !== undefined) { this.tag(2); this.int(n); return }
    this.keys.set(k, this.keys.size)
    this.tag(1)
    if (typeof k === 'symbol') this.symbol(k)
    else this.string(k)
  }

  // property pushes a property, and writes what its attributes have of their own.
  property(o, k, todo) {
    const p = property(o, k)
    if (p === undefined) return
    const flags = (p.enumerable ? 1 : 0) | (p.configurable ? 2 : 0) | (p.writable ? 4 : 0)
    if ('value' in p) {
      todo.push(p.value, k, KEY)
      if (flags !== 7) todo.push(`\0p${flags}`)
    } else todo.push(p.set, p.get, k, KEY, `\0a${flags}`)
  }

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
      if (!property(v, 'length').writable) this.simple = false
      if (this.array(v, p, todo)) return
      this.simple = false
    } else if (p === OBJECT && this.plain(v, todo)) return
    else {
      this.simple = false
      this.inside(v, p, todo)
    }
    // what an object has beside its inside: prototype, private fields, properties
    if (p === OBJECT) this.tag(32)
    else { todo.push(p); this.hidden(v, p, todo) }
    const keys = ownKeys(v)
    const indexed = Array.isArray(v) || ArrayBuffer.isView(v) && !(v instanceof DataView) ||
      types.isStringObject(v)
    const from = todo.length
    for (const k of keys) {
      if (indexed && (k === 'length' || typeof k === 'string' && /^\d+$/.test(k))) continue
      if (k === 'stack' && types.isNativeError(v)) continue
      if (k === 'lastIndex' && types.isRegExp(v)) continue
      const here = []
      this.property(v, k, here)
      todo.push(here)
    }
    const pushed = todo.splice(from)
    this.int(pushed.length)
    for (let i = pushed.length - 1; i >= 0; i--) todo.push(...pushed[i])
  }

  // plain writes an object that only has data properties.
  plain(v, todo) {
    const keys = ownKeys(v)
    if (types.isDate(v) || types.isMap(v) || types.isSet(v) || types.isRegExp(v) || types.isArgumentsObject(v) ||
      types.isNativeError(v) || types.isPromise(v) || types.isBoxedPrimitive(v) || types.isAnyArrayBuffer(v) ||
      types.isWeakMap(v) || types.isWeakSet(v) || types.isGeneratorObject(v) || types.isExternal(v)) return false
    const from = todo.length
    for (let i = keys.length - 1; i >= 0; i--) {
      const d = property(v, keys[i])
      if (d.writable !== true || !d.enumerable || !d.configurable) { todo.length = from; return false }
      todo.push(d.value, keys[i], KEY)
    }
    this.tag(42)
    this.int(keys.length)
    return true
  }

  array(v, p, todo) {
    const n = v.length
    const keyed = n <= MANY ? ownKeys(v).length !== n + 1 && this.listed(v) :
      inspect(v, { maxArrayLength: 0, depth: 0, customInspect: false, breakLength: Infinity, showHidden: false }) !==
      `[ ... ${n} more items ]`
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
  listed(v) {
    for (const k of ownKeys(v)) {
      if (typeof k === 'symbol' || k !== 'length' && !/^\d+$/.test(k) || !('value' in property(v, k))) return true
    }
    return false
  }

  numbers(v, n) {
    for (let i = 0; i < n; i++) {
      const x = v[i]
      if (typeof x !== 'number' || x !== x) return false
    }
    this.tag(30)
    this.int(n)
    const data = Float64Array.from(v)
    this.bytes(new Uint8Array(data.buffer))
    return true
  }

  // inside writes what an object holds that is no property.
  inside(v, p, todo) {
    if (types.isMap(v)) {
      this.tag(33)
      const all = [...MAP.call(v)]
      this.int(all.length)
      for (let i = all.length - 1; i >= 0; i--) todo.push(all[i][1], all[i][0])
    } else if (types.isSet(v)) {
      this.tag(34)
      const all = [...SET.call(v)]
      this.int(all.length)
      for (let i = all.length - 1; i >= 0; i--) todo.push(all[i])
    } else if (types.isDate(v)) {
      this.tag(35)
      this.float(Date.prototype.getTime.call(v))
    } else if (types.isRegExp(v)) {
      this.tag(36)
      this.string(v.source)
      this.string(v.flags)
      todo.push(v.lastIndex)
    } else if (types.isAnyArrayBuffer(v)) {
      this.tag(types.isSharedArrayBuffer(v) ? 38 : 37)
      this.int(v.byteLength)
      this.int(v.resizable || v.growable ? v.maxByteLength : -1)
      this.bytes(new Uint8Array(v))
    } else if (ArrayBuffer.isView(v)) {
      this.tag(39)
      this.string(views.call(v) ?? 'DataView')
      this.int(v.byteOffset)
      this.int(v.length ?? v.byteLength)
      todo.push(v.buffer)
    } else if (types.isNativeError(v)) {
      this.tag(40)
    } else if (types.isBoxedPrimitive(v)) {
      this.tag(41)
      todo.push(types.isSymbolObject(v) ? Symbol.prototype.valueOf.call(v) : v.valueOf())
    } else if (types.isArgumentsObject(v)) {
      this.tag(43)
    } else if (types.isPromise(v)) {
      this.tag(98)
      const [state, result] = this.slots(v, '[[PromiseState]]', '[[PromiseResult]]') ?? ['pending']
      this.string(state)
      if (state === 'pending') this.hide('a Promise')
      else todo.push(result)
    } else if (types.isWeakMap(v) || types.isWeakSet(v) || v instanceof WeakRef || v instanceof FinalizationRegistry) {
      this.tag(98)
      this.hide('a weak reference or collection')
    } else if (types.isGeneratorObject(v)) {
      this.tag(98)
      this.hide('a generator')
    } else if (types.isMapIterator(v) || types.isSetIterator(v) || (nameOf.get(p) ?? '').startsWith('%Iterator')) {
      this.tag(98)
      this.hide('an iterator')
    } else if (types.isExternal(v)) {
      this.tag(98)
      this.hide('a native object')
    } else if (types.isModuleNamespaceObject(v)) {
      this.tag(98)
      this.hide('a module')
    } else if (p === URL_.prototype) {
      this.tag(47)
      this.string(String(href.call(v)))
    } else {
      this.tag(44)
      for (let q = p; q !== null; q = prototype(q)) {
        const from = nameOf.get(q)
        if (from === undefined || from === 'Object.prototype') continue
        if (/^(node:events|npm:)/.test(from)) {
          const c = property(q, 'constructor')?.value
          if (typeof c !== 'function' || !PRIVATE.test(sourceOf(c).text)) continue
        }
        if (/^(Object|Function|Iterator)\b/.test(from)) continue
        this.hide(`an object of ${from.replace(/\.prototype$/, '')}`)
        break
      }
    }
  }

  // slots returns the values of some internal slots of an object; undefined: it has none, or it cost too much.
  slots(v, ...names) {
    return this.read++ < MOST ? inside(v, ...names) : undefined
  }

  hidden(v, p, todo) {
    for (let q = p; q !== null && q !== OBJECT; q = prototype(q)) {
      const how = privates.get(q)
      if (how !== undefined && how.has(v)) todo.push(...how.get(v), `\0#${how.names}`)
    }
  }

  function(f, todo) {
    const s = sourceOf(f)
    if (!s.own) {
      if (intrinsics.late()) throw AGAIN
      this.ids.set(f, this.count++)
      this.module = true
      if (this.inModule && this.read < MOST && ofModule(s)) { this.moduleFunction(f, s, todo); return }
      this.tag(97)
      const native = /\[native code\]\s*\}$/.test(s.text)
      const bound = native ? this.slots(f, '[[TargetFunction]]', '[[BoundThis]]', '[[BoundArgs]]') : undefined
      if (bound !== undefined) {
        const [target, self, args] = bound
        for (const k of ownKeys(f)) this.property(f, k, todo)
        this.int(args.length)
        todo.push(...args, self, target)
      } else if (native) this.hide('a native function')
      else this.hide('a function of a module', !isTracked(f, s))
      return
    }
    this.soft.set(f, this.count++)
    this.tag(45)
    this.string(s.text)
    for (const n of namesOf(s.text)) this.deps.add(n)
    if (f.name !== '' && s.isClass) this.code.add(f.name)
    const p = prototype(f)
    if (p !== Function.prototype) todo.push(p)
    else this.tag(46)
    if (!isExtensible(f)) this.tag(Object.isFrozen(f) ? 9 : Object.isSealed(f) ? 8 : 7)
    const own = []
    for (const k of ownKeys(f)) {
      if (k === 'length' || k === 'arguments' || k === 'caller') continue
      const d = property(f, k)
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

  scope(v, todo) {
    this.ids.set(v, this.count++)
    this.tag(60)
    const values = v.values()
    this.string(v.names.join())
    for (const x of values) todo.push(x)
  }
}

const FUNCTION = new Set(['length', 'name', 'arguments', 'caller'])

// ofModule reports whether a function is in the text of a workspace module.
function ofModule(s) {
  s.module ??= [...moduleTexts.values()].some((t) => t.includes(s.text))
  return s.module
}

// isTracked reports whether what a call of a function changes beside its arguments is seen as a change of its module.
function isTracked(f, s) {
  return parts.has(f) && !untracked.size && !(s.isClass && PRIVATE.test(s.text))
}

// walked returns a walk that visit has completed.
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

// known gives a function the text that it had before it was stored.
function known(f, code) {
  sources.set(f, describe(code))
}

module.exports = {
  known, moduleTexts, parts, untracked, walked, declared, textOf, Walk, privates, statics, sourceOf, namesOf,
  isProgramPrototype,
}
