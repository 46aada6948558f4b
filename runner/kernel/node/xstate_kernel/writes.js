'use strict'
// Finds what a node wrote: names that it bound or deleted, values that it changed in place, and their new aliases.

/** @import {Fingerprint, Groups, Pair} from './groups' */
/** @import {Places} from './identities' */
/** @import {Names, NodeNames} from './names' */
/** @typedef {Map<string, unknown>} Values name → value */
/** @typedef {{ type: string, shape?: string, repr?: string }} Info what a value is, for people */
/**
 * @typedef {object} Step what a node may have changed
 * @property {Values} start before it
 * @property {Values} now
 * @property {Map<string, Fingerprint>} old fingerprints before it
 * @property {Set<string>} reads names that it read, of those in start
 * @property {Set<string>} rebound names that it bound
 */
/**
 * @typedef {object} Observed
 * @property {string[]} reads
 * @property {string[]} comembers names that it changed without reading them
 * @property {string[]} [altered] classes whose functions, and modules whose parts, it may have changed
 * @property {object[]} writes
 * @property {string[]} touched names whose values it changed, or from which it took an alias
 * @property {Pair[]} after
 * @property {string[]} [born] names that are new, if they are not in order
 * @property {string[]} [dropped] names that it leaves unbound, as it failed
 */

const { inspect, types } = require('util')
const { sizeOf } = require('./fast')
const { fingerprint, stays, differs, reach, shared } = require('./groups')
const identities = require('./identities')
const { lengthOf } = require('./insides')
const { isObject } = require('./intrinsics')
const { sourceOf } = require('./sources')
const { ANY } = require('./walk')

class Writes {
  /** @param {Names} names @param {Groups} groups */
  constructor(names, groups) {
    this.names = names
    this.groups = groups
    /** @type {Set<string>} */
    this.altered = new Set() // classes whose functions, and modules whose parts, the node may have changed
    /** @type {string[]} */
    this.reached = [] // workspace modules that the node could reach
  }

  // observe fingerprints what the node bound or may have changed. moved are the modules of the workspace that it has
  // changed, and with them perhaps what names share with these.
  /** @type {(start: Values, now: Values, node: NodeNames, certain: string[], moved: string[]) => Observed} */
  observe(start, now, node, certain, moved) {
    const { groups } = this
    const old = new Map(groups.prints)
    this.altered = new Set()
    const rebound = new Set(certain.filter((n) => now.has(n)))
    for (const [n, v] of now) if (!start.has(n) || !Object.is(start.get(n), v) || node.writes.has(n)) rebound.add(n)
    const deleted = [...start.keys()].filter((n) => !now.has(n))
    const reads = new Set([...node.reads].filter((n) => start.has(n)))
    const step = { start, now, old, reads, rebound }
    const { changed, near } = this.replaced(step, new Set([...rebound, ...deleted]))
    for (const n of deleted) groups.drop(n)
    this.rebind(step)
    const candidates = new Set([...near, ...[...reads].filter((n) => !rebound.has(n))])
    if (moved.length) {
      for (const [n, fp] of old) if (fp.module) candidates.add(n)
      for (const m of [...moved, ANY]) this.altered.add(m)
    }
    const mutated = this.rehash(candidates, step)
    const written = new Set([...rebound, ...mutated, ...deleted])
    const after = groups.pairs(written)
    const touched = this.touched(step, new Set([...mutated, ...changed]), written, after)
    const all = new Map([...after, ...groups.pairs(touched)].map((p) => [p[0] + '\0' + p[1], p]))
    const fresh = [...now.keys()].filter((n) => !start.has(n))
    return {
      reads: [...reads].sort(),
      comembers: [...mutated].filter((n) => !reads.has(n)).sort(),
      altered: [...this.altered].sort(),
      writes: [...written].sort().map((n) => this.write(n, now)),
      touched: [...touched].sort(),
      after: [...all.values()],
      born: fresh.every((n, i) => i === 0 || fresh[i - 1] < n) ? [] : fresh,
    }
  }

  // replaced finds the values that the node changed before it replaced them, and the names that shared with those.
  // gone: names that are rebound or deleted.
  /** @type {(step: Step, gone: Set<string>) => { changed: Set<string>, near: Set<string> }} */
  replaced({ start, old, reads }, gone) {
    /** @type {Set<string>} */
    const near = new Set()
    /** @type {Set<string>} */
    const changed = new Set()
    for (const n of reads) {
      const was = old.get(n)
      if (!gone.has(n) || was === undefined || was.atom) continue
      if (was.unsettled || !stays(start.get(n), was) && differs(fingerprint(start.get(n)), was)) {
        this.alter(was)
        changed.add(n)
        for (const o of this.groups.neighbours(n, true)) near.add(o)
      }
    }
    return { changed, near }
  }

