/* Growing arrays of bytes. */

typedef struct { char *at; size_t n, room; } Bytes;

static int more_bytes(Bytes *b, size_t more)
{
	size_t room = b->room ? b->room : 1 << 8;
	while (room < b->n + more) room *= 2;
	char *at = realloc(b->at, room);
	if (!at) { PyErr_NoMemory(); return -1; }
	b->at = at;
	b->room = room;
	return 0;
}

static inline int reserve(Bytes *b, size_t more) { return b->n + more <= b->room ? 0 : more_bytes(b, more); }

static inline int add(Bytes *b, const void *data, size_t n)
{
	if (reserve(b, n)) return -1;
	if (n) memcpy(b->at + b->n, data, n);
	b->n += n;
	return 0;
}

static inline int add_tagged(Bytes *b, char tag, int32_t v)
{
	if (reserve(b, 5)) return -1;
	b->at[b->n] = tag;
	memcpy(b->at + b->n + 1, &v, 4);
	b->n += 5;
	return 0;
}

/* Adds a number in decimal. */
static int add_decimal(Bytes *b, uint64_t v)
{
	char digits[20];
	size_t at = sizeof digits;
	do digits[--at] = (char)('0' + v % 10); while (v /= 10);
	return add(b, digits + at, sizeof digits - at);
}
