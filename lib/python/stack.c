#include "lib/python/stack.h"

#include "lib/core/arena.h"
#include "lib/core/text.h"
#include "lib/core/utf8.h"
#include "lib/python/peek.h"
#include "lib/python/runtime.h"

enum {
	TRIES = 5,
	NAME_MAX_CHARS = 1024,
	TABLE_MAX = 1 << 20,
	MOST_THREADS = 1 << 16,
	OWNED_BY_C = 3,
	TAGS = 7,
};

int py_open(pid_t pid, struct arena *a, struct py_process *ret, struct err *e)
{
	uint8_t told[PY_TOLD];
	struct py_runtime r;

	py_find(pid, a, &r);
	if (!r.at)
		return err_set(e, ERR_ABSENT, "process %d is no Python", (int)pid);
	if (peek_allowed(pid, r.at, e))
		return -1;
	*ret = (struct py_process){.pid = pid, .runtime = r.at};
	if ((peek(pid, r.at, told, sizeof(told)) &&
	     layout_told(told, sizeof(told), &ret->layout)) ||
	    layout_known(r.version, &ret->layout))
		return 0;
	return err_set(e, ERR_ABSENT, "process %d is Python %u.%u, whose stacks are not known here",
		       (int)pid, r.version >> 8, r.version & 0xff);
}

/* --- one object ----------------------------------------------------------------- */

static uint64_t pointer(const struct py_process *p, uint64_t at, unsigned offset)
{
	return at ? peek_pointer(p->pid, at + offset) : 0;
}

/* A str; NULL: it is none. */
static const char *string(const struct py_process *p, uint64_t at, struct arena *a)
{
	struct {
		int64_t length, hash;
		uint32_t state;
	} head;
	unsigned width, is_compact, is_ascii;
	AUTO_FREE uint8_t *raw = NULL;
	struct text t;

	if (!at || !peek(p->pid, at + p->layout.head, &head, sizeof(head)))
		return NULL;
	width = head.state >> p->layout.kind_bit & 7;
	is_compact = head.state >> (p->layout.kind_bit + 3) & 1;
	is_ascii = head.state >> (p->layout.kind_bit + 4) & 1;
	if (!is_compact || head.length < 0 || head.length > NAME_MAX_CHARS ||
	    (width != 1 && width != 2 && width != 4))
		return NULL;
	raw = malloc((size_t)head.length * width + 1);
	if (!raw || !peek(p->pid, at + (is_ascii ? p->layout.ascii : p->layout.wide), raw,
			  (size_t)head.length * width))
		return head.length ? NULL : "";
	text_init(&t, a);
	for (int64_t i = 0; i < head.length; i++) {
		uint32_t c = 0;
		char utf8[4];

		memcpy(&c, raw + i * width, width); /* little-endian, as we are */
		text_addn(&t, utf8, utf8_put(c ? c : '?', utf8));
	}
	return t.s;
}

static int line_at(const struct py_process *p, uint64_t code, int64_t at)
{
	uint64_t table = pointer(p, code, p->layout.lines);
	enum { BYTES_SIZE = 16, BYTES = 32 };
	AUTO_FREE uint8_t *v = NULL;
	int32_t first = 0;
	int64_t n = 0;

	if (p->layout.no_lines ||
	    !peek(p->pid, code + p->layout.first_line, &first, sizeof(first)) || !table ||
	    !peek(p->pid, table + BYTES_SIZE, &n, sizeof(n)) || n < 0 || n > TABLE_MAX)
		return 0;
	v = malloc((size_t)n + 1);
	return v && peek(p->pid, table + BYTES, v, (size_t)n)
		       ? line_of(p->layout.table, v, (size_t)n, first, at)
		       : 0;
}

/* --- a thread ------------------------------------------------------------------- */

/* The frame is there, but none of Python's code: what calls it from C has one, too. */
static bool is_entry(const struct py_process *p, uint64_t frame)
{
	uint8_t owner = 0;

	return p->layout.owner && peek(p->pid, frame + p->layout.owner, &owner, 1) &&
	       owner >= OWNED_BY_C;
}

