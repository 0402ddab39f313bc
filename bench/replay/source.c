#include "bench/replay/source.h"

#include "bench/inspector/inspector.h"
#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/packed.h"
#include "lib/core/quote.h"
#include "lib/core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct found {
	struct flight *flight;
	struct insp_book book;
	size_t others; /* files that are neither */
	const char *cut;
	const struct packed *packed; /* how the latest such file was */
};

static void found_done(struct found *f) { flight_free(f->flight); }

/* A dump that was cut short is of a rank that the others' tell of: no reason to give up. */
static int take_dump(struct found *f, int fd, const char *path, const char *head, size_t n,
		     struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	struct err own = {0};

	if (!flight_read(f->flight, fd, path, head, n, &own) || interrupt_pending())
		return interrupt_err(e);
	log_warn("%s", own.msg);
	if (*own.hint)
		log_hint("%s", err_fix(&own, &a));
	f->cut = f->cut ?: path;
	return 0;
}

static const char READER[] = "ncclbench --replay";

/* @named: somebody said that it is one. */
static int take_file(struct found *f, const char *path, bool named, struct err *e)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	AUTO_FREE char *head = malloc(FLIGHT_HEAD);
	ssize_t n = fd >= 0 && head ? read(fd, head, FLIGHT_HEAD) : -1;
	const struct packed *packed;

	if (n < 0)
		return file_refused(path, e);
	if (flight_begins(head, (size_t)n))
		return take_dump(f, fd, path, head, (size_t)n, e);
	if (insp_kind(head, (size_t)n) == INSP_JSON)
		return insp_read(&f->book, path, e);
	packed = packed_begins(head, (size_t)n);
	if (packed && named)
		return packed_refuse_files(packed, path, READER, e);
	f->packed = packed ?: f->packed;
	f->others++;
	if (!named)
		return 0;
	err_set(e, ERR_USAGE, "%s is no recording of a training", path);
	return err_hint(e, "--replay reads dumps of PyTorch's Flight Recorder (nccl_trace_rank_*) "
			   "and the folder of NCCL's Inspector");
}

static int take_one(void *arg, const char *file, struct err *e)
{
	return take_file(arg, file, false, e);
}

static int take_path(struct found *f, const char *path, struct arena *a, struct err *e)
{
	const struct file_each each = {.take = take_one, .arg = f, .doing = "recordings read"};
	struct stat st;

	if (stat(path, &st)) {
		bool is_absent = errno == ENOENT;

		file_refused(path, e);
		return is_absent && strpbrk(path, "*?[")
			       ? err_hint(e, "no file here is called so; " FILE_DUMPS_LIE
					     ", " FILE_DUMPS_MADE)
			       : -1;
	}
	if (S_ISDIR(st.st_mode))
		return file_each(path, &each, a, e);
	if (S_ISREG(st.st_mode))
		return take_file(f, path, true, e);
	return err_set(e, ERR_USAGE, "%s is neither a file nor a folder", path);
}

static int say_nothing(const struct found *f, const str_list *paths, struct err *e)
{
	if (f->cut) {
		err_set(e, ERR_USAGE, "no dump could be read whole: %s", f->cut);
		return err_hint(e, "copy them again, once the job has ended");
	}
	if (f->packed)
		return packed_refuse_folder(f->packed, paths->v[0], READER, e);
	err_set(e, ERR_USAGE, "there is no recording of a training in %s", paths->v[0]);
	return err_hint(e, "%s",
			f->others || f->book.files
				? "--replay reads dumps of PyTorch's Flight Recorder "
				  "(nccl_trace_rank_*) and what NCCL's Inspector wrote"
				: "the folder is empty: TORCH_FR_BUFFER_SIZE=20000 before the "
				  "training makes PyTorch record, and write on a timeout");
}

static bool has_whole_dump(const struct found *f)
{
	for (size_t i = 0; i < f->flight->dumps.n; i++)
		if (!f->flight->dumps.v[i].is_cut)
			return true;
	return false;
}

/* As they were named, once each. */
static const char *analysis_of(const str_list *paths, struct arena *a)
{
	struct text t;

	text_init(&t, a);
	text_add(&t, "ncclbench");
	for (size_t i = 0; i < paths->n; i++)
		text_addf(&t, " --analyze=%s", shell_quote(a, paths->v[i]));
	return t.s;
}

int source_read(const str_list *paths, struct arena *a, struct traffic *ret, struct err *e)
{
	AUTO(found_done) struct found f = {.flight = flight_new(), .book.a = a};

	*ret = (struct traffic){.a = a};
	if (!f.flight)
		return err_set(e, ERR_SYS, "no memory to read the recording");
	for (size_t i = 0; i < paths->n; i++)
		if (take_path(&f, paths->v[i], a, e))
			return -1;
	if (f.flight->dumps.n && f.book.lines) {
		err_set(e, ERR_USAGE,
			"these are two recordings, of PyTorch's Flight Recorder and of NCCL's "
			"Inspector");
		return err_hint(e, "--replay with one of them");
	}
	if (has_whole_dump(&f))
		return source_dumps(f.flight, ret, e);
	if (!f.book.lines)
		return say_nothing(&f, paths, e);
	ret->judge = analysis_of(paths, a);
	return source_inspector(&f.book, ret, e);
}
