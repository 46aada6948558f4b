// What the kernel uses of Node that its declarations do not have: its inner parts, and what some versions from 18 on
// lack. The latter is optional here, so that the kernel has to look whether it is there.

// Loader is the part of module that loads CommonJS modules.
export interface Loader {
  globalPaths: string[]
  _load(request: string, parent: { filename?: string } | undefined, isMain: boolean): unknown
  _resolveFilename(request: string, parent: { filename?: string } | undefined, isMain: boolean): string
  _nodeModulePaths(folder: string): string[]
  stripTypeScriptTypes?(source: string): string
}

// Target is a file of a package: of exports in its package.json.
export type Target = string | null | Target[] | { [condition: string]: Target }

declare global {
  namespace NodeJS {
    interface Process {
      reallyExit(code: number | string): never
    }
    interface Timeout {
      _destroyed: boolean
    }
  }
  interface String {
    isWellFormed?(): boolean
  }
  interface ArrayBuffer {
    readonly resizable?: boolean
    readonly maxByteLength?: number
  }
  interface ArrayBufferConstructor {
    new(length: number, options: { maxByteLength: number }): ArrayBuffer
  }
  interface SharedArrayBuffer {
    readonly growable?: boolean
    readonly maxByteLength?: number
  }
  var __xs_bare: boolean // constructors run no code of the program, see load.js
  var __xs_taken: unknown // what the inspector is to look into, see closures.js
}
