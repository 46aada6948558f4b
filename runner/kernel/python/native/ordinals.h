/* Ordinals: see ordinals.py in xstate_kernel/ground. */

typedef struct {
	PyObject head;
	int64_t *ids;      /* in the order in which they were added: the place of each is its ordinal */
	uint8_t *shared;   /* SHARED: other values may share it; INVERTED: so, and its place is that of ~id, inverted */
	int32_t *index;    /* open addressing; the ordinal + 1, or 0 */
	size_t n, room, mask, sharing;
} Ordinals;

static PyObject *ordinals_type;
enum { SHARED = 1, INVERTED = 2 };

static inline size_t spot(int64_t id)
{
	uint64_t x = (uint64_t)id;
	x ^= x >> 32;
	x *= 0x9E3779B97F4A7C15ULL;
	return (size_t)(x >> 20);
}

static inline int64_t find(Ordinals *t, int64_t id)
{
	if (!t->index) return -1;
	for (size_t i = spot(id) & t->mask;; i = (i + 1) & t->mask) {
		int32_t k = t->index[i];
		if (!k) return -1;
		if (t->ids[k - 1] == id) return k - 1;
	}
}

static int more_room(Ordinals *t)
{
	size_t room = t->room ? 2 * t->room : 8;
	int64_t *ids = realloc(t->ids, room * sizeof *ids);
	if (ids) t->ids = ids;
	uint8_t *shared = realloc(t->shared, room);
	if (shared) t->shared = shared;
	int32_t *index = calloc(2 * room, sizeof *index);
	if (!ids || !shared || !index || room >= INT32_MAX / 2) {
		free(index);
		PyErr_NoMemory();
		return -1;
	}
	free(t->index);
	t->index = index;
	t->room = room;
	t->mask = 2 * room - 1;
	for (size_t k = 0; k < t->n; k++) {
		size_t i = spot(t->ids[k]) & t->mask;
		while (index[i]) i = (i + 1) & t->mask;
		index[i] = (int32_t)(k + 1);
	}
	return 0;
}

/* Adds an id that is not there. */
static int put_new(Ordinals *t, int64_t id, int shared)
{
	if (t->n == t->room && more_room(t)) return -1;
	size_t i = spot(id) & t->mask;
	while (t->index[i]) i = (i + 1) & t->mask;
	t->ids[t->n] = id;
	t->shared[t->n] = (uint8_t)shared;
	t->sharing += shared != 0;
	t->index[i] = (int32_t)++t->n;
	return 0;
}

/* Whether other values may share an object: it is not one that the walk made. -1: an error. */
static int is_shared(int64_t id, PyObject *temps)
{
	if (temps == None) return SHARED;
	PyObject *key = PyLong_FromLongLong(id);
	int made = key ? PySet_Contains(temps, key) : -1;
	if (key) Py_DecRef(key);
	return made < 0 ? -1 : !made;
}

static int id_from(PyObject *o, int64_t *id)
{
	*id = PyLong_AsLongLong(o);
	return *id == -1 && PyErr_Occurred() ? -1 : 0;
}

static PyObject *ordinals_new(PyObject *type, PyObject *args, PyObject *named) { return PyType_GenericAlloc(type, 0); }

static void ordinals_free(Ordinals *t)
{
	PyObject *type = t->head.type;
	free(t->ids);
	free(t->shared);
	free(t->index);
	PyObject_Free(t);
	Py_DecRef(type);
}

static Py_ssize_t ordinals_len(Ordinals *t) { return (Py_ssize_t)t->n; }

static inline int64_t place(Ordinals *t, int64_t n)
{
	return t->shared[n] == INVERTED ? ~find(t, ~t->ids[n]) : n;
}

static PyObject *ordinals_item(Ordinals *t, PyObject *o)
{
	int64_t id, n;
	if (id_from(o, &id)) return NULL;
	if ((n = find(t, id)) < 0) { PyErr_SetObject(PyExc_KeyError, o); return NULL; }
	return PyLong_FromLongLong(place(t, n));
}

static int ordinals_contains(Ordinals *t, PyObject *o)
{
	int64_t id;
	return id_from(o, &id) ? -1 : find(t, id) >= 0;
}

static PyObject *ordinals_get(Ordinals *t, PyObject *args)
{
	int64_t id, n;
	PyObject *o, *other = None;
	if (!PyArg_ParseTuple(args, "O|O", &o, &other) || id_from(o, &id)) return NULL;
	if ((n = find(t, id)) >= 0) return PyLong_FromLongLong(n);
	Py_IncRef(other);
	return other;
}

static PyObject *ordinals_add(Ordinals *t, PyObject *o)
{
	int64_t id;
	if (id_from(o, &id) || (find(t, id) < 0 && put_new(t, id, 0))) return NULL;
	return none();
}

