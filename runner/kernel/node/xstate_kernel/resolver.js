'use strict'
// Finds the files of modules, as import and require do, and notes where one would have been found.

/** @import {Files} from './files' */
/** @import {Loader, Target} from './node' */

const fs = require('fs')
const path = require('path')
const Module = require('module')
const { pathToFileURL, fileURLToPath } = require('url')
const { packageName } = require('./packages')

const loader = /** @type {Loader} */ (/** @type {unknown} */ (Module))
const { readFileSync, statSync } = fs
const ENDINGS = ['', '.js', '.json', '.node', '.mjs', '.cjs', '.ts', '/index.js', '/index.ts']

class Resolver {
  /** @param {Files} files */
  constructor(files) {
    this.files = files
  }

  /** @type {(specifier: string, from: string) => string} */
  url(specifier, from) {
    if (/^(node|data|https?|file):/.test(specifier)) return specifier
    if (Module.isBuiltin(specifier)) return 'node:' + specifier
    return pathToFileURL(this.resolve(specifier, from)).href
  }

  // resolve finds the file of an import.
  /** @type {(specifier: string, from: string) => string} */
  resolve(specifier, from) {
    if (specifier.startsWith('file:')) return fileURLToPath(specifier)
    specifier = specifier.replace(/^npm:\/?((?:@[^/@]+\/)?[^/@]+)(@[^/]*)?/, '$1') // as Deno names packages
    if (/^\.{0,2}\//.test(specifier) || specifier === '.' || specifier === '..') {
      const p = path.resolve(path.dirname(from), specifier)
      for (const e of ENDINGS) if (this.isFile(p + e)) return this.files.quietly(() => fs.realpathSync(p + e))
      if (/\.[cm]?js$/.test(p) && this.isFile(p.replace(/js$/, 'ts'))) return p.replace(/js$/, 'ts')
      this.missing(specifier, from)
      throw coded(`Cannot find module '${p}' imported from ${from}`, 'ERR_MODULE_NOT_FOUND')
    }
    return this.files.quietly(() => this.packaged(specifier, from))
  }

  /** @type {(p: string) => boolean} */
  isFile(p) {
    try {
      return this.files.quietly(() => statSync(p).isFile())
    } catch {
      return false
    }
  }

  // packaged finds the file of a package as import does.
  /** @type {(specifier: string, from: string) => string} */
  packaged(specifier, from) {
    const name = packageName(specifier)
    const sub = '.' + specifier.slice(name.length)
    for (let d = path.dirname(from); ; d = path.dirname(d)) {
      const folder = path.join(d, 'node_modules', name)
      if (this.isFile(path.join(folder, 'package.json')) || fs.existsSync(folder)) {
        /** @type {{ exports?: Target, main?: string }} */
        let p = {}
        try {
          p = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
        } catch {}
        if (p.exports !== undefined && p.exports !== null) {
          const found = exported(p.exports, sub)
          if (!found) {
            throw coded(`Package subpath '${sub}' is not defined by "exports" in ${folder}/package.json`,
              'ERR_PACKAGE_PATH_NOT_EXPORTED')
          }
          return fs.realpathSync(path.join(folder, found))
        }
        const start = sub === '.' ? path.join(folder, p.main ?? 'index.js') : path.join(folder, sub)
        for (const e of ENDINGS) if (this.isFile(start + e)) return fs.realpathSync(start + e)
      }
      if (d === path.dirname(d)) break
    }
    this.missing(specifier, from)
    throw coded(`Cannot find package '${name}' imported from ${from}`, 'ERR_MODULE_NOT_FOUND')
  }

  // missing notes where a module would have been found.
  /** @type {(specifier: string, from: string) => void} */
  missing(specifier, from) {
    const folder = path.dirname(from)
    if (/^(\.{0,2}\/|\.{1,2}$)/.test(specifier)) {
      const p = path.resolve(folder, specifier)
      for (const e of ENDINGS) this.files.missed(p + e)
      this.files.missed(p.replace(/js$/, 'ts'))
      return
    }
    const name = packageName(specifier)
    for (const d of loader._nodeModulePaths(folder)) this.files.missed(path.join(d, name))
  }
}

const CONDITIONS = new Set(['node', 'import', 'module-sync', 'default'])

// exported returns the file that a package gives for a subpath.
/** @type {(exports: Target, sub: string) => string | undefined} */
function exported(exports, sub) {
  /** @type {(t: Target, star: string) => string | undefined} */
  const target = (t, star) => {
    if (typeof t === 'string') return t.replaceAll('*', star)
    if (Array.isArray(t)) return t.map((x) => target(x, star)).find(Boolean)
    for (const [k, v] of Object.entries(t ?? {})) {
      if (CONDITIONS.has(k)) {
        const found = target(v, star)
        if (found) return found
      }
    }
    return undefined
  }
  const keyed = exports !== null && typeof exports === 'object' && !Array.isArray(exports) ? exports : {}
  if (!Object.keys(keyed).some((k) => k[0] === '.')) return sub === '.' ? target(exports, '') : undefined
  if (sub in keyed) return target(keyed[sub], '')
  let best
  for (const k of Object.keys(keyed)) {
    const [head, tail] = k.split('*')
    if (tail === undefined || !sub.startsWith(head) || !sub.endsWith(tail)) continue
    if (sub.length < head.length + tail.length) continue
    if (best === undefined || k.length > best.length) best = k
  }
  if (best === undefined) return undefined
  const [head, tail] = best.split('*')
  return target(keyed[best], sub.slice(head.length, sub.length - tail.length))
}

/** @type {(message: string, code: string) => Error & { code: string }} */
function coded(message, code) {
  return Object.assign(new Error(message), { code })
}

module.exports = { Resolver, coded }
