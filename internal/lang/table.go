package lang

// table has the languages. Python comes first: texts that several languages could be read in are read in this order.
var table = []Language{
	{Name: "python", Comment: "#", Widest: Python, Variants: []Variant{
		{Dialect: Python, Title: "Python", Names: []string{"python", "py", "py3"}, Versioned: "python",
			Extensions: []string{".py", ".pyw"}, Programs: []string{"*python*"}, Alone: true, Cell: IPython},
		{Dialect: IPython, Names: []string{"ipython", "ipython3"},
			Kernel: Kernel{"Python 3", "python", "python3"}},
	}},
	{Name: "javascript", Space: SpaceJS, Comment: "//", Widest: TypeScript, Variants: []Variant{
		{Dialect: JavaScript, Title: "JavaScript", Names: []string{"js", "javascript", "cjs", "node"},
			Extensions: []string{".js", ".cjs"}, Programs: []string{"node", "nodejs"}, Alone: true,
			Kernel: Kernel{"JavaScript", "javascript", "jslab"}, Magics: []string{"%%script node"}},
		{Dialect: ESM, Names: []string{"mjs", "esm"}, Extensions: []string{".mjs"}, Alone: true, Cell: TypeScript},
		{Dialect: TypeScript, Title: "TypeScript", Names: []string{"ts", "typescript", "mts", "cts"},
			Extensions: []string{".ts", ".mts", ".cts"}, Programs: []string{"deno", "bun", "tsx", "ts-node"},
			Kernel: Kernel{"Deno", "typescript", "deno"}, Kernels: []string{"deno", "tslab"},
			Magics: []string{"%%script deno"}},
		{Dialect: TSX, Names: []string{"tsx", "jsx"}, Extensions: []string{".tsx", ".jsx"}, Cell: TypeScript},
	}},
	{Name: "bash", Space: "sh", Comment: "#", Widest: Bash, Variants: []Variant{
		{Dialect: Bash, Title: "Bash", Names: []string{"bash", "sh", "shell"}, Extensions: []string{".sh", ".bash"},
			Programs: []string{"bash", "sh", "dash"}, Alone: true, Kernel: Kernel{"Bash", "bash", "bash"},
			Magics: []string{"%%bash", "%%sh", "%%script bash", "%%script sh"}},
	}},
}
