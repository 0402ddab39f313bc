#include "bench/inspector/inspector.h"
#include "bench/inspector/map.h"
#include "bench/sweep/saved.h"
#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/packed.h"
#include "lib/core/quote.h"
#include "lib/flight/flight.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

enum { CHUNK = 1 << 20, HEAD = 1 << 16 }; /* a longer line is none: 64 channels traced are 20 KiB */

static int refuse_prometheus(const char *path, struct err *e)
{
	err_set(e, ERR_USAGE,
		"%s is of NCCL's Inspector for Prometheus: only the latest value of each, and no "
		"history",
		path);
	return err_hint(e, "record with NCCL_INSPECTOR_PROM_DUMP=0, and give that folder");
}

int insp_refuse_packed(const struct packed *p, const char *path, struct err *e)
{
	return packed_refuse(p, path, "ncclbench --analyze -", e);
}

int insp_head(int fd, const char *path, struct arena *a, const char **ret, size_t *ret_n,
	      struct err *e)
{
	char *buf = arena_alloc(a, HEAD + 1);
	ssize_t got;

	*ret = buf;
	*ret_n = 0;
	do {
		got = file_read_part(fd, path, 0, buf + *ret_n, HEAD - *ret_n, e);
		*ret_n += got > 0 ? (size_t)got : 0;
	} while (got > 0 && *ret_n < HEAD);
	return got < 0 ? -1 : 0;
}

int insp_refuse_dump(const char *path, const char *what, struct arena *a, struct err *e)
{
	const char *shown = file_is_stream(path) ? "FILE" : shell_quote_line(a, path);

	err_set(e, ERR_USAGE, "%s %s of PyTorch's Flight Recorder, which tells what a training did",
		file_said(path), what);
	return err_command(e,
			   "ncclbench --replay %s  # measures its collectives; who hung says "
			   "ncclwhy %s",
			   shown, shown);
}

struct look { /* at what a file begins with */
	enum insp_kind kind;
	const struct packed *packed; /* NULL: it is not */
	bool is_dump;		     /* of the Flight Recorder */
};

