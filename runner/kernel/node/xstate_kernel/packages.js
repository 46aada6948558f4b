'use strict'
// Versions of packages. A value of a package is named by the version of the package and of all that it needs. So an
// upgrade of any of them is another value.

/** @import {Files} from './files' */
/** @import {Loader} from './node' */

const fs = require('fs')
const path = require('path')
const Module = /** @type {Loader} */ (/** @type {unknown} */ (require('module')))
const { createHash } = require('crypto')

const { readFileSync, existsSync } = fs

// packageName returns the package of a specifier, or of a path below node_modules.
/** @type {(specifier: string) => string} */
const packageName = (specifier) => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')

class Packages {
  /** @param {Files} files */
  constructor(files) {
    this.files = files
    /** @type {Map<string, string>} */
    this.texts = new Map() // package.json → its content when it was read first
    /** @type {Map<string, string[]>} */
    this.found = new Map() // folder of a package → the package.json of all that it needs, its own first
    /** @type {Map<string, string>} */
    this.versions = new Map() // folder of a package → digest of those
  }

  /** @type {(file: string) => string} */
  read(file) {
    try {
      return this.files.quietly(() => readFileSync(file, 'utf8'))
    } catch {
      return ''
    }
  }

  // needed returns the package.json of a package in a folder, and of the packages that it needs.
  /** @type {(folder: string) => string[]} */
  needed(folder) {
    const known = this.found.get(folder)
    if (known) return known
    /** @type {Set<string>} */
    const found = new Set()
    const next = [folder]
    for (let d = next.pop(); d !== undefined; d = next.pop()) {
      const file = path.join(d, 'package.json')
      if (found.has(file)) continue
      found.add(file)
      const text = this.texts.get(file) ?? this.read(file)
      this.texts.set(file, text)
      /** @type {Record<string, object>} */
      let p = {}
      try {
        p = JSON.parse(text)
      } catch {}
      for (const name of Object.keys({ ...p.dependencies, ...p.optionalDependencies, ...p.peerDependencies })) {
        const at = Module._nodeModulePaths(d).find((m) => this.files.quietly(() => existsSync(path.join(m, name))))
        if (at) next.push(this.files.quietly(() => fs.realpathSync(path.join(at, name))))
      }
    }
    const list = [...found]
    this.found.set(folder, list)
    return list
  }

  // version returns a digest of the versions of a package and of what it needs.
  /** @type {(folder: string) => string} */
  version(folder) {
    let d = this.versions.get(folder)
    if (d === undefined) {
      const h = createHash('sha256')
      for (const file of this.needed(folder)) h.update(this.texts.get(file) + '\0')
      d = h.digest('hex').slice(0, 16)
      this.versions.set(folder, d)
    }
    return d
  }

  // changed reports whether a package has changed since it was loaded.
  /** @type {() => boolean} */
  changed() {
    for (const [file, text] of this.texts) if (this.read(file) !== text) return true
    return false
  }
}

module.exports = { Packages, packageName }
