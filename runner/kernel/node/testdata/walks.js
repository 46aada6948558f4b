// Makes random values, prints what a walk of each says, changes some of them in a random way, and fails where levels.js
// takes a changed value for an unchanged one, or identities.js finds the place of another object. usage:
// node walks.js DRIVER SEED COUNT [slow]; with slow, objects have no layouts, so that Walk.object writes all of them.
'use strict'
const [driver, seed, count, slow] = process.argv.slice(2)
const v8 = require('v8')
const { types } = require('util')
if (slow) v8.setFlagsFromString = () => { throw new Error('no flags') }

const part = (name) => require(`${driver}/${name}`)
const intrinsics = part('intrinsics')
part('closures').begin()
intrinsics.begin()
const { fingerprint, stays, differs } = part('groups')
const identities = part('identities')

let state = +seed
const below = (n) => {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
  return Math.floor(state / 0x80000000 * n)
}
const of = (list) => list[below(list.length)]

class Point {
  constructor(x) {
    this.x = x
    this.y = 1.5
  }
  get sum() { return this.x + this.y }
}
class Place extends Point {
  constructor(x) {
    super(x)
    this.list = [x]
  }
}
const own = Symbol('own')
const revoked = Proxy.revocable([], {})
revoked.revoke()
const ATOMS = [1, 0, -0, NaN, 0.1, 7.5, 2n ** 70n, 'a', '', '\ud800', 'é', 'long '.repeat(20), null, undefined, true,
  false, Symbol.for('s'), Symbol.iterator, own, Math, Object.prototype, 1e300, 2 ** 31, -(2 ** 31), Point.prototype]

// makers return an object. v makes a value to put into it.
const MAKERS = [
  (v) => Array.from({ length: below(5) }, v),
  (v) => [1, , 3, v()],
  (v) => new Set([v(), v()]),
  (v) => new Map([[v(), v()], [v(), v()]]),
  (v) => Object.freeze({ z: v(), a: v() }),
  (v) => Object.assign(Object.create(null), { k: v() }),
  () => new Float32Array([1, 2]),
  (v) => Object.assign(new RangeError('no'), { code: v(), stack: '' }),
  (v) => Object.assign([1], { extra: v() }),
  (v) => Object.defineProperty({}, 'h', { value: v(), writable: true, configurable: true }),
  (v) => ({ b: v(), [Symbol.for('k')]: 1, a: v() }),
  (v) => ({ id: v(), name: `n${below(5)}`, score: below(100) / 3 }),
  (v) => ({ id: below(3), name: `n${below(5)}`, score: below(100), more: v() }),
  (v) => new Point(v()),
  (v) => new Place(v()),
  () => new Date(below(1000)),
  () => /a/g,
  () => Array.from({ length: 40 }, (_, i) => i * 0.5),
  (v) => Object.assign(Array.from({ length: 40 }, (_, i) => i), { [below(40)]: v() }),
  (v) => ({ get x() { return 1 }, y: v() }),
  (v) => Object.preventExtensions({ q: v() }),
  (v) => Object.seal([v()]),
  (v) => ({ 5: v(), a: v() }),
  (v) => Object.assign(new Map(), { extra: v() }),
  (v) => Object.setPrototypeOf(new Map([[1, v()]]), Object.prototype),
  (v) => Object.setPrototypeOf([v()], Point.prototype),
  () => new (class extends Array {})(3),
  () => new String('abc'),
  (v) => ({ __proto__: { p: v() }, q: v() }),
  () => Object.defineProperty([1, 2], 1, { get() { return 3 }, configurable: true, enumerable: true }),
  () => Object.defineProperty([1, 2], 'length', { writable: false }),
  () => new ArrayBuffer(8),
  (v) => {
    const o = { id: v(), name: v(), score: v() }
    delete o.name
    return Object.assign(o, { name: v() })
  },
  (v) => Object.fromEntries(Array.from({ length: below(60) }, (_, i) => [`k${i}`, v()])),
  () => revoked.proxy,
  (v) => new Proxy({ a: v() }, {}),
  (v) => {
    let o = v()
    for (let i = 0; i < 500; i++) o = i % 7 ? { next: o } : [o]
    return o
  },
]

function make(depth, pool) {
  if (pool.length && below(8) === 0) return of(pool)
  if (depth === 0 || below(4) === 0) return of(ATOMS)
  const made = of(MAKERS)(() => make(depth - 1, pool))
  pool.push(made)
  if (below(12) === 0 && !types.isProxy(made) && Reflect.getPrototypeOf(made) === Object.prototype) {
    Reflect.set(made, 'self', made)
  }
  return made
}

