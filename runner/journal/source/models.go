//lint:file-ignore SA1019 servers of today ask for samples in this way

package source

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// models is the source of all models of a policy.
type models struct {
	named map[string]policy.Model
	o     Options
}

var providers = map[string]provider{"openai": openAI{}, "anthropic": anthropic{}}

func newModels(named map[string]policy.Model, o Options) *models { return &models{named, o} }

func (m *models) Name() string { return "models" }
func (m *models) Close() error { return nil }

// modelInput is the schema of the arguments of each model.
const modelInput = `{"type":"object","additionalProperties":false,"required":["messages"],"properties":{` +
	`"messages":{"type":"array","minItems":1,"items":{"type":"object","additionalProperties":false,` +
	`"required":["role","content"],"properties":{"role":{"enum":["system","user","assistant"]},` +
	`"content":{"type":["string","array"]}}}},"schema":{"type":["object","null"]},` +
	`"options":{"type":["object","null"]}}}`

// Tools returns the models. A model is pure: it is asked once for each prompt and sample.
func (m *models) Tools(context.Context) (all []journal.Tool, err error) {
	for _, name := range slices.Sorted(maps.Keys(m.named)) {
		c := m.named[name]
		version := journal.ModelVersion(c.API, c.URL, c.Model)
		if c.API == "script" {
			version = scriptVersion(c.Script)
		}
		all = append(all, journal.Tool{Kind: journal.KindModel, Name: name, Version: version, Class: journal.Pure,
			Description: "the model " + cmp.Or(c.Model, c.Script), Input: json.RawMessage(modelInput),
			Timeout: c.Timeout})
	}
	return all, nil
}

// Call asks a model once.
func (m *models) Call(ctx context.Context, a journal.Attempt) (journal.Answer, error) {
	var p prompt
	if err := json.Unmarshal(a.Args, &p); err != nil {
		return journal.Answer{}, notSent{err}
	}
	if string(p.Schema) == "null" {
		p.Schema = nil
	}
	return m.ask(ctx, a.Tool.Name, p, a)
}

// ask asks the model of a name.
func (m *models) ask(ctx context.Context, name string, p prompt, a journal.Attempt) (journal.Answer, error) {
	c := m.named[name]
	if p.Schema != nil {
		a.OnPiece = nil // parts of JSON are of no use
	}
	var r reply
	var err error
	if c.API == "script" {
		r, err = recite(ctx, &m.o, c.Script, p, a.OnPiece)
	} else {
		r, err = m.request(ctx, c, p, a)
	}
	answer := journal.Answer{Refused: r.refused, Model: r.model, Usage: usage(c, r)}
	if err != nil {
		return answer, err
	}
	if p.Schema != nil && !r.refused {
		answer.Result, err = r.json()
		return answer, err
	}
	answer.Result, err = json.Marshal(r.text)
	return answer, err
}

// usage is what a reply cost. US dollars for a million tokens are millionths of a dollar for one.
func usage(c policy.Model, r reply) state.Usage {
	return state.Usage{InputTokens: r.input, OutputTokens: r.output,
		MicroUSD: int64(math.Round(float64(r.input)*c.Input + float64(r.output)*c.Output))}
}

// request sends a prompt over HTTP.
func (m *models) request(ctx context.Context, c policy.Model, p prompt, a journal.Attempt) (r reply, err error) {
	key := ""
	if c.Key != "" {
		if key = m.o.getenv(c.Key); key == "" {
			return r, notSent{&state.Error{Code: journal.CodeLost, Hint: "set it in the environment of xstate",
				Message: fmt.Sprintf("the variable %s is not set, which holds the key", c.Key)}}
		}
	}
	api := providers[c.API]
	schema, wrapped := objectSchema(p.Schema)
	resp, err := send(ctx, &m.o, headerClient("", nil, nil), always, func() (*http.Request, error) {
		r, err := api.request(c, key, p, schema, a.OnPiece != nil)
		if err == nil {
			for name, value := range a.Headers {
				r.Header.Set(name, value)
			}
		}
		return r, err
	})
	if err != nil {
		return r, err
	}
	defer drop(resp)
	if resp.StatusCode != http.StatusOK {
		return r, statusError(resp)
	}
	if a.OnPiece != nil {
		return readStream(resp.Body, api, a.OnPiece)
	}
	body, err := readAll(resp.Body)
	if err != nil {
		return r, failure(ctx, err)
	}
	if r, err = api.read(body); err != nil {
		return r, err
	}
	return r, r.unwrap(wrapped)
}

// spending adds up what samples for a server cost.
type spending struct {
	mu  sync.Mutex
	sum state.Usage
}

func (s *spending) add(u state.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum.Add(u)
}

// take returns the sum so far, and begins again.
func (s *spending) take() (sum state.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum, s.sum = s.sum, state.Usage{}
	return sum
}

// sample answers a server that asks for a model: the default one. Its cost is part of the cost of the call.
func (m *models) sample(
	ctx context.Context, q *mcp.CreateMessageParams, spent *spending,
) (*mcp.CreateMessageResult, error) {
	name, err := m.standard()
	if err != nil {
		return nil, err
	}
	var p prompt
	if q.SystemPrompt != "" {
		p.Messages = append(p.Messages, textMessage("system", q.SystemPrompt))
	}
	for _, x := range q.Messages {
		text, ok := x.Content.(*mcp.TextContent)
		if !ok {
			return nil, fmt.Errorf("only texts are understood here")
		}
		p.Messages = append(p.Messages, textMessage(string(x.Role), text.Text))
	}
	if q.MaxTokens > 0 {
		p.Options = map[string]any{"max_tokens": q.MaxTokens}
	}
	answer, err := m.ask(ctx, name, p, journal.Attempt{})
	spent.add(answer.Usage)
	if err != nil {
		return nil, err
	}
	var text string
	if err := json.Unmarshal(answer.Result, &text); err != nil {
		return nil, err
	}
	return &mcp.CreateMessageResult{Role: "assistant", Model: cmp.Or(answer.Model, m.named[name].Model, name),
		Content: &mcp.TextContent{Text: text}, StopReason: "endTurn"}, nil
}

// standard is the name of the default model.
func (m *models) standard() (string, error) {
	if _, ok := m.named["default"]; ok {
		return "default", nil
	}
	for name := range m.named {
		if len(m.named) == 1 {
			return name, nil
		}
	}
	return "", fmt.Errorf("there is no default model")
}
