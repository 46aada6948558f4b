// What the engine sends to the kernel, and the plans of texts. The Go half is messages.go of package kernel, and
// transform.go.

// Options are the first message.
export interface Options {
  folder: string
  file?: string // of the program
  arguments?: string[] // of the program
  imports: string // the folder in which modules are looked for first
  spool: string // folder for files that pass between kernel and engine
  store: string
  stdin?: string // file that descriptor 0 is opened from; missing: the input is empty
  seed: string
  script?: boolean // a program without cells
}

// Run is the request to execute a node.
export interface Run {
  node: string
  filename: string // what tracebacks call the block
  line: number
  dialect?: string
  expr?: boolean // the value of its last expression is its result
  quiet?: boolean // the result is not shown
  certain?: string[] // names that it binds on every path
  unbound?: string[] // names that have a value and that the kernel was not given
  observed?: number // the sandbox sees what the node does, under this number
  library_import?: boolean // it imports, and no more
  end?: boolean // of the program: what it has left runs
  failed?: boolean // with end: a node before has failed
}

// Plan is what a text is executed by.
export interface Plan {
  code: string
  prefix: number // UTF-16 units that the first line has in front of the text's own
  async?: boolean // the script is a promise of its value
  strict?: boolean
  functions?: PlannedFunction[]
  lexical?: string[] // names of let, const and class
  constants?: string[]
  vars?: string[]
  assigned?: string[] // names that an assignment or update has as its target
  sets?: string[] // names by which it may set what a package holds
  returns?: boolean // a return stands outside of functions
  dialect?: string
  error?: { message: string, line: number, column: number } // the text does not parse
}

export interface PlannedFunction {
  name: string
  code: string
  text: string // the declaration itself
  line: number // 0-based, of the text
  column: number
}

// Verdict says whether a block is valid.
export interface Verdict {
  valid: boolean
  type: string
  message: string
  line: number
  column: number
}

export interface Compile {
  blocks: { filename: string, bytes: number }[]
}

export interface Sources {
  texts?: Record<string, string>
  gone?: string[]
}

export interface Bind {
  park?: [group: string, names: string[]][]
  unbind?: string[]
  drop?: string[]
  unpark?: string[]
}

export interface Load {
  names: string[]
  path?: string // of a file that holds the bytes; '' or missing: the body does
  foreign?: boolean // somebody else made the bytes
}

export interface HiddenState {
  key: string
  pristine?: boolean
}

// Show asks for the text of a value, and with a place for a description of what is there.
export interface Show {
  name: string
  at?: Place
  most: Limits
}

// Place is the part of a value that is described.
export interface Place {
  row: number
  column: number
  path: number[] | null
}

// Limits are the most that a description holds.
export interface Limits {
  rows: number
  columns: number
  items: number
  text: number
  whole: number
  bins: number
  common: number
}

export interface Environ {
  set?: Record<string, string | null> // null: unset
}