// changes change an object, or leave it as it was, or throw.
const CHANGES = [
  (o, k, v) => { if (k !== 'length') o[k] = v },
  (o, k) => { o[k] = o[k] },
  (o, k) => { delete o[k] },
  (o, k) => { const x = o[k]; delete o[k]; o[k] = x }, // another order
  (o, k, v) => { o.added = v },
  (o, k, v) => { o[3] = v },
  (o, k, v) => { o[own] = v },
  (o, k) => { Object.defineProperty(o, k, { enumerable: false }) },
  (o, k) => { const x = o[k]; Object.defineProperty(o, k, { get: () => x, configurable: true, enumerable: true }) },
  (o, k) => { Object.defineProperty(o, k, { writable: false }) },
  (o) => { Object.freeze(o) },
  (o) => { Object.preventExtensions(o) },
  (o) => { Object.setPrototypeOf(o, Place.prototype) },
  (o) => { Object.setPrototypeOf(o, null) },
  (o, k, v) => { o.push(v) },
  (o) => { o.pop() },
  (o) => { o.reverse() },
  (o) => { if (o.length < 100) o.length += 1 },
  (o, k, v) => { o.set(1, v) },
  (o, k, v) => { o.add(v) },
  (o) => { const all = [...o]; o.clear(); for (const x of all.reverse()) o.add ? o.add(x) : o.set(...x) },
  (o) => { o.setTime(5) },
  (o) => { o.lastIndex = 1 },
  (o) => { o[0] = o[0] + 1 },
  (o, k) => { o[k] = { ...o[k] } }, // equal, and another object
  (o, k) => { o[k] = -o[k] },
  (o) => { ({ id: own, name: own, score: own }); o.id = 0.5 }, // another representation of a field
]

// reached returns the objects that a value reaches by properties and elements.
function reached(root) {
  const all = new Set()
  const todo = [root]
  while (todo.length) {
    const o = todo.pop()
    if (!intrinsics.isObject(o) || all.has(o) || intrinsics.nameOf.has(o) || typeof o === 'function' ||
      types.isProxy(o)) continue
    all.add(o)
    for (const k of Reflect.ownKeys(o)) todo.push(Reflect.getOwnPropertyDescriptor(o, k).value)
    if (types.isMap(o)) Map.prototype.forEach.call(o, (x, k) => todo.push(x, k))
    if (types.isSet(o)) Set.prototype.forEach.call(o, (x) => todo.push(x))
  }
  return [...all]
}

// searched looks for objects in a random order of those that they may be met in. It fails where a place that was
// guessed is not the one that the table tells. Those without a place have none, those that lost theirs neither.
const searched = [[1], {}]
function search(all) {
  searched.push(...all)
  if (searched.length > 500) searched.splice(0, below(400))
  const each = 1 + below(6)
  const list = searched.filter((o, i) => i % each === 0)
  if (below(2)) list.reverse()
  for (const o of below(4) ? list : list.sort(() => below(3) - 1)) {
    const found = identities.find(o)
    if (found !== identities.at.get(o)) throw new Error(`seed ${state}: the place ${found} of another object`)
  }
}

const places = (fp) => [...fp.places].join()
let [kept, changed] = [0, 0]
for (let i = 0; i < +count; i++) {
  const from = state
  const pool = []
  const v = make(2 + below(4), pool)
  let fp = fingerprint(v)
  console.log(from, fp.digest, fp.size, fp.opaque, fp.simple, fp.places.length, fp.soft.join())
  state = from + 1
  for (let j = 0; j < 3 && intrinsics.isObject(v); j++) {
    const all = reached(v)
    if (!all.length) break
    const o = below(3) ? of(all) : of(pool.filter(intrinsics.isObject)) ?? of(all)
    try {
      of(CHANGES)(o, of([...Reflect.ownKeys(o), 'none']), of([...ATOMS, ...pool]))
    } catch {}
    const unchanged = stays(v, fp)
    const now = fingerprint(v)
    if (unchanged && (differs(fp, now) || places(fp) !== places(now))) {
      throw new Error(`seed ${from}: a changed value counts as unchanged: ${fp.digest} is now ${now.digest}`)
    }
    if (unchanged) kept++
    else changed++
    fp = now
  }
  if (i % 50 === 0) identities.settle()
  if (intrinsics.isObject(v)) search(reached(v))
  state = from + 7 * i + 11
}
console.error(`${kept} unchanged, ${changed} walked`)
