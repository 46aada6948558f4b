/* What the containers of a level hold: see members in walk_containers.py. */

typedef struct { PyObject **at; size_t n, room; } Objects;

static inline int put_object(Objects *a, PyObject *o)
{
	if (a->n == a->room) {
		size_t room = a->room ? 2 * a->room : 1 << 10;
		PyObject **at = realloc(a->at, room * sizeof *at);
		if (!at) { PyErr_NoMemory(); return -1; }
		a->at = at;
		a->room = room;
	}
	a->at[a->n++] = o;
	return 0;
}

/* Objects that stay alive: hashing, and code of Python, let other threads of the program run. */
static int put_member(Objects *a, PyObject *o)
{
	if (put_object(a, o)) return -1;
	Py_IncRef(o);
	return 0;
}

static void free_members(Objects *a)
{
	for (size_t i = 0; i < a->n; i++) Py_DecRef(a->at[i]);
	free(a->at);
}

enum { MAX_KINDS = 64 };

/* The containers of one kind. */
typedef struct {
	PyObject *kind, *names; /* of instances without a __dict__: the names of attributes, by number */
	size_t size;            /* how many containers */
	Py_ssize_t basic;       /* of instances */
} Group;

/* The members of a level, kind by kind. */
typedef struct {
	Objects inner, keys; /* the keys of the present kind come after its values */
	Bytes lengths;       /* int32 each */
	Group groups[MAX_KINDS];
	size_t n, instances;
	int borrowed; /* no code runs while they are used */
} Members;

static void members_free(Members *m)
{
	if (m->borrowed) m->inner.n = m->keys.n = 0;
	for (Group *g = m->groups; g < m->groups + m->n; g++) {
		if (g->names) Py_DecRef(g->names);
		Py_DecRef(g->kind);
	}
	free_members(&m->inner);
	free_members(&m->keys);
	free(m->lengths.at);
}

static inline int put_of(Members *m, Objects *a, PyObject *o)
{
	return m->borrowed ? put_object(a, o) : put_member(a, o);
}

/* Puts the keys behind the values: both are of one kind. */
static int join_keys(Members *m)
{
	for (size_t i = 0; i < m->keys.n; i++)
		if (put_object(&m->inner, m->keys.at[i])) {
			m->inner.n -= i; /* they are freed as keys */
			return -1;
		}
	free(m->keys.at);
	m->keys = (Objects){0};
	return 0;
}

static int put_length(Members *m, Py_ssize_t n)
{
	int32_t v = (int32_t)n;
	return n > INT32_MAX ? -1 : add(&m->lengths, &v, 4);
}

/* Visiting many dicts takes longer than the work done there: so keys and values come in one pass. */
static int put_dict(Members *m, PyObject *d)
{
	Py_ssize_t at = 0;
	PyObject *k, *v;
	while (PyDict_Next(d, &at, &k, &v))
		if (put_of(m, &m->inner, v) || put_of(m, &m->keys, k)) return -1;
	return 0;
}

static int put_items(Members *m, PyObject *o, int list)
{
	Py_ssize_t n = list ? PyList_Size(o) : PyTuple_Size(o);
	if (put_length(m, n)) return -1;
	for (Py_ssize_t k = 0; k < n; k++)
		if (put_of(m, &m->inner, list ? PyList_GetItem(o, k) : PyTuple_GetItem(o, k))) return -1;
	return 0;
}

/* ---- Instances without a __dict__: see attributes.py, which tests this layout ---- */

static int minor; /* of the interpreter's version */

/* The values of an instance, how many it has, and the numbers of their names in the order in which they were set. */
typedef struct { PyObject **values; const uint8_t *order; int n, step; } Attributes;

/* Returns 0 if the instance has a __dict__. */
static int attributes_of(PyObject *o, Py_ssize_t basic, Attributes *a)
{
	const uint8_t *at = (const uint8_t *)o;
	if (minor == 13) {
		const uint8_t *head = at + basic; /* room, count, address, whether they count */
		if (*(PyObject **)(at - 24) || !head[3]) return 0;
		*a = (Attributes){(PyObject **)(head + 8), head + 8 + 8 * head[0], head[1], 1};
		return 1;
	}
	uint64_t word = *(uint64_t *)(at - (minor == 12 ? 24 : 32));
	if (minor == 12 ? !(word & 1) : !word) return 0;
	const uint8_t *values = (const uint8_t *)(word + (minor == 12));
	*a = (Attributes){(PyObject **)values, values - 3, values[-2], -1};
	return 1;
}

