#include "lib/python/layout.h"

/* Each checked against offsetof() with that version's own headers. */
#define UNTIL_310                                                                                  \
	.interpreters = 32, .threads = 8, .next = 8, .frame = 24, .caller = 24, .code = 32,        \
	.file = 104, .name = 112, .first_line = 40, .lines = 120, .ascii = 48, .wide = 72,         \
	.head = 16, .kind_bit = 2
#define FROM_311                                                                                   \
	.interpreters = 40, .next = 8, .cframe = 56, .instruction = 56, .file = 112, .name = 128,  \
	.lines = 136, .head = 16, .kind_bit = 2, .table = LINES_LOCATIONS
static const struct py_layout known[] = {
	{UNTIL_310, .version = 0x0308, .instruction = 104, .table = LINES_STEPS},
	{UNTIL_310, .version = 0x0309, .instruction = 104, .table = LINES_STEPS},
	{UNTIL_310, .version = 0x030a, .instruction = 96, .table = LINES_SPANS},
	{FROM_311, .version = 0x030b, .threads = 16, .frame = 8, .caller = 48, .code = 32,
	 .owner = 69, .first_line = 72, .bytecode = 184, .ascii = 48, .wide = 72},
	{FROM_311, .version = 0x030c, .threads = 72, .caller = 8, .owner = 70, .first_line = 68,
	 .bytecode = 192, .ascii = 40, .wide = 56},
};

bool layout_known(unsigned version, struct py_layout *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].version == version) {
			*ret = known[i];
			return true;
		}
	return false;
}

/* The words of the table, in its order; those that nobody reads are only counted. */
enum told {
	COOKIE,
	VERSION,
	FREE_THREADED,
	RUNTIME_SIZE,
	FINALIZING,
	INTERPRETERS,
	INTERPRETER_SIZE,
	ID,
	INTERPRETER_NEXT,
	THREADS,
	/* 3.14 has threads_main here */
	GC,
	MODULES,
	SYSDICT,
	BUILTINS,
	CEVAL_GIL,
	GIL,
	GIL_ENABLED,
	GIL_LOCKED,
	GIL_HOLDER,
	/* 3.14 has code_object_generation and tlbc_generation here */
	THREAD_SIZE,
	PREV,
	NEXT,
	INTERP,
	FRAME,
	THREAD_ID,
	NATIVE_ID,
	CHUNK,
	STATUS,
	FRAME_SIZE,
	CALLER,
	CODE,
	INSTRUCTION,
	LOCALS,
	OWNER,
	/* 3.14 has stackpointer and tlbc_index here */
	CODE_SIZE,
	FILENAME,
	NAME,
	QUALNAME,
	LINES,
	FIRST_LINE,
	ARGCOUNT,
	LOCAL_NAMES,
	LOCAL_KINDS,
	BYTECODE,
	TOLD
};

/* Words that a version has more than 3.13, before this one. */
static size_t shift(enum told w, unsigned version)
{
	if (version < 0x030e)
		return 0;
	return (w >= GC) + (w >= THREAD_SIZE ? 2 : 0) + (w >= CODE_SIZE ? 2 : 0);
}

struct words {
	const uint8_t *at;
	size_t n;
	unsigned version;
	bool wrong; /* a word that can be no offset */
};

static uint16_t word(struct words *w, enum told which)
{
	size_t i = which + shift(which, w->version);
	uint64_t v = 0;

	if ((i + 1) * sizeof(v) > w->n) {
		w->wrong = true;
		return 0;
	}
	memcpy(&v, w->at + i * sizeof(v), sizeof(v));
	w->wrong |= v > UINT16_MAX;
	return (uint16_t)v;
}

bool layout_told(const uint8_t *table, size_t n, struct py_layout *ret)
{
	uint64_t version, free_threaded;
	struct words w = {.at = table, .n = n};
	struct py_layout l = {.head = 16, .ascii = 40, .wide = 56, .table = LINES_LOCATIONS};

	if (n < 3 * sizeof(version) || memcmp(table, "xdebugpy", 8) != 0)
		return false;
	memcpy(&version, table + VERSION * sizeof(version), sizeof(version));
	memcpy(&free_threaded, table + FREE_THREADED * sizeof(version), sizeof(version));
	l.version = w.version = (unsigned)(version >> 16) & 0xffff;
	if (l.version < 0x030d || l.version > 0x030e)
		return false; /* a later one may have more words between these */
	l.no_lines = free_threaded;
	l.kind_bit = free_threaded ? 8 : 2;
	if (free_threaded) { /* whose objects have their owner and a lock in front */
		l.head += 16;
		l.ascii += 16;
		l.wide += 16;
	}
	l.interpreters = word(&w, INTERPRETERS);
	l.interpreter_next = word(&w, INTERPRETER_NEXT);
	l.threads = word(&w, THREADS);
	l.next = word(&w, NEXT);
	l.frame = word(&w, FRAME);
	l.caller = word(&w, CALLER);
	l.code = word(&w, CODE);
	l.instruction = word(&w, INSTRUCTION);
	l.owner = word(&w, OWNER);
	l.file = word(&w, FILENAME);
	l.name = word(&w, QUALNAME);
	l.first_line = word(&w, FIRST_LINE);
	l.lines = word(&w, LINES);
	l.bytecode = word(&w, BYTECODE);
	if (w.wrong)
		return false;
	*ret = l;
	return true;
}
