/* Lists that many entries may share are read once: a hostile dump names one of a million items
 * a million times. */
#include "lib/flight/shape.h"

#include "lib/core/hash.h"
#include "lib/flight/frame.h"

/* --- sizes and types ------------------------------------------------------------- */
enum { DIMS = 64 /* no tensor has more */ };
enum { LONG = 240 /* of what is said; the rest is told apart by a sum */ };

struct line {
	char s[LONG + 24];
	size_t n;
	uint32_t rest; /* of what had no room */
};

static void put(struct line *l, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (l->n < LONG)
			l->s[l->n++] = s[i];
		else
			l->rest = hash32_add(l->rest, s + i, 1) + 1;
}

static void put_number(struct line *l, int64_t v)
{
	char s[24];
	size_t at = sizeof(s);
	uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;

	do
		s[--at] = (char)('0' + u % 10);
	while (u /= 10);
	if (v < 0)
		s[--at] = '-';
	put(l, s + at, sizeof(s) - at);
}

static flight_word kept(struct flight *f, struct line *l)
{
	if (l->rest)
		l->n += (size_t)snprintf(l->s + l->n, sizeof(l->s) - l->n, "... #%08x", l->rest);
	return flight_keep(f, l->s, l->n);
}

/* One tensor's: "[4, 1024]". Returns its elements. */
static int64_t put_size(struct line *l, const struct value *v)
{
	const struct value *dim;
	size_t n = value_items(v, &dim);
	int64_t all = 1, d;

	put(l, "[", 1);
	for (size_t i = 0; i < n && i < DIMS; i++) {
		put(l, ", ", i ? 2 : 0);
		d = dim[i].kind == VALUE_INT ? dim[i].i : 0;
		put_number(l, d);
		if (__builtin_mul_overflow(all, d, &all))
			all = 0;
	}
	put(l, "]", 1);
	return all;
}

static flight_word read_sizes(struct flight *f, const struct value *list)
{
	const struct value *t;
	size_t n = value_items(list, &t);
	struct line l = {.n = 0};
	int64_t all = 0;
	flight_word w;

	for (size_t i = 0; i < n; i++) {
		put(&l, ", ", i ? 2 : 0);
		if (__builtin_add_overflow(all, put_size(&l, &t[i]), &all))
			all = 0;
	}
	w = kept(f, &l);
	f->words.v[w].elements = all;
	return w;
}

static flight_word read_types(struct flight *f, const struct value *list)
{
	const struct value *t;
	size_t n = value_items(list, &t);
	struct line l = {.n = 0};

	for (size_t i = 0; i < n; i++)
		if (t[i].kind == VALUE_TEXT &&
		    (!i || t[i].n != t[i - 1].n || memcmp(t[i].s, t[i - 1].s, t[i].n) != 0)) {
			put(&l, ", ", l.n ? 2 : 0);
			put(&l, t[i].s, t[i].n);
		}
	return kept(f, &l);
}

/* --- where the program was --------------------------------------------------------- */
enum { NO_FRAME = 1 /* a mark: a library's; others are a word more this */ };

static uint32_t frame_mark(struct flight *f, const struct value *frame)
{
	const struct value *file = value_get(frame, "filename"), *name = value_get(frame, "name");
	const char *base;
	char s[400];
	int64_t line;
	int n;

	if (!file || file->kind != VALUE_TEXT || !value_int(value_get(frame, "line"), &line) ||
	    line <= 0 || frame_is_library(file->s, file->n))
		return NO_FRAME;
	base = memrchr(file->s, '/', file->n);
	base = base ? base + 1 : file->s;
	n = (int)(file->s + file->n - base);
	/* C++'s, where they were wanted, are not the program's */
	if (!memmem(base, (size_t)n, ".py", 3) && *base != '<' &&
	    !memmem(base, (size_t)n, "ipy", 3))
		return NO_FRAME;
	n = snprintf(s, sizeof(s), "%.*s line %lld%s%.*s", n < 150 ? n : 150, base, (long long)line,
		     name && name->kind == VALUE_TEXT ? ", in " : "",
		     name && name->kind == VALUE_TEXT ? (name->n < 150 ? (int)name->n : 150) : 0,
		     name && name->kind == VALUE_TEXT ? name->s : "");
	return flight_keep(f, s, (size_t)n) + NO_FRAME + 1;
}

static flight_word find_frame(struct flight *f, const struct value *list)
{
	const struct value *v;
	size_t n = value_items(list, &v);

	for (size_t i = 0; i < n; i++) {
		if (v[i].kind != VALUE_DICT)
			continue;
		if (!v[i].seq->mark)
			v[i].seq->mark = frame_mark(f, &v[i]);
		if (v[i].seq->mark != NO_FRAME)
			return v[i].seq->mark - NO_FRAME - 1;
	}
	return 0;
}

/* --- each once ---------------------------------------------------------------------- */

/* A list's mark is the word that it stands for, and one more; 0: it was not read yet. */
static flight_word once(struct flight *f, const struct value *v,
			flight_word (*read)(struct flight *f, const struct value *list))
{
	uint32_t *mark = v->kind == VALUE_LIST ? &v->seq->mark : NULL;
	flight_word w = mark && *mark ? *mark - 1 : read(f, v);

	if (mark)
		*mark = w + 1;
	return w;
}

flight_word shape_sizes(struct flight *f, const struct value *v) { return once(f, v, read_sizes); }
flight_word shape_types(struct flight *f, const struct value *v) { return once(f, v, read_types); }
flight_word shape_frame(struct flight *f, const struct value *v) { return once(f, v, find_frame); }
