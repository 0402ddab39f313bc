#include "probes/log/why.h"

#include "lib/core/term.h"
#include "probes/log/dumps.h"
#include "probes/log/path.h"
#include "probes/log/rejoin.h"
#include "probes/log/scan.h"
#include "probes/log/unfold.h"

#include <ctype.h>

enum { STREAM_BYTES = 1 << 18 /* a longer line is taken in pieces */ };

/* Calls @each for every part of "a|b|c". */
static void each_anchor(const char *anchors, unsigned tag, struct literal *out, size_t *n)
{
	while (*anchors) {
		size_t len = strcspn(anchors, "|");

		out[(*n)++] = (struct literal){anchors, (uint32_t)len, tag};
		anchors += len + (anchors[len] == '|');
	}
}

static size_t count_parts(const char *anchors)
{
	size_t n = 1;

	for (; (anchors = strchr(anchors, '|')); anchors++)
		n++;
	return n;
}

static size_t count_anchors(void)
{
	size_t n = 0;

	for (size_t i = 0; i < signature_count; i++)
		n += count_parts(signatures[i].anchors);
	for (size_t i = 0; i < log_fact_count; i++)
		n += count_parts(log_facts[i].anchors);
	return n;
}

static struct scan *make_scan(struct why *w)
{
	AUTO(arena_done) struct arena tmp = {0};
	struct literal *v = arena_alloc(&tmp, count_anchors() * sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < signature_count; i++)
		each_anchor(signatures[i].anchors, (unsigned)i, v, &n);
	for (size_t i = 0; i < log_fact_count; i++)
		each_anchor(log_facts[i].anchors, (unsigned)(signature_count + i), v, &n);
	return scan_new(&w->a, v, n, w->is_retired);
}

void why_init(struct why *w)
{
	*w = (struct why){.stalled = -1, .setup.nvls = -1};
	w->records = arena_alloc(&w->a, signature_count * sizeof(*w->records));
	w->compiled = arena_alloc(&w->a, signature_count * sizeof(*w->compiled));
	w->is_retired = arena_alloc(&w->a, signature_count + log_fact_count);
	w->fact_tried = arena_alloc(&w->a, log_fact_count * sizeof(*w->fact_tried));
	w->is_retired[signature_count + log_fact_progress] = true; /* until something fails */
	actors_init(&w->actors, &w->a);
	w->scan = make_scan(w);
}

void why_done(struct why *w)
{
	dumps_done(w);
	arena_done(&w->a);
}

/* What is read of a host is called "host:path". */
static struct log_who owner_of(const char *name, const char *host)
{
	size_t n = host ? strlen(host) : 0;
	bool has_host = n && starts_with(name, host) && name[n] == ':';
	struct log_who w = path_speaker(has_host ? name + n + 1 : name);

	if (n && n < sizeof(w.host))
		memcpy(w.host, host, n);
	return w;
}

void why_open_of(struct why_stream *s, struct why *w, const char *name, const char *host)
{
	*s = (struct why_stream){
		.w = w, .file = (unsigned)w->files.n, .owner = owner_of(name, host)};
	*LIST_ADD(&w->a, &w->files) = arena_strdup(&w->a, name);
	(void)LIST_ADD(&w->a, &w->progress);
	s->cap = STREAM_BYTES;
	s->buf = malloc(s->cap);
	if (!s->buf)
		s->cap = 0;
}

void why_open(struct why_stream *s, struct why *w, const char *name)
{
	why_open_of(s, w, name, NULL);
}

void why_anew(struct why_stream *s)
{
	enum { MOST = 4096 };
	struct log_progress *p = &s->w->progress.v[s->file];

	why_flush(s); /* a line that was begun ends here */
	if (p->anew.n < MOST)
		(void)LIST_ADD(&s->w->a, &p->anew);
	p->anew.v[p->anew.n - 1] = s->line;
}

uint64_t why_line_of(const struct why *w, const struct log_event *e, bool *ret_past)
{
	const struct log_progress *p = &w->progress.v[e->file];
	uint64_t before = 0;

	*ret_past = false;
	for (size_t i = 0; i < p->anew.n; i++)
		if (p->anew.v[i] < e->line)
			before = p->anew.v[i];
		else
			*ret_past = true;
	return e->line - before;
}

void why_close(struct why_stream *s)
{
	why_flush(s);
	free(s->buf);
	s->buf = NULL;
	s->cap = 0;
}

