'use strict'
// The captures of functions. The transform puts a constant into each scope whose variables a function captures: a
// function that reads and sets them, see captures.go. The inspector of this process finds the constants of a function.

/** @import inspector, { Runtime } from 'inspector' */
// Accessor reads and sets the variables of a scope by their numbers. For -1 it returns their names.
/** @typedef {((i: -1) => [string, unknown]) & ((i: number, v?: unknown, w?: boolean) => unknown)} Accessor */

/** @type {WeakMap<Accessor, Scope>} */
const scopes = new WeakMap() // accessor → Scope
/** @type {WeakMap<Function, Scope[] | null>} */
const chains = new WeakMap() // function → its scopes, the innermost first; null: they cannot be read
const UNSET = { unset: true } // a variable that is not initialized

// Scope is the variables of one execution of a scope.
class Scope {
  /** @param {number} id @param {Accessor} accessor */
  constructor(id, accessor) {
    this.id = id
    this.accessor = accessor
    const [names, consts] = accessor(-1)
    this.names = names.split(',')
    this.consts = consts
  }

  /** @type {() => unknown[]} */
  values() {
    return this.names.map((_, i) => {
      try {
        return this.accessor(i)
      } catch {
        return UNSET
      }
    })
  }

  /** @type {(values: unknown[]) => void} */
  set(values) {
    for (const [i, v] of values.entries()) if (v !== UNSET && this.names[i] !== 'this') this.accessor(i, v, true)
  }
}

/** @type {(id: number, accessor: Accessor) => Scope} */
function scopeOf(id, accessor) {
  let s = scopes.get(accessor)
  if (s === undefined) scopes.set(accessor, s = new Scope(id, accessor))
  return s
}

/** @type {inspector.Session | undefined} */
let session
/** @type {unknown} */
let taken

// post asks the inspector. null: it answers with an error.
/** @type {(method: string, params: object) => object | null | undefined} */
function post(method, params) {
  /** @type {object | null | undefined} */
  let found
  session?.post(method, params, (error, result) => { found = error ? null : result })
  return found
}

// properties returns what the inspector knows of an object.
/** @type {(objectId: string | undefined) => Runtime.GetPropertiesReturnType | null | undefined} */
function properties(objectId) {
  const found = post('Runtime.getProperties', { objectId, ownProperties: true })
  return /** @type {Runtime.GetPropertiesReturnType | null | undefined} */ (found)
}

// take lets the inspector give an object to the driver.
/** @type {(objectId: string) => void} */
function take(objectId) {
  post('Runtime.callFunctionOn', { objectId, functionDeclaration: 'function () { "use strict"; __xs_take(this) }' })
}

// look gives what the inspector knows of the inside of an object to visit: name → value, in the inspector's terms.
/** @type {<T>(o: object, visit: (slots: Map<string, Runtime.RemoteObject | undefined>) => T) => T} */
function look(o, visit) {
  if (session === undefined) {
    session = new (require('inspector').Session)()
    session.connect()
  }
  globalThis.__xs_taken = o
  const root = /** @type {Runtime.EvaluateReturnType | null | undefined} */ (
    post('Runtime.evaluate', { expression: '__xs_taken', objectGroup: 'xs' }))
  const inner = root && properties(root.result.objectId)
  const found = visit(new Map(inner?.internalProperties?.map((p) => [p.name, p.value])))
  post('Runtime.releaseObjectGroup', { objectGroup: 'xs' })
  globalThis.__xs_taken = undefined
  return found
}

// inside returns the values of some internal slots of an object; undefined: it has none of the first name.
/** @type {(o: object, ...names: string[]) => unknown[] | undefined} */
function inside(o, ...names) {
  return look(o, (slots) => slots.has(names[0]) ? names.map((n) => valueOf(slots.get(n))) : undefined)
}

/** @type {(x: Runtime.RemoteObject | undefined) => unknown} */
function valueOf(x) {
  if (x === undefined || x.subtype === 'null') return null
  if (x.objectId) {
    take(x.objectId)
    return taken
  }
  const special = x.unserializableValue
  if (special === undefined) return x.value
  return special.endsWith('n') ? BigInt(special.slice(0, -1)) : Number(special)
}

// scopesOf returns what visit makes of each scope of a function, the innermost first, given the inspector's number of
// it; null: they cannot be read.
/** @type {<T>(f: Function, visit: (objectId: string) => T[]) => T[] | null} */
function scopesOf(f, visit) {
  return look(f, (slots) => {
    const list = slots.get('[[Scopes]]')
    if (!list) return null
    return (properties(list.objectId)?.result ?? [])
      .filter((one) => /^\d+$/.test(one.name) && one.value?.description !== 'Global')
      .flatMap((one) => visit(/** @type {string} */ (one.value?.objectId)))
  })
}

// variables returns copies of the scopes of a function that the transform has not seen.
/** @type {(f: Function) => Record<string, unknown>[]} */
function variables(f) {
  return scopesOf(f, (id) => {
    take(id)
    return [{ .../** @type {{ object: object }} */ (taken).object }]
  }) ?? []
}

// chain returns the scopes of a function.
/** @type {(f: Function) => Scope[] | null} */
function chain(f) {
  let found = chains.get(f)
  if (found !== undefined) return found
  found = scopesOf(f, (id) => {
    const list = []
    for (const v of properties(id)?.result ?? []) {
      const id = /^__xs(\d+)$/.exec(v.name)
      if (!id || !v.value?.objectId) continue
      take(v.value.objectId)
      list.push(scopeOf(+id[1], /** @type {Accessor} */ (taken)))
    }
    return list
  })
  chains.set(f, found)
  return found
}

// captured returns the scopes whose variables a function uses, by the numbers that its text has; null: not known.
/** @type {(f: Function, numbers: string) => Scope[] | null} */
function captured(f, numbers) {
  if (numbers.includes('!')) return null
  const all = chain(f)
  if (all === null) return null
  const found = []
  for (const n of numbers.split(',')) {
    const s = all.find((s) => s.id === +n)
    if (s === undefined) return null
    found.push(s)
  }
  return found
}

// made notes the scopes of a function that was loaded.
/** @type {(f: Function, list: Scope[]) => void} */
function made(f, list) {
  chains.set(f, list)
}

function begin() {
  /** @type {(x: unknown) => void} */
  const given = (x) => { taken = x }
  for (const [k, value] of Object.entries({ __xs_take: given, __xs_taken: undefined })) {
    Object.defineProperty(globalThis, k, { value, writable: true, configurable: true, enumerable: false })
  }
}

module.exports = { begin, captured, chain, inside, variables, made, scopeOf, Scope, UNSET }
