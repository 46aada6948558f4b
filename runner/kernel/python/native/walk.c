/* The loops of the Python kernel over what containers hold: see ../native.go.

   Each function does what one of the kernel does in Python, and writes the same bytes: walk_containers.py, atoms.py and
   ordinals.py in xstate_kernel say what. It leaves to them what it does not know, before it has written anything. Two
   facts about memory are not of the stable ABI, and are tested when the module is loaded: where an object has its type,
   and which bit of a string says that it is ASCII. */

#define _GNU_SOURCE
#include "python.h"
#include "template.h"
#include "bytes.h"
#include "ordinals.h"
#include "members.h"
#include "atoms.h"

/* atoms(put, atoms, grow, list): writes a list of atoms. Returns whether it did. */
static PyObject *atoms(PyObject *self, PyObject *args)
{
	Walk w = {0};
	PyObject *list;
	Objects items = {0};
	if (!PyArg_ParseTuple(args, "OOOO", &w.put, &w.atoms, &w.grow, &list)) return NULL;
	Py_ssize_t n = PyList_Size(list);
	int bad = n < 0, done = 0;
	for (Py_ssize_t k = 0; k < n && !bad; k++) bad = put_member(&items, PyList_GetItem(list, k));
	if (!bad && (done = plain_atoms(&items))) bad = write_atoms(&w, items.at, items.n) || flush(&w);
	free_members(&items);
	free(w.out.at);
	return bad ? NULL : PyBool_FromLong(done);
}

/* What containers hold, and held: see same. */
typedef struct { PyObject head; Members members; } Held;
static PyObject *held_type;

static void held_free(Held *h)
{
	PyObject *type = h->head.type;
	members_free(&h->members);
	PyObject_Free(h);
	Py_DecRef(type);
}

static PyType_Slot held_slots[] = {{TP_DEALLOC, held_free}, {0}};
static PyType_Spec held_spec = {"xstate_kernel._native.Held", sizeof(Held), 0, 0, held_slots};

/* Takes the members. */
static PyObject *hold_members(Members *m)
{
	PyObject *held = PyType_GenericAlloc(held_type, 0);
	if (held) {
		((Held *)held)->members = *m;
		memset(m, 0, sizeof *m);
	}
	return held;
}

/* flat(put, atoms, grow, tag, container, hold): writes a container that holds atoms alone. Returns whether it did, or
   what the container holds, if that is asked for. */
static PyObject *flat(PyObject *self, PyObject *args)
{
	Walk w = {0};
	PyObject *tag, *o;
	int hold;
	if (!PyArg_ParseTuple(args, "OOOOOp", &w.put, &w.atoms, &w.grow, &tag, &o, &hold)) return NULL;
	Members m = {0};
	int dict = o->type == &PyDict_Type, done = 0;
	int bad = dict ? put_length(&m, PyDict_Size(o)) || put_dict(&m, o) || join_keys(&m)
		: put_items(&m, o, o->type == &PyList_Type);
	if (!bad && (done = plain_atoms(&m.inner))) {
		Py_IncRef(tag);
		bad = add_object(&w.out, tag) || add_decimal(&w.out, dict ? m.inner.n / 2 : m.inner.n) ||
			add(&w.out, ":", 1) || write_atoms(&w, m.inner.at, m.inner.n) || flush(&w);
	}
	PyObject *result = bad ? NULL : done && hold ? hold_members(&m) : PyBool_FromLong(done);
	members_free(&m);
	free(w.out.at);
	return result;
}

/* ---- Sets: see sets.py, which tests this layout ---- */

typedef struct { PyObject *key; Py_ssize_t hash; } Entry;
typedef struct { PyObject head; Py_ssize_t fill, used, mask; Entry *table; Py_ssize_t hash, finger; } Set;

/* Returns 1 if it wrote a set of texts, integers and the like, 0 if Python has to, and -1 on an error. */
static int write_set(Walk *w, Set *s)
{
	Bytes b = {0};
	Objects items = {0};
	size_t room = (size_t)s->mask + 1;
	int got = s->used > 0;
	for (size_t i = 0; got == 1 && i < room; i++) {
		Entry *e = &s->table[i];
		if (!e->key || e->hash == -1) continue;
		got = steady(e->key->type) ? put_member(&items, e->key) ? -1 : 1 : 0;
	}
	if (got == 1 && (add(&b, "s(", 2) || add(&b, "\3\0\0\0", 4) || add_tagged(&b, 'i', (int32_t)s->mask) ||
		add_tagged(&b, 'i', (int32_t)s->finger) || add_tagged(&b, 's', (int32_t)room) || reserve(&b, room)))
		got = -1;
	for (size_t i = 0; got == 1 && i < room; i++) {
		Entry *e = &s->table[i];
		b.at[b.n++] = s->fill != s->used && e->hash == -1 ? 2 : e->key != NULL;
	}
	if (got == 1 && (put(w, b.at, b.n) || write_atoms(w, items.at, items.n))) got = -1;
	free_members(&items);
	free(b.at);
	return got;
}

