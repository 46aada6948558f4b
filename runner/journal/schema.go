package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checkSchema reports how a value breaks a JSON Schema. No schema allows everything. The store writes it as null.
func checkSchema(schema json.RawMessage, value []byte) error {
	if len(schema) == 0 || string(schema) == "null" {
		return nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return fmt.Errorf("the schema is no JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	const name = "tool.json"
	if err := c.AddResource(name, doc); err != nil {
		return fmt.Errorf("the schema cannot be used: %w", err)
	}
	compiled, err := c.Compile(name)
	if err != nil {
		return fmt.Errorf("the schema cannot be used: %w", err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return err
	}
	return shorter(compiled.Validate(v))
}

// shorter is an error on one line, without the place of a file that there is not.
func shorter(err error) error {
	var broken *jsonschema.ValidationError
	if !errors.As(err, &broken) {
		return err
	}
	_, what, _ := strings.Cut(broken.Error(), "\n")
	lines := strings.Split(what, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(strings.TrimPrefix(strings.TrimLeft(line, " "), "- "), "at '': ")
	}
	return errors.New(strings.Join(lines, "; "))
}
