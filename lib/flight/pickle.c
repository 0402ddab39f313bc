#include "lib/flight/pickle_machine.h"

bool machine_wrong(struct machine *m, const char *why)
{
	if (!m->wrong)
		m->wrong = why;
	return false;
}

static bool no_room(struct machine *m) { return machine_wrong(m, "it unfolds to too much"); }

/* Twice as much room for an array of the machine's own. */
static bool widen(struct machine *m, void *array, size_t *cap, size_t n, size_t size)
{
	size_t more = *cap ? *cap * 2 : 256;
	void *old, *bigger;

	while (more <= n)
		more *= 2;
	bigger = value_alloc(m->room, more * size);
	if (!bigger)
		return no_room(m);
	memcpy(&old, array, sizeof(old));
	if (*cap)
		memcpy(bigger, old, *cap * size);
	memcpy(array, &bigger, sizeof(bigger));
	*cap = more;
	return true;
}

bool machine_push(struct machine *m, struct value v)
{
	if (m->n == m->cap && !widen(m, &m->stack, &m->cap, m->n, sizeof(*m->stack)))
		return false;
	m->stack[m->n++] = v;
	return true;
}

size_t machine_depth(const struct machine *m)
{
	return m->n - (m->nmarks ? m->marks[m->nmarks - 1] : 0);
}

bool machine_pop(struct machine *m, struct value *ret)
{
	if (!machine_depth(m))
		return machine_wrong(m, "it takes what it never put");
	*ret = m->stack[--m->n];
	return true;
}

bool machine_bytes(struct machine *m, size_t n, const unsigned char **ret)
{
	if ((size_t)(m->end - m->at) < n) {
		m->is_cut = true;
		return machine_wrong(m, "it is cut short");
	}
	*ret = m->at;
	m->at += n;
	return true;
}

/* A little-endian number of @n bytes. */
static bool number(struct machine *m, size_t n, uint64_t *ret)
{
	const unsigned char *p;

	if (!machine_bytes(m, n, &p))
		return false;
	*ret = 0;
	for (size_t i = n; i-- > 0;)
		*ret = *ret << 8 | p[i];
	return true;
}

bool machine_gather(struct machine *m, size_t n, enum value_kind kind)
{
	struct value_seq *seq = n > machine_depth(m) ? NULL : value_seq_new(m->room, n);
	struct value v = {.kind = (uint8_t)kind, .seq = seq};

	if (n > machine_depth(m))
		return machine_wrong(m, "it takes what it never put");
	if (!seq || (n && !value_push(m->room, seq, m->stack + m->n - n, n)))
		return no_room(m);
	m->n -= n;
	return machine_push(m, v);
}

/* --- marks ------------------------------------------------------------------- */
static bool op_mark(struct machine *m)
{
	if (m->nmarks == m->marks_cap &&
	    !widen(m, &m->marks, &m->marks_cap, m->nmarks, sizeof(*m->marks)))
		return false;
	m->marks[m->nmarks++] = (uint32_t)m->n;
	return true;
}

static bool unmark(struct machine *m, size_t *ret_n)
{
	if (!m->nmarks)
		return machine_wrong(m, "a mark is missing");
	*ret_n = machine_depth(m);
	m->nmarks--;
	return true;
}

static bool gather_marked(struct machine *m, enum value_kind kind)
{
	size_t n;

	return unmark(m, &n) && machine_gather(m, n, kind);
}

static bool op_tuple(struct machine *m) { return gather_marked(m, VALUE_LIST); }
static bool op_dict(struct machine *m) { return gather_marked(m, VALUE_DICT); }
static bool op_none_of(struct machine *m) { return machine_gather(m, 0, VALUE_LIST); }
static bool op_tuple1(struct machine *m) { return machine_gather(m, 1, VALUE_LIST); }
static bool op_tuple2(struct machine *m) { return machine_gather(m, 2, VALUE_LIST); }
static bool op_tuple3(struct machine *m) { return machine_gather(m, 3, VALUE_LIST); }
static bool op_empty_dict(struct machine *m) { return machine_gather(m, 0, VALUE_DICT); }

/* Adds the top @n values to what stands below them; what is opaque swallows them. */
static bool add_to(struct machine *m, size_t n)
{
	struct value *to;

	if (machine_depth(m) < n + 1)
		return machine_wrong(m, "it adds to nothing");
	to = &m->stack[m->n - n - 1];
	if ((to->kind == VALUE_LIST || to->kind == VALUE_DICT) &&
	    !value_push(m->room, to->seq, to + 1, n))
		return no_room(m);
	m->n -= n;
	return true;
}