static PyObject *ordinals_extend(Ordinals *t, PyObject *ids)
{
	PyObject *it = PyObject_GetIter(ids), *o;
	while (it && (o = PyIter_Next(it))) {
		PyObject *r = ordinals_add(t, o);
		Py_DecRef(o);
		if (!r) { Py_DecRef(it); return NULL; }
		Py_DecRef(r);
	}
	if (it) Py_DecRef(it);
	return PyErr_Occurred() ? NULL : none();
}

static PyObject *ordinals_isdisjoint(Ordinals *t, PyObject *ids)
{
	PyObject *it = PyObject_GetIter(ids), *o;
	int found = 0;
	while (it && !found && (o = PyIter_Next(it))) {
		found = ordinals_contains(t, o);
		Py_DecRef(o);
	}
	if (it) Py_DecRef(it);
	return PyErr_Occurred() ? NULL : PyBool_FromLong(!found);
}

static PyObject *ordinals_since(Ordinals *t, PyObject *args)
{
	Py_ssize_t first;
	if (!PyArg_ParseTuple(args, "n", &first)) return NULL;
	PyObject *list = PyList_New(0);
	for (size_t k = t->n; list && k-- > (size_t)first;) {
		PyObject *id = PyLong_FromLongLong(t->ids[k]);
		if (!id || PyList_Append(list, id)) { Py_DecRef(list); list = NULL; }
		if (id) Py_DecRef(id);
	}
	return list;
}

static PyObject *ordinals_truncate(Ordinals *t, PyObject *args)
{
	Py_ssize_t first;
	if (!PyArg_ParseTuple(args, "n", &first)) return NULL;
	while (t->n > (size_t)first) {
		int64_t id = t->ids[--t->n];
		t->sharing -= t->shared[t->n] != 0;
		size_t i = spot(id) & t->mask;
		while (t->index[i] != (int32_t)(t->n + 1)) i = (i + 1) & t->mask;
		for (size_t j = i;;) { /* closes the gap, so that what was put after it is found */
			t->index[i] = 0;
			size_t home;
			do {
				j = (j + 1) & t->mask;
				if (!t->index[j]) goto closed;
				home = spot(t->ids[t->index[j] - 1]) & t->mask;
			} while (i <= j ? i < home && home <= j : i < home || home <= j);
			t->index[i] = t->index[j];
			i = j;
		}
	closed:;
	}
	return none();
}

static PyObject *ordinals_withhold(Ordinals *t, PyObject *ids)
{
	PyObject *it = PyObject_GetIter(ids), *o;
	while (it && (o = PyIter_Next(it))) {
		int64_t id, n;
		if (!id_from(o, &id) && (n = find(t, id)) >= 0) {
			t->sharing -= t->shared[n] != 0;
			t->shared[n] = 0;
		}
		Py_DecRef(o);
	}
	if (it) Py_DecRef(it);
	return PyErr_Occurred() ? NULL : none();
}

static PyObject *ordinals_share(Ordinals *t, PyObject *o)
{
	int64_t id, n;
	if (id_from(o, &id)) return NULL;
	if ((n = find(t, id)) >= 0 && !t->shared[n]) {
		t->shared[n] = SHARED;
		t->sharing++;
	}
	return PyBool_FromLong(n >= 0);
}

static PyObject *ordinals_sharing(Ordinals *t, PyObject *unused) { return PyLong_FromLongLong((long long)t->sharing); }

static PyObject *ordinals_places(Ordinals *t, PyObject *unused)
{
	PyObject *found = PyDict_New();
	for (size_t k = 0; found && k < t->n; k++) {
		if (!t->shared[k]) continue;
		PyObject *id = PyLong_FromLongLong(t->ids[k]), *n = PyLong_FromLongLong(place(t, (int64_t)k));
		if (!id || !n || PyDict_SetItem(found, id, n)) { Py_DecRef(found); found = NULL; }
		if (id) Py_DecRef(id);
		if (n) Py_DecRef(n);
	}
	return found;
}

static Ordinals *ordinals_of(PyObject *o)
{
	if (o->type == ordinals_type) return (Ordinals *)o;
	PyErr_SetString(PyExc_TypeError, "not Ordinals");
	return NULL;
}

static inline int64_t find_shared(Ordinals *t, int64_t id)
{
	int64_t n = find(t, id);
	return n >= 0 && t->shared[n] ? n : -1;
}