  // rebind fingerprints the names that the node bound.
  /** @type {(step: Step) => void} */
  rebind({ now, reads, rebound, start, old }) {
    const { groups } = this
    /** @type {Map<unknown, Fingerprint>} */
    const known = new Map()
    for (const [n, fp] of old) if (fp.levels !== null && start.has(n)) known.set(start.get(n), fp)
    for (const n of rebound) {
      const was = known.get(now.get(n))
      let fp = was !== undefined && stays(now.get(n), was) ? was : fingerprint(now.get(n))
      if (fp.levels !== null) known.set(now.get(n), fp)
      const kept = fp.definition?.name === n ? groups.same(fp.digest) : undefined
      if (kept !== undefined && kept !== now.get(n)) { // instances of the class before stay instances
        now.set(n, kept)
        this.names.bind(n, kept)
        fp = fingerprint(kept)
      }
      groups.put(n, fp)
    }
    const within = new Set([...reads, ...rebound])
    for (const n of rebound) {
      const fp = groups.print(n)
      if (!fp.unsettled) continue
      groups.put(n, fp.module ? { ...fp, ...this.within(fp, undefined, within), keepers: 0 } :
        this.held(fp, undefined, within))
    }
  }

  // touched returns the names whose values the node changed, or from which it took an alias. It adds them to changed.
  /** @type {(step: Step, changed: Set<string>, written: Set<string>, after: Pair[]) => Set<string>} */
  touched(step, changed, written, after) {
    const { start, now, old, rebound } = step
    for (const n of rebound) {
      if (start.has(n) && Object.is(start.get(n), now.get(n)) && old.get(n)?.hard.length) changed.add(n)
    }
    for (const n of this.sources(after, written, changed, step)) changed.add(n)
    return new Set([...changed].filter((n) => start.has(n) && old.has(n)))
  }

  /** @type {(fp: Fingerprint) => void} */
  alter(fp) {
    for (const c of fp.code) this.altered.add(c)
  }

  // rehash finds the names whose values the node changed in place: among candidates, and those that share with one.
  /** @type {(candidates: Set<string>, step: Omit<Step, 'start'>) => Set<string>} */
  rehash(candidates, { old, now, rebound, reads }) {
    const { groups } = this
    /** @type {Set<string>} */
    const mutated = new Set()
    const done = new Set()
    const todo = [...candidates]
    const hit = new Set() // names that share with a changed value
    for (let n = todo.pop(); n !== undefined; n = todo.pop()) {
      const was = old.get(n)
      if (done.has(n) || rebound.has(n) || !now.has(n) || was === undefined) continue
      done.add(n)
      if (was.atom || stays(now.get(n), was)) continue
      const near = groups.neighbours(n, true)
      const fp = this.held(fingerprint(now.get(n)), was, reads.has(n) ? reads : NONE)
      groups.put(n, fp)
      if (!differs(fp, was) && !(fp.unsettled && (reads.has(n) || hit.has(n)))) continue
      mutated.add(n)
      if (fp.soft.length) for (const o of softOf(was)) if (typeof o === 'function' && o.name) this.altered.add(o.name)
      for (const o of [...near, ...groups.neighbours(n, true)]) {
        hit.add(o)
        if (this.groups.prints.get(o)?.unsettled) done.delete(o)
        todo.push(o)
        if (mutated.has(o)) done.add(o)
      }
    }
    return mutated
  }

  // held lets a value that cannot be looked into share with all that the node read or bound: it may hold any of that.
  /** @type {(fp: Fingerprint, was: Fingerprint | undefined, reads: Set<string>) => Fingerprint} */
  held(fp, was, reads) {
    if (!fp.unsettled) return fp
    const extra = new Set(was?.extra)
    for (const r of reads) {
      const print = this.groups.prints.get(r)
      if (print && print !== was && print !== fp) for (const p of Array.from(reach(print))) extra.add(p)
    }
    const more = identities.without([...extra], fp.places)
    return { ...fp, extra, more, ...this.within(fp, was, reads), keepers: 0 }
  }

  // within returns the modules that a value may reach that cannot be looked into. reads: see held.
  /** @type {(fp: Fingerprint, was: Fingerprint | undefined, reads: Set<string>) => Pick<Fingerprint, 'homes'>} */
  within(fp, was, reads) {
    return { homes: new Set([...fp.homes, ...was?.homes ?? [], ...reads.size ? this.reached : []]) }
  }