bool why_was_interrupted(const struct why *w)
{
	for (size_t i = 0; i < w->progress.n; i++)
		if (w->progress.v[i].is_cut)
			return true;
	return w->is_interrupted;
}

bool why_has_worked(const struct why *w)
{
	enum { YOUNG = 10 /* collectives: it never really worked */ };

	for (size_t i = 0; i < w->progress.n; i++)
		if (w->progress.v[i].steps || w->progress.v[i].finish)
			return true;
	for (size_t i = 0; i < w->actors.v.n; i++)
		if (w->actors.v.v[i].seq > YOUNG)
			return true;
	return false;
}

/* As a terminal shows the key. */
static bool ends_with_ctrl_c(const char *text, size_t n)
{
	while (n && (text[n - 1] == '\n' || text[n - 1] == '\r' || text[n - 1] == ' '))
		n--;
	return n >= 2 && text[n - 2] == '^' && text[n - 1] == 'C';
}

static const char *line_end(const char *p, const char *end)
{
	const char *nl = memchr(p, '\n', (size_t)(end - p));

	return nl ? nl : end;
}

/* Eight bytes at a time: a byte that was a newline becomes 0, and 0 leaves its highest bit; a
 * product adds the eight up. */
static uint64_t count_newlines(const char *p, const char *end)
{
	const uint64_t ones = UINT64_MAX / 255, low = 0x7f * ones;
	uint64_t n = 0, v;

	for (; end - p >= (ptrdiff_t)sizeof(v); p += sizeof(v)) {
		memcpy(&v, p, sizeof(v));
		v ^= '\n' * ones;
		v = ~(((v & low) + low) | v | low);
		n += ((v >> 7) * ones) >> 56;
	}
	for (; p < end; p++)
		n += *p == '\n';
	return n;
}

/* @text is more of the whole. */
static void keep_pasted(struct why_stream *s, const char *text, size_t n)
{
	size_t room = sizeof(s->pasted) - s->pasted_n;

	if (n > room)
		n = room;
	memcpy(s->pasted + s->pasted_n, text, n);
	s->pasted_n += n;
}

/* A line or three are no log but what somebody copied out of one. */
static void judge_pasted(struct why_stream *s)
{
	const char *text = s->pasted, *end = text + s->pasted_n;
	uint64_t line = s->line;

	if (s->pasted_n == sizeof(s->pasted) || count_newlines(text, end) > PASTED_LINES)
		return;
	for (s->line = 1; text < end; s->line++) {
		const char *stop = line_end(text, end);

		if (!(s->known >> s->line & 1))
			why_pasted(s, text, (size_t)(stop - text));
		text = stop < end ? stop + 1 : end;
	}
	s->line = line;
}

/* Looks at whole lines. s->line is that of @text's first; then that after @end. */
static void judge(struct why_stream *s, const char *text, size_t n)
{
	const char *end = text + n, *counted = text;
	struct why_hits p;
	struct scan_walk walk;
	struct scan_hit hit;

	keep_pasted(s, text, n);
	why_keep_last(s, text, end);
	s->line++;
	sequel_read(s, text, end, s->line);
	scan_begin(&walk, s->w->scan, text, n);
	while (scan_next(&walk, n, &hit)) {
		const char *found = text + hit.at, *stop;
		const char *nl = memrchr(counted, '\n', (size_t)(found - counted));

		/* its line, and all the literals of it */
		p.start = nl ? nl + 1 : counted;
		p.n = 0;
		s->line += count_newlines(counted, p.start);
		stop = line_end(found, end);
		do
			why_hit(&p, text + hit.at, hit.tag);
		while (scan_next(&walk, (size_t)(stop - text), &hit));
		why_line(s, &p, stop);
		counted = stop < end ? stop + 1 : end;
		sequel_read(s, counted, end, s->line + 1);
		s->line += counted > stop;
	}
	s->line += count_newlines(counted, end) - 1;
	s->w->bytes += n;
	s->w->progress.v[s->file].is_cut = ends_with_ctrl_c(text, n);
}

static void judge_plain(struct why_stream *s, size_t n)
{
	size_t left = term_uncolour(s->buf, n);

	if (s->is_folded)
		unfold(s->buf, left);
	else if (s->broken_at)
		s->broken_at = rejoin(s->buf, left, s->broken_at);
	judge(s, s->buf, left);
	s->w->bytes += n - left;
}

