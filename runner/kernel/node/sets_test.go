package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	source "github.com/xstate-engine/xstate/depgraph/javascript"
)

func TestSets(t *testing.T) {
	for text, want := range map[string][]string{
		"moment.locale('de')":                       {"moment"},
		"setDefaults(1)":                            {"setDefaults"},
		"await conf.load(x).then(f)":                {"conf"},
		"ok && (conf.a = 1, other['b'].c++)":        {"=conf", "=other"},
		"delete conf.a.b":                           {"=conf"},
		"Object.assign(axios.defaults, o)":          {"axios"},
		"conf.a = b = 1":                            {"=conf"},
		"rows.push(dayjs()); all.set(1, 2)":         {"=all", "=rows"},
		"const t = conf.init(1)":                    {"conf"},
		"const t = conf.init()":                     nil,
		"x = conf.get(1)":                           nil,
		"console.log(moment.locale())":              nil,
		"S.parse(x); expect(x).toBe(1); assert(x)":  {"=S"},
		"const f = (l) => moment.locale(l)":         {"moment"},
		"_.forEach(l, (x) => conf.get(x))":          nil,
		"_.forEach(l, (x) => { conf.get(x) })":      {"conf"},
		"function f() { if (x) conf.get() }":        {"conf"},
		"function f(lib) { lib.locale('de') }":      {"?"},
		"function f(lib) { lib.get('de') }":         nil,
		"class A { m(l) { this.lib.locale(l) } }":   {"?"},
		"class A { m() { conf.get() } }":            {"conf"},
		"console.log(conf.get()); log.info(`${a}`)": nil,
		"require('a/b'); import('c')":               {"+a/b", "+c"},
		"import 'a'; import b from 'c'":             {"+a"},
		"require('./a'); require('a*/b')":           nil,
		"Reflect.set(conf, 'a', 1)":                 {"=Reflect", "=conf"},
		"const D = Decimal.set({})":                 {"=Decimal"},
		"new Thing().run(); 'x'.trim(); [1].pop()":  nil,
	} {
		p, err := transform(text, source.JavaScript, false)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, p.Sets); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", text, diff)
		}
	}
}
