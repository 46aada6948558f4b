package python

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/kernel"
)

// relativeImport is a statement such as "from .model import fit".
var relativeImport = regexp.MustCompile(`(?m)^[ \t]*from[ \t]+\.`)

// ImportsOf returns where the imports of a program begin. They begin in the folder of its file, as in "python FILE". A
// module of a package that imports relatively can only run as in "python -m PACKAGE.MODULE": then they begin in the
// folder that holds the outermost package. An empty or unreadable file counts as one without imports.
func ImportsOf(file string) kernel.ImportBase {
	if file == "" {
		return kernel.ImportBase{}
	}
	folder := filepath.Dir(file)
	root, pkg := PackageOf(file)
	if pkg == "" {
		return kernel.ImportBase{Folder: folder}
	}
	return kernel.ImportBase{Folder: root, Package: pkg}
}

// PackageOf returns the package of a file that imports relatively, and the folder that holds the outermost package. pkg
// is "" where the file does not import relatively or lies in no package.
func PackageOf(file string) (root, pkg string) {
	text, err := os.ReadFile(file)
	if err != nil || !relativeImport.Match(text) {
		return "", ""
	}
	var names []string
	for root = range parents.Up(filepath.Dir(file)) {
		if !isPackage(root) {
			break
		}
		names = append([]string{filepath.Base(root)}, names...)
	}
	return root, strings.Join(names, ".")
}

func isPackage(folder string) bool {
	info, err := os.Stat(filepath.Join(folder, "__init__.py"))
	return err == nil && info.Mode().IsRegular() && filepath.Dir(folder) != folder
}
