package rpc

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve"
)

// e2bContext is where code is executed.
type e2bContext struct {
	ID       string `json:"id"`
	Language string `json:"language"`
	Folder   string `json:"cwd"`
	session  string
	busy     chan struct{} // holds one value while code is executed
	// environ has the variables of all calls so far. A program has one environment: code that read a variable would
	// else run again, without it. It is guarded by busy.
	environ map[string]string
}

// newContext returns a context, in the session of its name.
func newContext(name, language, folder string) *e2bContext {
	return &e2bContext{ID: name, Language: language, Folder: folder, session: name, busy: make(chan struct{}, 1),
		environ: map[string]string{}}
}

// mainContext is the context of requests that name none. Its session is the one that exec takes, so it is always there.
const mainContext = "main"

// mostContexts is how many contexts a server knows at once.
const mostContexts = 1000

// contexts are the contexts that clients made. They end with the server; their sessions stay in the store.
type contexts struct {
	folder string
	mu     sync.Mutex
	byID   map[string]*e2bContext
}

func newContexts(folder string) *contexts {
	first := newContext(mainContext, "python", folder)
	return &contexts{folder: folder, byID: map[string]*e2bContext{mainContext: first}}
}

// find returns a copy of a context; nil names the main one.
func (c *contexts) find(id *string) (*e2bContext, error) {
	name := mainContext
	if id != nil {
		name = *id
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.byID[name]
	if known == nil {
		return nil, fail(api.CodeNoContext, "make one with POST /contexts; contexts end with the server",
			"there is no context %.80q", name)
	}
	found := *known
	return &found, nil
}

func (c *contexts) list() []*e2bContext {
	c.mu.Lock()
	defer c.mu.Unlock()
	byID := func(x, y *e2bContext) int { return cmp.Compare(x.ID, y.ID) }
	return slices.SortedFunc(maps.Values(maps.Clone(c.byID)), byID)
}

// add makes a context as a request describes it. Its session is made by the first execution.
func (c *contexts) add(r *http.Request) (*e2bContext, error) {
	var want struct {
		Language *string `json:"language"`
		Folder   *string `json:"cwd"`
	}
	if err := readJSON(r, &want); err != nil {
		return nil, err
	}
	language, err := languageOf(want.Language, "python")
	if err != nil {
		return nil, err
	}
	folder := c.folder
	if want.Folder != nil {
		if folder, err = c.served(*want.Folder); err != nil {
			return nil, err
		}
	}
	name := newSession()
	made := newContext(name, language, folder)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byID) >= mostContexts {
		return nil, fail(api.CodeTooLarge, "remove some", "there are %d contexts already", mostContexts)
	}
	c.byID[name] = made
	return made, nil
}

// served returns a folder as it was named, if it is the one that is served or lies in it, also where links lead: code
// that is executed in a folder may do there what the user may.
func (c *contexts) served(folder string) (string, error) {
	if folder = filepath.Clean(folder); folder == c.folder {
		return folder, nil
	} else if !filepath.IsAbs(folder) {
		return "", misused(fmt.Errorf("the folder %q is not absolute", folder))
	}
	if _, err := os.Stat(folder); err != nil {
		return "", misused(fmt.Errorf("there is no folder %q", folder))
	}
	if !serve.Within(c.folder, folder) {
		return "", fail(api.CodeForbidden, "name the folder that is served, or one in it",
			"the folder %q is outside of %q", folder, c.folder)
	}
	return folder, nil
}

// newSession returns a name that no session has.
func newSession() string { return "e2b-" + rand.Text()[:13] }

// drop forgets a context.
func (c *contexts) drop(id string) error {
	return c.change(id, func(*e2bContext) { delete(c.byID, id) })
}

// restart gives a context a new session.
func (c *contexts) restart(id string) error {
	return c.change(id, func(known *e2bContext) { known.session, known.environ = newSession(), map[string]string{} })
}

// change changes a context that a client made.
func (c *contexts) change(id string, how func(*e2bContext)) error {
	if id == mainContext {
		return misused(errors.New("the main context goes on as long as its session: make another context"))
	}
	if _, err := c.find(&id); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.byID[id]; known != nil { // it was not removed meanwhile
		how(known)
	}
	return nil
}