/* False: more is needed to see whether its lines were broken. */
static bool is_measured(struct why_stream *s, bool at_end)
{
	if (!s->is_text || s->is_measured)
		return true;
	s->is_measured = at_end || s->n >= REJOIN_HEAD || rejoin_is_long(s->buf, s->n);
	if (s->is_measured) {
		s->is_folded = unfold_is_due(s->buf, s->n);
		s->broken_at = s->is_folded ? 0 : rejoin_width(s->buf, s->n);
	}
	return s->is_measured;
}

/* What is a whole line, or too long to wait for its end. */
static void digest(struct why_stream *s)
{
	const char *nl = memrchr(s->buf, '\n', s->n);
	size_t whole = nl ? (size_t)(nl - s->buf) + 1 : s->n == s->cap ? s->n : 0;

	if (whole && !is_measured(s, false))
		return;
	if (s->is_folded && s->n < s->cap)
		whole = unfold_whole(s->buf, whole);
	if (s->broken_at && s->n < s->cap)
		whole = rejoin_whole(s->buf, whole, s->broken_at);
	if (!whole)
		return;
	judge_plain(s, whole);
	memmove(s->buf, s->buf + whole, s->n - whole);
	s->n -= whole;
}

char *why_room(struct why_stream *s, size_t *ret_n)
{
	*ret_n = s->cap - s->n;
	return s->buf + s->n;
}

/* Hardly any byte of those in the one place is 0, and nearly all in the other. */
static bool is_wide(const size_t zeros[2], size_t look, int high)
{
	return look > 16 && zeros[high] * 5 > look * 2 && zeros[!high] * 10 < look;
}

/* UTF-16, as some shells redirect to: a mark, or every other byte is 0. */
static void find_width(struct why_stream *s, size_t n)
{
	const char *p = s->buf;
	size_t zeros[2] = {0}, look = n < 256 ? n : 256;

	for (size_t i = 0; i < look; i++)
		zeros[i & 1] += p[i] == '\0';
	s->width = TEXT_BYTES;
	if (n >= 2 && ((p[0] == '\xff' && p[1] == '\xfe') || is_wide(zeros, look, 1)))
		s->width = TEXT_WIDE_LE;
	else if (n >= 2 && ((p[0] == '\xfe' && p[1] == '\xff') || is_wide(zeros, look, 0)))
		s->width = TEXT_WIDE_BE;
}

/* A hole where a log began: it was cut to nothing while somebody wrote it, or NFS lacks its pages.
 * Of UTF-16 it is half a character, and the other order then. */
static size_t skip_hole(struct why_stream *s, size_t n)
{
	size_t hole = 0;

	while (hole < n && !s->buf[hole])
		hole++;
	memmove(s->buf, s->buf + hole, n - hole);
	return n - hole;
}

/* Keeps the low byte of each character: all that we look for is ASCII. */
static size_t narrow(struct why_stream *s, char *p, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++, s->odd = !s->odd)
		if (s->odd == (s->width == TEXT_WIDE_BE) && p[i] != '\xff' && p[i] != '\xfe')
			p[k++] = p[i];
	return k;
}

void why_filled(struct why_stream *s, size_t n)
{
	if (s->width == TEXT_UNKNOWN) {
		n = skip_hole(s, n);
		if (!n)
			return;
		find_width(s, n);
	}
	if (s->width != TEXT_BYTES)
		n = narrow(s, s->buf + s->n, n);
	s->n += n;
	digest(s);
}

void why_feed(struct why_stream *s, const char *data, size_t n)
{
	while (n && s->cap) {
		size_t room, take;
		char *to = why_room(s, &room);

		take = n < room ? n : room;
		memcpy(to, data, take);
		why_filled(s, take);
		data += take;
		n -= take;
	}
}

void why_flush(struct why_stream *s)
{
	if (s->n) {
		bool is_begun = s->buf[s->n - 1] != '\n'; /* a line without an end */

		(void)is_measured(s, true);
		judge_plain(s, s->n);
		s->line += is_begun;
	}
	s->n = 0;
	judge_pasted(s);
	why_cut(s);
	s->last[0] = '\0';
	s->w->lines += s->line - s->counted;
	s->w->progress.v[s->file].lines = s->line;
	s->counted = s->line;
}