static bool read_frame(const struct py_process *p, uint64_t frame, struct arena *a,
		       struct py_frame *ret, uint64_t *mark)
{
	uint64_t code = pointer(p, frame, p->layout.code) & ~(uint64_t)TAGS;
	int64_t at = 0;

	ret->function = string(p, pointer(p, code, p->layout.name), a);
	ret->file = string(p, pointer(p, code, p->layout.file), a);
	if (!ret->function || !ret->file)
		return false;
	if (p->layout.bytecode) {
		uint64_t instruction = pointer(p, frame, p->layout.instruction);

		at = (int64_t)(instruction - (code + p->layout.bytecode));
	} else {
		int32_t index = 0;

		if (!peek(p->pid, frame + p->layout.instruction, &index, sizeof(index)))
			return false;
		at = p->layout.table == LINES_SPANS ? 2 * (int64_t)index : index;
	}
	ret->line = line_at(p, code, at);
	*mark = (*mark ^ code) * 0x100000001b3u;
	*mark = (*mark ^ (uint64_t)at) * 0x100000001b3u;
	return true;
}

static uint64_t innermost(const struct py_process *p, uint64_t thread)
{
	if (p->layout.cframe)
		thread = pointer(p, thread, p->layout.cframe);
	return pointer(p, thread, p->layout.frame);
}

/* False: it changed while it was read. */
static bool read_thread(const struct py_process *p, uint64_t thread, struct arena *a,
			struct py_stack *ret)
{
	uint64_t first = innermost(p, thread), mark = 0xcbf29ce484222325u, f = first;
	LIST(struct py_frame) frames = {0};

	for (int i = 0; f && i < PY_FRAMES; i++, f = pointer(p, f, p->layout.caller))
		if (!is_entry(p, f) && !read_frame(p, f, a, LIST_ADD(a, &frames), &mark))
			return false;
	ret->frames = frames.v;
	ret->n = frames.n;
	ret->mark = mark;
	return innermost(p, thread) == first;
}

/* The first interpreter of the process: later ones are in front of it. */
static uint64_t main_interpreter(const struct py_process *p)
{
	uint64_t at = pointer(p, p->runtime, p->layout.interpreters);

	for (int i = 0; i < 8; i++) {
		uint64_t next = pointer(p, at, p->layout.interpreter_next);

		if (!next)
			break;
		at = next;
	}
	return at;
}

/* New ones are put in front: the last is the first that there was. */
static uint64_t main_thread(const struct py_process *p, size_t *ret_n)
{
	uint64_t last = 0, t = pointer(p, main_interpreter(p), p->layout.threads);

	for (*ret_n = 0; t && *ret_n < MOST_THREADS; t = pointer(p, t, p->layout.next)) {
		last = t;
		(*ret_n)++;
	}
	return last;
}

static bool read_all(const struct py_process *p, struct arena *a, struct py_stack *ret)
{
	uint64_t thread = main_thread(p, &ret->threads);

	return !thread || read_thread(p, thread, a, ret);
}

int py_look(const struct py_process *p, struct arena *a, struct py_stack *ret, struct err *e)
{
	for (int i = 0; i < TRIES; i++) {
		*ret = (struct py_stack){0};
		if (read_all(p, a, ret))
			return 0;
	}
	if (peek_allowed(p->pid, p->runtime, e))
		return -1;
	return err_set(e, ERR_SYS, "the stack of process %d changes faster than it can be read",
		       (int)p->pid);
}

bool py_glance(pid_t pid, struct arena *a, struct py_stack *ret)
{
	struct err ignored = {0};
	struct py_process p;

	return !py_open(pid, a, &p, &ignored) && !py_look(&p, a, ret, &ignored) && ret->n > 0;
}

const char *py_bare_name(const char *function)
{
	const char *dot = strrchr(function, '.');

	return dot ? dot + 1 : function;
}