static int look_at(const char *path, struct look *ret, struct err *e)
{
	AUTO(auto_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	AUTO(arena_done) struct arena a = {0};
	const char *head;
	size_t n;

	if (fd < 0)
		return file_refused(path, e);
	if (insp_head(fd, path, &a, &head, &n, e))
		return -1;
	*ret = (struct look){.kind = insp_kind(head, n),
			     .packed = n ? packed_begins(head, n) : packed_named(path),
			     .is_dump = flight_begins(head, n)};
	return 0;
}

int insp_knows(const char *path, bool *ret, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	struct look look;
	struct stat st;

	*ret = false;
	if (stat(path, &st))
		return file_refused(path, e);
	if (S_ISDIR(st.st_mode)) {
		*ret = true;
		return 0;
	}
	if (!S_ISREG(st.st_mode))
		return 0;
	if (look_at(path, &look, e))
		return -1;
	if (look.packed)
		return insp_refuse_packed(look.packed, path, e);
	if (look.is_dump)
		return insp_refuse_dump(path, "is a dump", &a, e);
	*ret = look.kind == INSP_JSON;
	return look.kind == INSP_PROMETHEUS ? refuse_prometheus(path, e) : 0;
}

/* --- lines ----------------------------------------------------------------------------------- */

struct stream {
	char *buf;
	size_t n;
	bool skips; /* up to the next line: this one is too long */
};

static void take_line(struct insp_book *b, const char *line, size_t n)
{
	struct insp_record r;
	double lost;

	if (n && insp_line(line, n, &r))
		(void)insp_book_add(b, &r);
	else if (n && insp_drops(line, n, &lost))
		b->lost += lost;
	else
		b->broken += n && strspn(line, " \t\r") < n;
}

/* All lines that are whole; the rest stays in front. @end: nothing comes any more. */
static void take_lines(struct insp_book *b, struct stream *s, bool end)
{
	char *at = s->buf, *stop = s->buf + s->n, *next;

	while (at < stop) {
		next = memchr(at, '\n', (size_t)(stop - at));
		if (!next && !end)
			break;
		next = next ? next : stop;
		*next = '\0';
		if (!s->skips)
			take_line(b, at, (size_t)(next - at));
		s->skips = false;
		at = next + 1;
	}
	s->n = at < stop ? (size_t)(stop - at) : 0;
	memmove(s->buf, at, s->n);
	if (s->n < CHUNK)
		return;
	b->broken += !s->skips;
	s->skips = true;
	s->n = 0;
}

int insp_read_stream(struct insp_book *b, int fd, const char *head, size_t n, struct err *e)
{
	AUTO(auto_freep) char *buf = malloc(CHUNK + 1);
	struct stream s = {.buf = buf};
	ssize_t got = 1;

	if (!buf)
		return err_sys(e, "no memory to read with");
	memcpy(buf, head, n <= CHUNK ? n : 0);
	s.n = n <= CHUNK ? n : 0;
	b->files++;
	for (; got > 0 && interrupt_poll(fd, POLLIN, -1); take_lines(b, &s, got <= 0))
		if ((got = read(fd, buf + s.n, CHUNK - s.n)) > 0)
			s.n += (size_t)got;
		else if (got < 0 && (errno == EINTR || errno == EAGAIN))
			got = 1;
	return got < 0 ? err_sys(e, "cannot read on") : 0;
}

/* Of its first line, which no other process writes; 0: it is none of ours. */
static int hash_first(int fd, const char *path, uint64_t *ret, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	struct insp_record r;
	const char *head, *end;
	size_t n, len;
	double lost;

	if (insp_head(fd, path, &a, &head, &n, e))
		return -1;
	end = memchr(head, '\n', n);
	len = end ? (size_t)(end - head) : 0;
	*ret = insp_line(head, len, &r) || insp_drops(head, len, &lost) ? insp_hash(head, len) : 0;
	return 0;
}

/* The same file in a folder that is named beside it, or a copy, perhaps of when it was shorter: its
 * ranks would come twice to each collective. */
static struct insp_file *find_file(struct insp_book *b, const struct stat *st, uint64_t first)
{
	struct insp_file key = {.device = st->st_dev, .number = st->st_ino, .first = first}, *f;

	for (size_t i = 0; i < b->read.n; i++) {
		f = &b->read.v[i];
		if ((f->device == key.device && f->number == key.number) ||
		    (key.first && f->first == key.first))
			return f;
	}
	f = LIST_ADD(b->a, &b->read);
	*f = key;
	return f;
}

static int read_file(struct insp_book *b, const char *path, struct err *e)
{
	AUTO(auto_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct insp_file *f;
	struct stat st;
	uint64_t first;
	off_t end;

	if (fd < 0 || fstat(fd, &st))
		return file_refused(path, e);
	if (hash_first(fd, path, &first, e))
		return -1;
	f = find_file(b, &st, first);
	if (f->size && (uint64_t)st.st_size <= f->size)
		return 0;
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	if (lseek(fd, (off_t)f->size, SEEK_SET) < 0 || insp_read_stream(b, fd, "", 0, e))
		return err_sys(e, "cannot read %s", path);
	end = lseek(fd, 0, SEEK_CUR);
	f->size = end > 0 ? (uint64_t)end : 0;
	return 0;
}

/* --- a folder ----------------------------------------------------------------------------------
 */

/* Lines of all of them may come in one stream. */
static int refuse_folder(const struct packed *p, const char *path, struct arena *a, struct err *e)
{
	const char *in = shell_quote(a, path);

	if (p->into)
		return packed_refuse_folder(p, path, "ncclbench --analyze", e);
	err_set(e, ERR_SYS, "the files in %s are compressed", path);
	return err_command(e, "%s %s/*%s | ncclbench --analyze -", p->cat, in, p->end);
}

struct folder { /* what its files were */
	struct insp_book *b;
	const struct packed *packed; /* the latest such; NULL */
	bool prometheus, dumps, is_ours;
	const char *saved; /* the first output of a benchmark, once somebody looked; NULL */
};

static int take_file(void *arg, const char *file, struct err *e)
{
	struct folder *f = arg;
	struct look look;

	if (look_at(file, &look, e))
		return -1;
	f->packed = look.packed ?: f->packed;
	f->prometheus |= look.kind == INSP_PROMETHEUS;
	f->dumps |= look.is_dump;
	f->is_ours |= look.kind == INSP_JSON; /* though it may be known by another name */
	return look.kind == INSP_JSON ? read_file(f->b, file, e) : 0;
}

static int find_saved(void *arg, const char *file, struct err *e UNUSED)
{
	struct folder *f = arg;
	struct err ignored = {0};
	saved_list l;

	if (!f->saved && !saved_read(file, f->b->a, &l, &ignored))
		f->saved = arena_strdup(f->b->a, file);
	return 0;
}

/* None of its files is ours, nor anything else that was known by how it begins. */
static int refuse_others(struct folder *f, const char *path, struct err *e)
{
	const struct file_each each = {.take = find_saved, .arg = f, .doing = "outputs read"};

	if (file_each(path, &each, f->b->a, e))
		return -1;
	err_set(e, ERR_USAGE, "no file in %s is of NCCL's Inspector", path);
	if (f->saved)
		return err_command(e,
				   "ncclbench --analyze %s  # a benchmark's output is named "
				   "itself; several, one behind the other",
				   shell_quote_line(f->b->a, f->saved));
	return err_hint(e,
			"NCCL 2.28 and newer: NCCL_PROFILER_PLUGIN="
			"libnccl-profiler-inspector.so NCCL_INSPECTOR_ENABLE=1 "
			"NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS=500 "
			"NCCL_INSPECTOR_DUMP_DIR=%s",
			path);
}

static int read_folder(struct insp_book *b, const char *path, struct err *e)
{
	struct folder f = {.b = b};
	const struct file_each each = {.take = take_file, .arg = &f, .doing = "recordings read"};

	if (file_each(path, &each, b->a, e))
		return -1;
	if (f.is_ours)
		return 0;
	if (f.prometheus)
		return refuse_prometheus(path, e);
	if (f.packed)
		return refuse_folder(f.packed, path, b->a, e);
	if (f.dumps)
		return insp_refuse_dump(path, "has dumps", b->a, e);
	return refuse_others(&f, path, e);
}

int insp_read(struct insp_book *b, const char *path, struct err *e)
{
	struct stat st;

	if (stat(path, &st))
		return file_refused(path, e);
	return S_ISDIR(st.st_mode) ? read_folder(b, path, e) : read_file(b, path, e);
}