static PyObject *ordinals_same(Ordinals *t, PyObject *o)
{
	Ordinals *u = ordinals_of(o);
	if (!u) return NULL;
	if (t->sharing != u->sharing) return PyBool_FromLong(0);
	for (size_t k = 0; k < t->n; k++) {
		int64_t n = t->shared[k] ? find_shared(u, t->ids[k]) : -1;
		if (t->shared[k] && (n < 0 || place(u, n) != place(t, (int64_t)k))) return PyBool_FromLong(0);
	}
	return PyBool_FromLong(1);
}

static PyObject *ordinals_meets(Ordinals *t, PyObject *o)
{
	Ordinals *u = ordinals_of(o);
	if (!u) return NULL;
	if (u->n < t->n) { Ordinals *w = t; t = u; u = w; }
	for (size_t k = 0; k < t->n; k++)
		if (t->shared[k] && find_shared(u, t->ids[k]) >= 0) return PyBool_FromLong(1);
	return PyBool_FromLong(0);
}

static PyObject *ordinals_among(Ordinals *t, PyObject *ids)
{
	PyObject *it = PyObject_GetIter(ids), *o, *found = it ? PyList_New(0) : NULL;
	while (found && (o = PyIter_Next(it))) {
		int64_t id;
		int bad = id_from(o, &id) || (find_shared(t, id) >= 0 && PyList_Append(found, o));
		Py_DecRef(o);
		if (bad) { Py_DecRef(found); found = NULL; }
	}
	if (it) Py_DecRef(it);
	if (found && PyErr_Occurred()) { Py_DecRef(found); found = NULL; }
	return found;
}

static PyObject *ordinals_common(Ordinals *t, PyObject *o)
{
	Ordinals *u = ordinals_of(o);
	PyObject *found = u ? PySet_New(NULL) : NULL;
	for (size_t k = 0; found && k < t->n; k++) {
		if (!t->shared[k] || find_shared(u, t->ids[k]) < 0) continue;
		PyObject *id = PyLong_FromLongLong(t->ids[k]);
		if (!id || PySet_Add(found, id)) { Py_DecRef(found); found = NULL; }
		if (id) Py_DecRef(id);
	}
	return found;
}

static int by_number(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
	return x[1] < y[1] ? -1 : x[1] > y[1];
}

static PyObject *ordinals_pairs(Ordinals *t, PyObject *o)
{
	Ordinals *u = ordinals_of(o);
	Bytes b = {0};
	if (!u) return NULL;
	int sorted = 1;
	for (size_t k = 0; k < t->n; k++) {
		int64_t n = t->shared[k] ? find_shared(u, t->ids[k]) : -1;
		if (n < 0) continue;
		int64_t pair[2] = {place(t, (int64_t)k), place(u, n)};
		sorted &= pair[0] >= 0;
		if (add(&b, pair, sizeof pair)) { free(b.at); return NULL; }
	}
	if (!sorted) qsort(b.at, b.n / 16, 16, by_number);
	PyObject *found = PyBytes_FromStringAndSize(b.at, (Py_ssize_t)b.n);
	free(b.at);
	return found;
}

static PyMethodDef ordinals_methods[] = {
	{"get", (PyCFunction)ordinals_get, METH_VARARGS, NULL},
	{"add", (PyCFunction)ordinals_add, METH_O, NULL},
	{"extend", (PyCFunction)ordinals_extend, METH_O, NULL},
	{"isdisjoint", (PyCFunction)ordinals_isdisjoint, METH_O, NULL},
	{"since", (PyCFunction)ordinals_since, METH_VARARGS, NULL},
	{"truncate", (PyCFunction)ordinals_truncate, METH_VARARGS, NULL},
	{"withhold", (PyCFunction)ordinals_withhold, METH_O, NULL},
	{"share", (PyCFunction)ordinals_share, METH_O, NULL},
	{"sharing", (PyCFunction)ordinals_sharing, METH_NOARGS, NULL},
	{"places", (PyCFunction)ordinals_places, METH_NOARGS, NULL},
	{"same", (PyCFunction)ordinals_same, METH_O, NULL},
	{"meets", (PyCFunction)ordinals_meets, METH_O, NULL},
	{"among", (PyCFunction)ordinals_among, METH_O, NULL},
	{"common", (PyCFunction)ordinals_common, METH_O, NULL},
	{"pairs", (PyCFunction)ordinals_pairs, METH_O, NULL},
	{0},
};

static PyType_Slot ordinals_slots[] = {
	{TP_NEW, ordinals_new}, {TP_DEALLOC, ordinals_free}, {TP_METHODS, ordinals_methods},
	{MP_LENGTH, ordinals_len}, {MP_SUBSCRIPT, ordinals_item}, {SQ_CONTAINS, ordinals_contains}, {0},
};
static PyType_Spec ordinals_spec = {"xstate_kernel._native.Ordinals", sizeof(Ordinals), 0, 0, ordinals_slots};