static bool op_append(struct machine *m) { return add_to(m, 1); }
static bool op_setitem(struct machine *m) { return add_to(m, 2); }

static bool op_add_marked(struct machine *m)
{
	size_t n;

	return unmark(m, &n) && add_to(m, n);
}

static bool op_pop(struct machine *m)
{
	struct value drop;

	if (m->nmarks && !machine_depth(m))
		return m->nmarks--, true;
	return machine_pop(m, &drop);
}

static bool op_pop_marked(struct machine *m)
{
	size_t n;

	if (!unmark(m, &n))
		return false;
	m->n -= n;
	return true;
}

static bool op_dup(struct machine *m)
{
	return machine_depth(m) ? machine_push(m, m->stack[m->n - 1])
				: machine_wrong(m, "it takes what it never put");
}

/* --- plain values ------------------------------------------------------------- */
static bool push_int(struct machine *m, int64_t i)
{
	return machine_push(m, (struct value){.kind = VALUE_INT, .i = i});
}

static bool push_bool(struct machine *m, bool b)
{
	return machine_push(m, (struct value){.kind = VALUE_BOOL, .i = b});
}

static bool op_none(struct machine *m) { return machine_push(m, (struct value){0}); }
static bool op_true(struct machine *m) { return push_bool(m, true); }
static bool op_false(struct machine *m) { return push_bool(m, false); }

static bool op_int4(struct machine *m)
{
	uint64_t v;

	return number(m, 4, &v) && push_int(m, (int32_t)(uint32_t)v);
}

static bool op_int1(struct machine *m)
{
	uint64_t v;

	return number(m, 1, &v) && push_int(m, (int64_t)v);
}

static bool op_int2(struct machine *m)
{
	uint64_t v;

	return number(m, 2, &v) && push_int(m, (int64_t)v);
}

/* Of any length; what does not fit is opaque. */
static bool long_of(struct machine *m, uint64_t n)
{
	const unsigned char *p;
	uint64_t v = 0;

	if (n > INT32_MAX)
		return machine_wrong(m, "a number is too long");
	if (!machine_bytes(m, (size_t)n, &p))
		return false;
	if (n > sizeof(v))
		return machine_push(m, (struct value){.kind = VALUE_OTHER});
	for (size_t i = (size_t)n; i-- > 0;)
		v = v << 8 | p[i];
	if (n && n < sizeof(v) && p[n - 1] & 0x80) /* its sign goes on upwards */
		v |= ~(uint64_t)0 << (8 * n);
	return push_int(m, (int64_t)v);
}

static bool op_long1(struct machine *m)
{
	uint64_t n;

	return number(m, 1, &n) && long_of(m, n);
}

static bool op_long4(struct machine *m)
{
	uint64_t n;

	return number(m, 4, &n) && long_of(m, n);
}

static bool op_float(struct machine *m)
{
	const unsigned char *p;
	uint64_t bits = 0;
	struct value v = {.kind = VALUE_FLOAT};

	if (!machine_bytes(m, sizeof(bits), &p))
		return false;
	for (size_t i = 0; i < sizeof(bits); i++) /* the other way round than its whole numbers */
		bits = bits << 8 | p[i];
	memcpy(&v.f, &bits, sizeof(bits));
	return machine_push(m, v);
}

static bool text_of(struct machine *m, size_t width)
{
	const unsigned char *p;
	uint64_t n;
	struct value v = {.kind = VALUE_TEXT};

	if (!number(m, width, &n))
		return false;
	if (n > INT32_MAX)
		return machine_wrong(m, "a text is too long");
	if (!machine_bytes(m, (size_t)n, &p))
		return false;
	v.n = (uint32_t)n;
	v.s = (const char *)p;
	return machine_push(m, v);
}

static bool op_text1(struct machine *m) { return text_of(m, 1); }
static bool op_text4(struct machine *m) { return text_of(m, 4); }
static bool op_text8(struct machine *m) { return text_of(m, 8); }