/* sets(put, atoms, grow, seen, temps, stack): writes the sets at the end of a stack, as far as they hold texts, integers
   and the like, and takes them from it. Returns how many, and how many of them it met for the first time. */
static PyObject *sets(PyObject *self, PyObject *args)
{
	Walk w = {0};
	PyObject *seen_, *temps, *stack;
	if (!PyArg_ParseTuple(args, "OOOOOO", &w.put, &w.atoms, &w.grow, &seen_, &temps, &stack)) return NULL;
	Ordinals *seen = ordinals_of(seen_);
	if (!seen) return NULL;
	Py_ssize_t n = PyList_Size(stack), end = n, new = 0;
	int got = 1;
	for (; n > 0 && got == 1; n--) {
		PyObject *o = PyList_GetItem(stack, n - 1);
		if (o->type != &PySet_Type || ((Set *)o)->used > INT32_MAX / 8) break;
		int64_t id = id_of(o), known = find(seen, id);
		if (known >= 0) {
			got = add(&w.out, "@", 1) || add_decimal(&w.out, (uint64_t)known) || put(&w, ";", 1) ? -1 : 1;
			continue;
		}
		if ((got = write_set(&w, (Set *)o)) < 1) break;
		int shared = is_shared(id, temps);
		got = shared < 0 || put_new(seen, id, shared) ? -1 : 1;
		new++;
	}
	if (got >= 0 && flush(&w)) got = -1;
	free(w.out.at);
	return got < 0 || PyList_SetSlice(stack, n, end, NULL) ? NULL : Py_BuildValue("(nn)", end - n, new);
}

/* same(level, held): 1 if the containers of a level hold what they held, 0 if they hold more or fewer, else -1. */
static PyObject *same(PyObject *self, PyObject *args)
{
	PyObject *level, *o;
	if (!PyArg_ParseTuple(args, "OO", &level, &o)) return NULL;
	if (o->type != held_type) { PyErr_SetString(PyExc_TypeError, "not Held"); return NULL; }
	Members *was = &((Held *)o)->members, m;
	int got = gather(&m, level, NULL), found = -1;
	if (got == 1 && (m.lengths.n != was->lengths.n ||
		(m.lengths.n && memcmp(m.lengths.at, was->lengths.at, m.lengths.n))))
		found = 0;
	else if (got == 1 && m.inner.n == was->inner.n &&
		(!m.inner.n || !memcmp(m.inner.at, was->inner.at, m.inner.n * sizeof *m.inner.at)))
		found = 1;
	members_free(&m);
	return got < 0 ? NULL : PyLong_FromLongLong(found);
}

/* The types of members in the order in which they come first, and the code of each: see graph. of has for each
   member the number of its type. */
typedef struct { PyObject *types[MAX_KINDS]; uint8_t codes[MAX_KINDS]; size_t n; Bytes of; } Kinds;

/* Asks Python for the codes of types that are not known here. Returns 1, 0 if Python has to write the level, or -1. */
static int ask_codes(Kinds *k, PyObject *codes_of)
{
	int strange = 0;
	PyObject *types = PyList_New((Py_ssize_t)k->n), *codes;
	if (!types) return -1;
	for (size_t i = 0; i < k->n; i++) {
		PyObject *t = k->types[i];
		k->codes[i] = atom(t) ? 0 : t == &PyList_Type ? 6 : t == &PyTuple_Type ? 7 : t == &PyDict_Type ? 8 : 255;
		strange |= k->codes[i] == 255;
		Py_IncRef(t);
		PyList_SetItem(types, (Py_ssize_t)i, t);
	}
	if (!strange) { Py_DecRef(types); return 1; }
	codes = PyObject_CallFunctionObjArgs(codes_of, types, NULL);
	Py_DecRef(types);
	if (!codes) return -1;
	int known = codes != None;
	for (size_t i = 0; known && i < k->n; i++)
		k->codes[i] = (uint8_t)PyLong_AsLongLong(PyList_GetItem(codes, (Py_ssize_t)i));
	Py_DecRef(codes);
	return PyErr_Occurred() ? -1 : known;
}