static PyObject *basic_size; /* "__basicsize__" */

static int ask_names(Group *g, PyObject *ask, PyObject *level, long long count)
{
	PyObject *number = PyLong_FromLongLong(count);
	PyObject *r = number ? PyObject_CallFunctionObjArgs(ask, g->kind, level, number, NULL) : NULL;
	if (number) Py_DecRef(number);
	if (!r) return -1;
	if (g->names) Py_DecRef(g->names);
	g->names = NULL;
	if (r == None) { Py_DecRef(r); return 0; }
	if (r->type == &PyList_Type) g->names = r;
	else Py_DecRef(r);
	return 1;
}

/* Returns the size of instances of a class without what CPython puts before and behind it, or -1. */
static Py_ssize_t basic_of(PyObject *kind)
{
	PyObject *size = PyObject_GetAttr(kind, basic_size);
	Py_ssize_t n = size ? (Py_ssize_t)PyLong_AsLongLong(size) : -1;
	if (size) Py_DecRef(size);
	return n;
}

/* Asks for the names of the attributes that the instances of a class have. */
static int find_names(Group *g, PyObject *ask, PyObject *level)
{
	Attributes a;
	int most = 0;
	if ((g->basic = basic_of(g->kind)) < 0) return -1;
	for (Py_ssize_t i = 0; i < PyList_Size(level); i++) {
		PyObject *o = PyList_GetItem(level, i);
		if (o->type != g->kind) continue;
		if (!attributes_of(o, g->basic, &a)) return 0;
		for (int k = 0; k < a.n; k++)
			if (a.order[k * a.step] >= most) most = a.order[k * a.step] + 1;
	}
	return ask_names(g, ask, level, most);
}

static int put_instance(Members *m, Group *g, PyObject *o)
{
	Attributes a;
	if (!attributes_of(o, g->basic, &a)) return 0;
	if (put_length(m, a.n)) return -1;
	for (int k = 0; k < a.n; k++) {
		int number = a.order[k * a.step];
		if (!a.values[number] || number >= PyList_Size(g->names)) return 0;
		if (put_of(m, &m->inner, a.values[number]) || put_of(m, &m->keys, PyList_GetItem(g->names, number)))
			return -1;
	}
	return 1;
}

/* Puts what a container holds: the values, and the keys of dicts and instances, which come after the values of all. */
static int put_container(Members *m, Group *g, PyObject *o)
{
	if (g->names) return put_instance(m, g, o);
	if (g->kind == &PyDict_Type) return put_length(m, PyDict_Size(o)) || put_dict(m, o) ? -1 : 1;
	return put_items(m, o, g->kind == &PyList_Type) ? -1 : 1;
}

/* Returns 1 if it has them, 0 if Python has to look, and -1 on an error. ask(type, level, count) returns a list of at
   least so many names of attributes of a class, or True for a class of tuples, or None; it is asked with -1 first.
   Without it, the members are borrowed. Once all is asked, no code of Python runs until all members are there: another
   thread of the program may change the containers, and what they are. */
static int gather(Members *m, PyObject *level, PyObject *ask)
{
	Py_ssize_t count = PyList_Size(level), found = 0;
	memset(m, 0, sizeof *m);
	m->borrowed = !ask;
	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *type = PyList_GetItem(level, i)->type;
		size_t g = 0;
		while (g < m->n && m->groups[g].kind != type) g++;
		if (g < m->n) continue;
		if (g == MAX_KINDS) return 0;
		Py_IncRef(type); /* a thread may give the objects another */
		m->groups[m->n++].kind = type;
	}
	for (Group *g = m->groups; g < m->groups + m->n; g++) {
		if (g->kind == &PyList_Type || g->kind == &PyTuple_Type || g->kind == &PyDict_Type) continue;
		int got = ask ? ask_names(g, ask, level, -1) : 0;
		if (got == 1 && g->names) got = find_names(g, ask, level);
		if (got < 1) return got;
	}
	for (Group *g = m->groups; g < m->groups + m->n; g++) {
		for (Py_ssize_t i = 0; i < count; i++) {
			PyObject *o = PyList_GetItem(level, i);
			if (o->type != g->kind) continue;
			int got = put_container(m, g, o);
			if (got < 1) return got;
			g->size++;
		}
		if (join_keys(m)) return -1;
		found += (Py_ssize_t)g->size;
		m->instances += g->names ? g->size : 0;
	}
	return found == count;
}
