#include "lib/cluster/fetch.h"

#include "lib/cluster/fanout.h"
#include "lib/core/file.h"
#include "lib/core/hash.h"
#include "lib/core/log.h"
#include "lib/core/quote.h"
#include "lib/core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum {
	HOST_BYTES = 16 << 20,
	ALL_BYTES = 512 << 20,
	LEAST_BYTES = 256 << 10,
	FRAME_BYTES = 512,   /* of a frame without its data, as a rule */
	WORDS_MOST = 100000, /* of 131,071 that one word may have */
	BUCKETS = 4096
};

static const char script[] =
#include "gen/sh/fetch.h"
	;

/* A file that came, for what comes again: of a folder that hosts share. */
struct seen {
	const char *name, *host;
	uint64_t size, inode;
	int64_t changed_s;
	uint32_t hash;
	size_t n;
	size_t next; /* of the same bucket: one more than its place in the list; 0: none */
};

struct fetcher {
	const struct fetch_opts *o;
	struct arena *a;
	size_t nasked;
	LIST(struct seen) seen;
	size_t buckets[BUCKETS]; /* as seen.next */
};

/* --- what is typed there --------------------------------------------------------------------- */
static const char *left_words(struct arena *a, const char *const *ends)
{
	struct text t;

	text_init(&t, a);
	text_add(&t, "\\( -name '.?*' -prune \\)"); /* no "!": a csh would look for that line */
	for (size_t i = 0; ends && ends[i]; i++)
		text_addf(&t, " -o -name '*%s'", ends[i]);
	text_add(&t, " -o -type f");
	return t.s;
}

static const char *command(const struct fetcher *f, const str_list *asked, size_t budget)
{
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	struct text t;

	text_init(&t, f->a);
	text_addf(&t, "cwd=%s budget=%zu depth=%d left=%s; set --",
		  shell_quote(f->a, cwd ?: "/nowhere"), budget, FETCH_DEPTH,
		  shell_quote(f->a, left_words(f->a, f->o->left_out)));
	for (size_t i = 0; i < asked->n; i++)
		text_addf(&t, " %s", shell_quote(f->a, asked->v[i]));
	text_addf(&t, "; %s", script);
	return t.s;
}

/* --- what came ------------------------------------------------------------------------------- */
/* One host's names are no reason to lose what the others have. */
static bool is_misnamed(void)
{
	return errno == ENAMETOOLONG || errno == ENOTDIR || errno == EISDIR;
}

static int make_parents(char *path, size_t from, struct err *e)
{
	for (char *p = path + from; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		if (mkdir(path, 0700) && errno != EEXIST) {
			if (is_misnamed())
				return 1;
			err_sys(e, "cannot make the folder %s", path);
			return file_advise(path, e);
		}
	}
	return 0;
}

/* Of a file of which the middle did not come its two parts get a line between them. */
static int write_parts(int fd, const struct frame *x)
{
	char between[96];
	size_t head = x->n == x->size ? x->n : x->n / 2;

	(void)snprintf(between, sizeof(between), "\n[windsock: %llu bytes were left out here]\n",
		       (unsigned long long)(x->size - x->n));
	if (file_write_all(fd, x->data, head))
		return -1;
	if (head == x->n)
		return 0;
	return file_write_all(fd, between, strlen(between)) ||
	       file_write_all(fd, x->data + head, x->n - head);
}

static int save(const char *path, const struct frame *x, struct err *e)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = x->changed_s}};
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 && errno == EEXIST) /* asked for twice */
		return 0;
	if (fd < 0 && is_misnamed())
		return 1;
	if (fd < 0 || write_parts(fd, x)) {
		err_sys(e, "cannot write %s", path);
		return file_advise(path, e);
	}
	if (x->changed_s)
		(void)futimens(fd, times);
	return 0;
}

/* The host that had the same file before; NULL: none, and this one is remembered. */
static const char *seen_on(struct fetcher *f, const char *host, const struct frame *x)
{
	struct seen new = {.name = x->name,
			   .host = host,
			   .size = x->size,
			   .inode = x->inode,
			   .changed_s = x->changed_s,
			   .hash = hash32_add(HASH32, x->data, x->n),
			   .n = x->n};
	size_t *bucket = &f->buckets[new.hash % BUCKETS];

	for (size_t i = *bucket; i; i = f->seen.v[i - 1].next) {
		const struct seen *s = &f->seen.v[i - 1];

		if (s->hash == new.hash && s->size == new.size && s->n == new.n &&
		    s->changed_s == new.changed_s &&
		    s->inode == new.inode &&streq(s->name, new.name) && !streq(s->host, host))
			return s->host;
	}
	new.next = *bucket;
	*LIST_ADD(f->a, &f->seen) = new;
	*bucket = f->seen.n;
	return NULL;
}