static int write_lengths(Walk *w, Members *m)
{
	int32_t *lengths = (int32_t *)m->lengths.at;
	Bytes b = {0};
	int bad = add(&b, "*", 1) || add_tagged(&b, '[', (int32_t)m->n);
	for (size_t g = 0; g < m->n && !bad; g++) {
		bad = add_tagged(&b, '[', (int32_t)m->groups[g].size);
		for (size_t i = 0; i < m->groups[g].size && !bad; i++) bad = add_tagged(&b, 'i', *lengths++);
	}
	bad = bad || put(w, b.at, b.n);
	free(b.at);
	return bad ? -1 : 0;
}

/* Gives each mutable object its ordinal: see Containers.fresh. Returns the list of new ones, and of tuples. */
static PyObject *fresh(Walk *w, Ordinals *seen, PyObject *temps, Objects *found, int *repeated)
{
	PyObject *next = PyList_New(0);
	Bytes b = {0};
	int bad = !next || add(&b, "@", 1) || add_tagged(&b, '[', (int32_t)found->n);
	for (size_t i = 0; i < found->n && !bad; i++) {
		PyObject *o = found->at[i];
		int64_t id = id_of(o), n = o->type == &PyTuple_Type ? -1 : find(seen, id);
		if (n < 0 && o->type != &PyTuple_Type) {
			int shared = is_shared(id, temps);
			bad = shared < 0 || put_new(seen, id, shared);
		}
		bad = bad || (n < 0 ? add(&b, "N", 1) || PyList_Append(next, o) : add_tagged(&b, 'i', (int32_t)n));
		*repeated |= n >= 0;
	}
	bad = bad || (*repeated && put(w, b.at, b.n));
	free(b.at);
	if (bad && next) Py_DecRef(next);
	return bad ? NULL : next;
}

/* Gives instances, of which other values may share the attributes, ordinals for these: see Containers.attributes. */
static int put_inverted(Ordinals *seen, Members *m, PyObject *level)
{
	Py_ssize_t n = PyList_Size(level);
	for (Group *g = m->groups; g < m->groups + m->n; g++)
		for (Py_ssize_t i = 0; g->names && i < n; i++) {
			PyObject *o = PyList_GetItem(level, i);
			if (o->type == g->kind && put_new(seen, ~id_of(o), INVERTED)) return -1;
		}
	return 0;
}

/* Writes what the members of a level are, and returns the next level. */
static PyObject *write_level(Walk *w, Members *m, Kinds *kinds, Ordinals *seen, PyObject *temps, PyObject *others,
	int *repeated)
{
	size_t plain = 0;
	for (size_t k = 0; k < kinds->n; k++) plain += !kinds->codes[k];
	if (plain == kinds->n) return write_atoms(w, m->inner.at, m->inner.n) ? NULL : PyList_New(0);
	Objects some = {0}, found = {0}; /* borrowed of the members */
	Bytes b = {0};
	PyObject *next = NULL;
	int bad = 0;
	for (size_t i = 0; i < m->inner.n && !bad; i++) {
		PyObject *o = m->inner.at[i];
		uint8_t code = kinds->codes[(uint8_t)kinds->of.at[i]];
		bad = add(&b, &code, 1) || (code == 5 ? PyList_Append(others, o) : put_object(code ? &found : &some, o));
	}
	bad = bad || put(w, b.at, b.n) || (plain && write_atoms(w, some.at, some.n));
	if (!bad) next = fresh(w, seen, temps, &found, repeated);
	free(some.at);
	free(found.at);
	free(b.at);
	return next;
}

/* Returns 1 and the kinds of the members, 0 if Python has to write them, or -1. */
static int kinds_of(Kinds *kinds, Members *m, PyObject *codes_of)
{
	if (reserve(&kinds->of, m->inner.n)) return -1;
	for (size_t i = 0; i < m->inner.n; i++) {
		PyObject *o = m->inner.at[i];
		size_t k = 0;
		if (is_nan(o)) return 0;
		while (k < kinds->n && kinds->types[k] != o->type) k++;
		if (k == MAX_KINDS) return 0;
		if (k == kinds->n) kinds->types[kinds->n++] = o->type;
		kinds->of.at[kinds->of.n++] = (char)k;
	}
	return ask_codes(kinds, codes_of);
}

/* level(put, atoms, grow, seen, temps, others, codes_of, names_of, weight, level, hold): writes a level of graph. weight
   is that of an instance. Returns the next level, whether it met an object again, and what the level holds, if that is
   asked for; or None: Python has to write it. */