/* --- the memo ------------------------------------------------------------------ */
static bool put(struct machine *m, uint64_t at)
{
	enum { GAP = 1024 };

	if (!machine_depth(m))
		return machine_wrong(m, "it remembers nothing");
	/* who writes pickles counts up */
	if (at > m->nmemo + GAP)
		return machine_wrong(m, "its memo has holes");
	if (at >= m->memo_cap && !widen(m, &m->memo, &m->memo_cap, (size_t)at, sizeof(*m->memo)))
		return false;
	m->memo[at] = m->stack[m->n - 1];
	m->nmemo = at >= m->nmemo ? (size_t)at + 1 : m->nmemo;
	return true;
}

static bool get(struct machine *m, uint64_t at)
{
	return at < m->nmemo ? machine_push(m, m->memo[at])
			     : machine_wrong(m, "it recalls what it never kept");
}

static bool op_put1(struct machine *m)
{
	uint64_t at;

	return number(m, 1, &at) && put(m, at);
}

static bool op_put4(struct machine *m)
{
	uint64_t at;

	return number(m, 4, &at) && put(m, at);
}

static bool op_memoize(struct machine *m) { return put(m, m->nmemo); }

static bool op_get1(struct machine *m)
{
	uint64_t at;

	return number(m, 1, &at) && get(m, at);
}

static bool op_get4(struct machine *m)
{
	uint64_t at;

	return number(m, 4, &at) && get(m, at);
}

/* --- the frame of it ------------------------------------------------------------- */
static bool op_proto(struct machine *m)
{
	uint64_t version;

	return number(m, 1, &version) &&
	       (version <= 5 || machine_wrong(m, "its protocol is newer than 5"));
}

static bool op_frame(struct machine *m)
{
	uint64_t n;

	return number(m, 8, &n);
}

static bool op_stop(struct machine *m) { return m->is_over = true; }

static bool (*const ops[256])(struct machine *) = {
	[0x80] = op_proto,  [0x95] = op_frame,	   ['.'] = op_stop,	  ['('] = op_mark,
	['0'] = op_pop,	    ['1'] = op_pop_marked, ['2'] = op_dup,	  ['N'] = op_none,
	[0x88] = op_true,   [0x89] = op_false,	   ['J'] = op_int4,	  ['K'] = op_int1,
	['M'] = op_int2,    [0x8a] = op_long1,	   [0x8b] = op_long4,	  ['G'] = op_float,
	['X'] = op_text4,   [0x8c] = op_text1,	   [0x8d] = op_text8,	  ['T'] = op_text4,
	['U'] = op_text1,   ['B'] = op_text4,	   ['C'] = op_text1,	  [0x8e] = op_text8,
	[0x96] = op_text8,  [')'] = op_none_of,	   [0x85] = op_tuple1,	  [0x86] = op_tuple2,
	[0x87] = op_tuple3, ['t'] = op_tuple,	   [']'] = op_none_of,	  ['l'] = op_tuple,
	['a'] = op_append,  ['e'] = op_add_marked, ['}'] = op_empty_dict, ['d'] = op_dict,
	['s'] = op_setitem, ['u'] = op_add_marked, [0x8f] = op_none_of,	  [0x90] = op_add_marked,
	[0x91] = op_tuple,  ['h'] = op_get1,	   ['j'] = op_get4,	  ['q'] = op_put1,
	['r'] = op_put4,    [0x94] = op_memoize,   ['c'] = op_global,	  [0x93] = op_stack_global,
	['R'] = op_reduce,  [0x81] = op_newobj,	   [0x92] = op_newobj_ex, ['b'] = op_build,
};

bool pickle_begins(const char *head, size_t n)
{
	return n >= 3 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5 &&
	       strchr("c}](\x95", head[2]) && head[2];
}

static bool step(struct machine *m)
{
	const unsigned char *op;

	if (!machine_bytes(m, 1, &op))
		return false;
	return ops[*op] ? ops[*op](m) : machine_wrong(m, "it has an operation that no dump has");
}

int pickle_read(const char *data, size_t n, struct value_room *room, struct value *ret,
		bool *ret_cut, struct err *e)
{
	struct machine m = {.at = (const unsigned char *)data, .room = room};

	m.end = m.at + n;
	while (!m.is_over && step(&m))
		;
	if (ret_cut)
		*ret_cut = m.is_cut;
	if (m.is_over && machine_pop(&m, ret))
		return 0;
	return err_set(e, ERR_SYS, "%s (at byte %zu of %zu)", m.wrong,
		       (size_t)(m.at - (const unsigned char *)data), n);
}