  // sources returns the names from which written names got the objects that they newly share with unwritten names.
  /** @type {(after: Pair[], written: Set<string>, touched: Set<string>, step: Step) => Set<string>} */
  sources(after, written, touched, { reads, old }) {
    /** @type {Set<string>} */
    const found = new Set()
    const { prints } = this.groups
    for (const [a, b] of after) {
      for (const [w, other] of [[a, b], [b, a]]) {
        if (!written.has(w) || written.has(other)) continue
        let fresh = shared(prints.get(w), prints.get(other))
        if (touched.has(w)) fresh = identities.without(fresh, shared(old.get(w), old.get(other)))
        for (const r of [...reads].sort()) {
          if (!fresh.length) break
          const was = old.get(r)
          if (was === undefined) continue
          const rest = identities.without(fresh, reach(was))
          if (rest.length < fresh.length) found.add(r)
          fresh = rest
        }
        if (fresh.length) found.add(other)
      }
    }
    return found
  }

  /** @type {(name: string, now: Values) => object} */
  write(name, now) {
    const fp = this.groups.prints.get(name)
    if (fp === undefined || !now.has(name)) return { name, deleted: true }
    const held = new Set([...fp.modules, ...fp.homes])
    return {
      name, digest: fp.opaque ? '' : fp.digest, opaque: fp.opaque, size: fp.size, unhanded: fp.size,
      deps: [...fp.deps].filter((d) => !this.names.builtin.has(d)).sort(), code: [...fp.code].sort(),
      rests: held.size > 0, held: [...held].sort(), handles: [], info: describe(now.get(name)),
    }
  }

  // undo undoes a failed node: it restores bindings, and unbinds values that the node changed in place.
  /** @type {(start: Values, node: NodeNames) => Observed & { dropped: string[] }} */
  undo(start, node) {
    const { groups, names } = this
    const old = new Map(groups.prints)
    const near = new Set([...node.reads].filter((n) => start.has(n)))
    for (const n of node.reads) for (const o of groups.neighbours(n, true)) near.add(o)
    const reads = new Set([...node.reads].filter((n) => start.has(n)))
    const mutated = this.rehash(near, { old, now: start, rebound: new Set(), reads })
    for (const n of Object.getOwnPropertyNames(globalThis)) {
      if (!start.has(n) && !names.builtin.has(n) && !n.startsWith('__xs_')) Reflect.deleteProperty(globalThis, n)
    }
    for (const n of names.builtin.keys()) {
      if (typeof n === 'string' && !start.has(n) && !n.startsWith('__xs_')) names.unbind(n)
    }
    for (const [n, v] of start) names.bind(n, v)
    for (const n of mutated) {
      names.unbind(n)
      groups.drop(n)
    }
    return { reads: [...reads].sort(), dropped: [...mutated].sort(), writes: [], comembers: [], touched: [], after: [] }
  }
}

// softOf returns the functions and prototypes of the program that a value reached.
/** @type {(fp: Fingerprint) => unknown[]} */
const softOf = (fp) => fp.soft.map((n) => identities.objects[fp.places[n]])

const SHOWN = 200
/** @type {Set<string>} */
const NONE = new Set()

const mapSize = sizeOf(Map.prototype)
const setSize = sizeOf(Set.prototype)

// countOf returns how many elements a value has, if it has elements.
/** @type {(v: unknown) => number | undefined} */
function countOf(v) {
  if (Array.isArray(v)) return v.length
  if (ArrayBuffer.isView(v)) return lengthOf(v)
  if (types.isMap(v)) return mapSize.call(v)
  return types.isSet(v) ? setSize.call(v) : undefined
}

// describe says for people what a value is.
/** @type {(v: unknown) => Info} */
function describe(v) {
  /** @type {Info} */
  const info = { type: typeof v }
  if (v === null) info.type = 'null'
  else if (types.isProxy(v)) info.type = 'Proxy' // nothing of the program is called
  else if (typeof v === 'object') {
    const c = Object.getPrototypeOf(v)?.constructor
    info.type = typeof c === 'function' && typeof c.name === 'string' && c.name ? c.name : 'object'
  } else if (typeof v === 'function' && sourceOf(v).isClass) info.type = 'class'
  const n = types.isProxy(v) ? undefined : countOf(v)
  if (n !== undefined) info.shape = `(${n})`
  if (!isObject(v) || typeof v === 'function' || info.shape === undefined) {
    try {
      const text = inspect(v, { depth: 1, maxArrayLength: 5, maxStringLength: SHOWN, customInspect: false })
      info.repr = text.length > SHOWN ? text.slice(0, SHOWN) + '…' : text
    } catch {}
  }
  return info
}

module.exports = { Writes, describe }