static PyObject *level(PyObject *self, PyObject *args)
{
	Walk w = {0};
	PyObject *seen_, *temps, *others, *codes_of, *names_of, *list, *result = NULL, *next = NULL, *held = NULL;
	int weight, hold, repeated = 0;
	if (!PyArg_ParseTuple(args, "OOOOOOOOiOp", &w.put, &w.atoms, &w.grow, &seen_, &temps, &others, &codes_of, &names_of,
		&weight, &list, &hold))
		return NULL;
	Ordinals *seen = ordinals_of(seen_);
	if (!seen) return NULL;
	Members m;
	Kinds kinds = {.n = 0};
	int got = gather(&m, list, names_of);
	if (got == 1) got = kinds_of(&kinds, &m, codes_of);
	if (got != 1) {
		members_free(&m);
		free(kinds.of.at);
		return got == 0 ? none() : NULL;
	}
	w.grown = (long long)weight * (long long)m.instances;
	if (!put_inverted(seen, &m, list) && !write_lengths(&w, &m))
		next = write_level(&w, &m, &kinds, seen, temps, others, &repeated);
	if (next && !flush(&w) && (!hold || (held = hold_members(&m))))
		result = Py_BuildValue("(OOO)", next, repeated ? &_Py_TrueStruct : None, held ? held : None);
	if (next) Py_DecRef(next);
	if (held) Py_DecRef(held);
	members_free(&m);
	free(kinds.of.at);
	free(w.out.at);
	return result;
}

/* Finds the bit that says that a string is ASCII, if the words of strings are as expected. */
static unsigned ascii_bit(void)
{
	static const char *const plain[] = {"ascii text", "xy", "\x7f\x01z"};
	static const char *const others[] = {"\xc3\xa9t\xc3\xa9", "\xc3\xbf", "\xe4\xb8\xad\xe6\x96\x87", "\xf0\x9f\x98\x80 b"};
	static const unsigned candidates[] = {1u << 6, 1u << 20};
	for (size_t c = 0; c < 2; c++) {
		int right = 1;
		for (size_t i = 0; i < 7; i++) {
			PyObject *s = PyUnicode_FromString(i < 3 ? plain[i] : others[i - 3]);
			if (!s) { PyErr_Clear(); return 0; }
			right &= !!(((uint32_t *)s)[8] & candidates[c]) == (i < 3);
			Py_DecRef(s);
		}
		if (right) return candidates[c];
	}
	return 0;
}

/* differing(before, now): the keys of now whose values are not those of before, or that are new; None if the keys of
   before are not the first of now. */
static PyObject *differing(PyObject *self, PyObject *args)
{
	PyObject *before, *now, *first, *key, *was, *is, *found;
	Py_ssize_t i = 0, k = 0;
	if (!PyArg_ParseTuple(args, "OO", &before, &now) || !(found = PyList_New(0))) return NULL;
	int bad = 0, moved = 0;
	while (!bad && !moved && PyDict_Next(before, &i, &first, &was)) {
		moved = !PyDict_Next(now, &k, &key, &is) || key != first;
		if (!moved && is != was) bad = PyList_Append(found, key);
	}
	while (!bad && !moved && PyDict_Next(now, &k, &key, &is)) bad = PyList_Append(found, key);
	if (!bad && !moved) return found;
	Py_DecRef(found);
	return bad ? NULL : none();
}

static PyMethodDef functions[] = {
	{"differing", differing, METH_VARARGS, NULL},
	{"atoms", atoms, METH_VARARGS, NULL}, {"flat", flat, METH_VARARGS, NULL}, {"sets", sets, METH_VARARGS, NULL},
	{"level", level, METH_VARARGS, NULL}, {"same", same, METH_VARARGS, NULL},
	{"template", template, METH_O, NULL}, {"alone", alone, METH_NOARGS, NULL}, {0},
};
static PyModuleDef definition = {.head = {1, NULL}, .name = "_native", .size = -1, .methods = functions};

__attribute__((visibility("default"))) PyObject *PyInit__native(void)
{
	PyObject *list = PyList_New(0), *module;
	int right = list && list->type == &PyList_Type && sizeof(void *) == 8;
	if (list) Py_DecRef(list);
	if (!right) {
		PyErr_SetString(PyExc_ImportError, "another layout of objects");
		return NULL;
	}
	ascii = ascii_bit();
	const char *version = Py_GetVersion();
	for (minor = 0, version += 2; *version >= '0' && *version <= '9'; version++) minor = 10 * minor + *version - '0';
	basic_size = PyUnicode_FromString("__basicsize__");
	if (!(ordinals_type = PyType_FromSpec(&ordinals_spec)) || !(held_type = PyType_FromSpec(&held_spec)) ||
		!(module = PyModule_Create2(&definition, 1013)))
		return NULL;
	Py_IncRef(ordinals_type);
	return PyModule_AddObject(module, "Ordinals", ordinals_type) ? NULL : module;
}