/* A host's name is a word of a list, and may be anything. */
static const char *host_folder(const struct fetcher *f, const char *host)
{
	char *name = arena_strdup(f->a, host);

	for (char *p = name; *p; p++)
		if (*p == '/' || (p == name && *p == '.'))
			*p = '_';
	return arena_printf(f->a, "%s/%s", f->o->folder, name);
}

/* 1: it can have no such name here. */
static int put(const struct fetcher *f, char *path, const struct frame *x, struct err *e)
{
	int failed = make_parents(path, strlen(f->o->folder) + 1, e);

	if (failed)
		return failed;
	if (x->kind == FRAME_FILE)
		return save(path, x, e);
	if (!mkdir(path, 0700) || errno == EEXIST)
		return 0;
	return is_misnamed() ? 1 : err_sys(e, "cannot make %s", path);
}

static int keep(struct fetcher *f, struct fetched *to, const struct frame *x, struct err *e)
{
	char *path = arena_printf(f->a, "%s%s", host_folder(f, to->host), x->name);
	struct fetched_file *file = LIST_ADD(f->a, &to->files);
	int failed;

	*file = (struct fetched_file){.path = path,
				      .name = x->name,
				      .asked = x->asked,
				      .size = x->size,
				      .got = x->n,
				      .is_folder = x->kind == FRAME_FOLDER};
	if (!file->is_folder && (file->others = seen_on(f, to->host, x)))
		return 0;
	failed = put(f, path, x, e);
	if (failed > 0) {
		to->files.n--;
		*LIST_ADD(f->a, &to->misnamed) = x->name;
	}
	return failed < 0 ? -1 : 0;
}

static int take(struct fetcher *f, const struct fanout_result *got, struct fetched *to,
		struct err *e)
{
	struct frame x;
	size_t at = 0;

	to->is_cut = true;
	while (frame_next(got->out, got->out_n, &at, f->nasked, f->a, &x)) {
		if (x.kind == FRAME_END)
			to->is_cut = false;
		else if (x.kind == FRAME_ABSENT)
			*LIST_ADD(f->a, &to->absent) = x.asked;
		else if (x.kind == FRAME_CLOSED)
			*LIST_ADD(f->a, &to->closed) = x.name;
		else if (to->files.n == FETCH_FILES)
			break;
		else if (keep(f, to, &x, e))
			return -1;
	}
	return 0;
}

static void progress(const struct fanout_result *r UNUSED, size_t finished, size_t total,
		     void *arg UNUSED)
{
	log_progress("reading on hosts", finished, total);
}

static size_t share(const struct fetch_opts *o, size_t nhosts)
{
	size_t each = ALL_BYTES / nhosts;

	if (o->max_bytes)
		return o->max_bytes;
	return each > HOST_BYTES ? HOST_BYTES : each < LEAST_BYTES ? LEAST_BYTES : each;
}

int fetch_files(const host_list *hosts, const str_list *asked, const struct fetch_opts *o,
		struct arena *a, struct fetched **ret, struct err *e)
{
	struct fetcher f = {.o = o, .a = a, .nasked = asked->n};
	size_t budget = share(o, hosts->n);
	const char *argv[] = {"sh", "-c", command(&f, asked, budget), NULL};
	const struct fanout_opts fo = {.rsh = o->rsh,
				       .deadline_ns = o->deadline_ns,
				       .max_output = budget + FETCH_FILES * FRAME_BYTES,
				       .errand = true,
				       .done = progress};
	struct fanout_result *got;

	if (strlen(argv[2]) > WORDS_MOST) {
		err_set(e, ERR_USAGE, "%zu names are too many for one line there", asked->n);
		return err_hint(e,
				"in quotes a pattern is expanded there: '/tmp/nccl_trace_rank_*'");
	}
	if (fanout_run(hosts, argv, &fo, a, &got, e))
		return -1;
	log_progress_end();
	*ret = arena_alloc(a, hosts->n * sizeof(**ret));
	for (size_t i = 0; i < hosts->n; i++) {
		struct fetched *to = &(*ret)[i];

		*to = (struct fetched){.host = got[i].host,
				       .started = got[i].started,
				       .interrupted = got[i].interrupted};
		if (take(&f, &got[i], to, e))
			return -1;
		if (!to->is_cut || to->files.n)
			continue;
		to->trouble = got[i].trouble ?: "its answer was cut short";
		to->fix = got[i].fix;
	}
	return 0;
}
