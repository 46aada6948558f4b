package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// trustFolder shows what the file of a folder grants, and adds the folder to those that the user trusts, if a person
// says yes. Nothing but a person at a terminal is asked: an agent must not grant itself what its own file says.
func (a *app) trustFolder(ctx context.Context, folder string) error {
	folder, err := a.abs(folder)
	if err != nil {
		return err
	}
	folder = realPath(folder)
	name := filepath.Join(folder, policy.FileName)
	if _, err := os.Stat(name); err != nil {
		return &state.Error{Code: codeNoFile, Message: "there is no file " + a.fromHere(name),
			Hint: "docs/sandbox.md says what it may hold"}
	}
	o, err := a.policyOptions(folder, "")
	if err != nil {
		return err
	}
	if o.User == "" {
		return &usageError{err: fmt.Errorf("there is no folder for your own policy file"), hint: "set HOME"}
	}
	text, already, err := policy.Trust(o.User, o.Home, folder)
	if err != nil {
		return err
	}
	if already {
		a.ui.talk("%s is trusted already", folder)
		return nil
	}
	grants, err := policy.Check(name, false, o)
	if err == nil {
		err = a.printPolicy(grants, folder)
	}
	if err != nil {
		return err
	}
	if !a.hasPerson() {
		return &usageError{err: fmt.Errorf("there is no terminal to ask at, so %s is not trusted", folder),
			hint: fmt.Sprintf("run it at a terminal, or write [sandbox] trust = [%q] into %s", folder, o.User)}
	}
	a.ui.say(fmt.Sprintf("trust what %s grants? yes, or nothing: ", a.fromHere(name)))
	if answer, err := readLine(ctx, a.call.Stdin); answer != "yes" || err != nil {
		a.ui.talk("%s is not trusted", folder)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.User), 0o700); err != nil {
		return unwritten(o.User, err)
	}
	if err := writeFile(o.User, text); err != nil {
		return err
	}
	a.ui.talk("%s is trusted: %s says so", folder, a.shortPlace(o.User+":1:1"))
	return nil
}
