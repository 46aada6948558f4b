/* Atoms: see atoms.py in xstate_kernel/ground. */

static unsigned ascii; /* the bit that says so, in the word behind a string's hash; 0: none is known */

/* Whether equal atoms of a type have one hash wherever they are: no NaN is among them. */
static inline int steady(PyObject *type)
{
	return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyBytes_Type || type == &PyBool_Type ||
		type == NONE_TYPE;
}

static inline int atom(PyObject *type)
{
	return steady(type) || type == &PyFloat_Type || type == &PyComplex_Type;
}

/* A walk in Python: what it writes to, and what is still to be written. */
typedef struct { PyObject *put, *atoms, *grow; Bytes out; long long grown; } Walk;

enum { BULK = 1 << 16 }; /* atoms that Python may digest by themselves, and bytes that are written at once */

static int call(PyObject *f, const char *data, size_t n)
{
	PyObject *view = PyMemoryView_FromMemory((char *)data, (Py_ssize_t)n, 0x100);
	PyObject *r = view ? PyObject_CallFunctionObjArgs(f, view, NULL) : NULL;
	if (view) Py_DecRef(view);
	if (!r) return -1;
	Py_DecRef(r);
	return 0;
}

static int flush(Walk *w)
{
	if (w->out.n && call(w->put, w->out.at, w->out.n)) return -1;
	w->out.n = 0;
	if (!w->grown) return 0;
	PyObject *size = PyLong_FromLongLong(w->grown);
	PyObject *r = size ? PyObject_CallFunctionObjArgs(w->grow, size, NULL) : NULL;
	if (size) Py_DecRef(size);
	if (r) Py_DecRef(r);
	w->grown = 0;
	return r ? 0 : -1;
}

static int put(Walk *w, const char *data, size_t n)
{
	if (n < BULK) return add(&w->out, data, n) || (w->out.n >= BULK && flush(w)) ? -1 : 0;
	return flush(w) || call(w->put, data, n) ? -1 : 0;
}

static int put_atoms(Walk *w, const char *data, size_t n)
{
	return n < BULK ? put(w, data, n) : flush(w) || call(w->atoms, data, n) ? -1 : 0;
}

static int add_object(Bytes *b, PyObject *bytes)
{
	char *data;
	Py_ssize_t n;
	int bad = !bytes || PyBytes_AsStringAndSize(bytes, &data, &n) || add(b, data, (size_t)n);
	if (bytes) Py_DecRef(bytes);
	return bad ? -1 : 0;
}

static inline int add_text(Bytes *b, PyObject *o)
{
	/* of others, PyUnicode_AsUTF8AndSize would keep what it returns, in memory of the program */
	if (ascii && ((uint32_t *)o)[8] & ascii) {
		Py_ssize_t n;
		const char *data = PyUnicode_AsUTF8AndSize(o, &n);
		return data ? add(b, data, (size_t)n) : -1;
	}
	return add_object(b, PyUnicode_AsEncodedString(o, "utf-8", "surrogatepass"));
}

static int add_integer(Bytes *b, PyObject *o)
{
	int over;
	long long v = PyLong_AsLongLongAndOverflow(o, &over);
	if (over) return add_object(b, PyMarshal_WriteObjectToString(o, 2));
	if (v >= INT32_MIN && v <= INT32_MAX) return add_tagged(b, 'i', (int32_t)v);
	uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	uint16_t digits[5];
	int32_t n = 0;
	for (; rest; rest >>= 15) digits[n++] = rest & 0x7fff;
	return add_tagged(b, 'l', v < 0 ? -n : n) || add(b, digits, 2 * (size_t)n);
}

/* Adds what marshal.dumps writes for an atom as version 2. */
static int add_atom(Bytes *b, PyObject *o)
{
	PyObject *type = o->type;
	if (type == &PyLong_Type) return add_integer(b, o);
	if (type == &PyFloat_Type) {
		char piece[9] = {'g'};
		double v = PyFloat_AsDouble(o);
		memcpy(piece + 1, &v, 8);
		return add(b, piece, 9);
	}
	if (type == &PyUnicode_Type) {
		size_t at = b->n;
		if (add_tagged(b, 'u', 0) || add_text(b, o)) return -1;
		int32_t n = (int32_t)(b->n - at - 5);
		memcpy(b->at + at + 1, &n, 4);
		return 0;
	}
	if (o == None) return add(b, "N", 1);
	if (type == &PyBool_Type) return add(b, o == &_Py_TrueStruct ? "T" : "F", 1);
	return add_object(b, PyMarshal_WriteObjectToString(o, 2));
}

enum { PIECE = 1 << 16, FEW = 64 };

static int write_texts(Walk *w, PyObject **items, size_t n, Bytes *text, Bytes *head)
{
	text->n = head->n = 0;
	for (size_t i = 0; i < n; i++)
		if ((i && add(text, "", 1)) || add_text(text, items[i])) return -1;
	size_t zeros = 0;
	for (char *p = text->at, *end = p + text->n; p && (p = memchr(p, 0, (size_t)(end - p))); p++) zeros++;
	if (add(head, "T", 1) || add_decimal(head, n) || add(head, ",", 1) || add_decimal(head, text->n) ||
		add(head, ",", 1))
		return -1;
	if (zeros >= n) {
		if (add_tagged(head, '[', (int32_t)n)) return -1;
		for (size_t i = 0; i < n; i++)
			if (add_tagged(head, 'i', (int32_t)PyUnicode_GetLength(items[i]))) return -1;
	}
	return put_atoms(w, head->at, head->n) || put_atoms(w, text->at, text->n) ? -1 : 0;
}

static int write_part(Walk *w, PyObject **items, size_t n, int texts)
{
	Bytes b = {0}, head = {0};
	int bad = 0;
	for (size_t i = 0; i < n && !bad; i += PIECE) {
		size_t count = n - i < PIECE ? n - i : PIECE;
		if (texts) {
			bad = write_texts(w, items + i, count, &b, &head);
			continue;
		}
		b.n = 0;
		bad = add_tagged(&b, '[', (int32_t)count);
		for (size_t k = 0; k < count && !bad; k++) bad = add_atom(&b, items[i + k]);
		bad = bad || put_atoms(w, b.at, b.n);
	}
	free(b.at);
	free(head.at);
	w->grown += texts ? 4 * (long long)n : 0;
	return bad ? -1 : 0;
}

static size_t count_texts(PyObject **items, size_t n)
{
	size_t found = 0;
	for (size_t i = 0; i < n; i++) found += items[i]->type == &PyUnicode_Type;
	return found;
}

static int write_atoms(Walk *w, PyObject **items, size_t n)
{
	size_t half = n / 2, texts = count_texts(items, n);
	if (texts && texts < n && half >= FEW && count_texts(items + half, n - half) == n - half) {
		if (write_part(w, items, half, count_texts(items, half) == half)) return -1;
		items += half;
		n -= half;
		texts = n;
	}
	return write_part(w, items, n, n && texts == n);
}

static inline int is_nan(PyObject *o)
{
	if (o->type != &PyFloat_Type) return 0;
	double v = PyFloat_AsDouble(o);
	return v != v;
}

/* Whether all are atoms, and none a NaN, which is distinguished by identity. */
static int plain_atoms(Objects *items)
{
	for (size_t i = 0; i < items->n; i++)
		if (!atom(items->at[i]->type) || is_nan(items->at[i])) return 0;
	return 1;
}
