'use strict'
// What functions capture. The transform puts a constant into each scope whose variables a function captures: a function
// that reads and sets them, see captures.go. The inspector of this process finds the constants of a function.

const scopes = new WeakMap() // accessor → Scope
const chains = new WeakMap() // function → its scopes, the innermost first; null: they cannot be read
const UNSET = { unset: true } // a variable that is not initialized

// Scope is the variables of one execution of a scope.
class Scope {
  constructor(id, accessor) {
    this.id = id
    this.accessor = accessor
    const [names, consts] = accessor(-1)
    this.names = names.split(',')
    this.consts = consts
  }

  values() {
    return this.names.map((_, i) => {
      try {
        return this.accessor(i)
      } catch {
        return UNSET
      }
    })
  }

  set(values) {
    for (const [i, v] of values.entries()) if (v !== UNSET && this.names[i] !== 'this') this.accessor(i, v, true)
  }
}

function scopeOf(id, accessor) {
  let s = scopes.get(accessor)
  if (s === undefined) scopes.set(accessor, s = new Scope(id, accessor))
  return s
}

let session
let taken

function post(method, params) {
  let found
  session.post(method, params, (error, result) => { found = error ? null : result })
  return found
}

// take lets the inspector give an object to the driver.
function take(objectId) {
  post('Runtime.callFunctionOn', { objectId, functionDeclaration: 'function () { "use strict"; __xs_take(this) }' })
}

// look gives what the inspector knows of the inside of an object to visit: name → value, in the inspector's terms.
function look(o, visit) {
  if (session === undefined) {
    session = new (require('inspector').Session)()
    session.connect()
  }
  globalThis.__xs_taken = o
  const root = post('Runtime.evaluate', { expression: '__xs_taken', objectGroup: 'xs' })
  const inner = root && post('Runtime.getProperties', { objectId: root.result.objectId, ownProperties: true })
  const found = visit(new Map(inner?.internalProperties?.map((p) => [p.name, p.value])))
  post('Runtime.releaseObjectGroup', { objectGroup: 'xs' })
  globalThis.__xs_taken = undefined
  return found
}

// inside returns the values of some internal slots of an object; undefined: it has none of the first name.
function inside(o, ...names) {
  return look(o, (slots) => slots.has(names[0]) ? names.map((n) => valueOf(slots.get(n))) : undefined)
}

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
function scopesOf(f, visit) {
  return look(f, (slots) => {
    const list = slots.get('[[Scopes]]')
    if (!list) return null
    const all = post('Runtime.getProperties', { objectId: list.objectId, ownProperties: true })
    return (all?.result ?? []).filter((one) => /^\d+$/.test(one.name) && one.value.description !== 'Global')
      .flatMap((one) => visit(one.value.objectId))
  })
}

// variables returns copies of the scopes of a function that the transform has not seen.
function variables(f) {
  return scopesOf(f, (id) => {
    take(id)
    return [{ ...taken.object }]
  }) ?? []
}

// chain returns the scopes of a function.
function chain(f) {
  let found = chains.get(f)
  if (found !== undefined) return found
  found = scopesOf(f, (id) => {
    const variables = post('Runtime.getProperties', { objectId: id, ownProperties: true })
    const list = []
    for (const v of variables?.result ?? []) {
      const id = /^__xs(\d+)$/.exec(v.name)
      if (!id || !v.value?.objectId) continue
      take(v.value.objectId)
      list.push(scopeOf(+id[1], taken))
    }
    return list
  })
  chains.set(f, found)
  return found
}

// captured returns the scopes whose variables a function uses, by the numbers that its text has; null: not known.
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
function made(f, list) {
  chains.set(f, list)
}

function begin() {
  for (const [k, v] of [['__xs_take', (x) => { taken = x }], ['__xs_taken', undefined]]) {
    Object.defineProperty(globalThis, k, { value: v, writable: true, configurable: true, enumerable: false })
  }
}

module.exports = { begin, captured, chain, inside, variables, made, scopeOf, Scope, UNSET }
