#include "probes/log/source.h"

#include "lib/core/binary.h"
#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/packed.h"
#include "lib/core/quote.h"
#include "lib/core/units.h"
#include "lib/flight/flight.h"
#include "probes/log/dumps.h"
#include "probes/log/endless.h"
#include "probes/log/reply.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>

enum { QUIET_MS = 300 };
#define LOOK_NS NS_PER_S /* between two, while it goes on */

/* "nccl_trace_rank_0.gz" */
static bool says_rank(const struct packed *p, const char *path)
{
	AUTO(arena_done) struct arena a = {0};

	return !p->into && ends_with(path, p->end) &&
	       flight_rank_of(arena_strndup(&a, path, strlen(path) - strlen(p->end))) >= 0;
}

/* In tar's, dumps may be, which are whole files; logs that a service offers come in zip's. */
static int refuse(const struct packed *p, const char *path, struct err *e)
{
	if (says_rank(p, path))
		return packed_refuse_named(p, path, "ncclwhy", e);
	return starts_with(p->end, ".t") && !streq(path, "-")
		       ? packed_refuse_files(p, path, "ncclwhy", e)
		       : packed_refuse(p, path, "ncclwhy", e);
}

/* 1: more may follow, 0: the end, -1: an error. */
static int take(struct why_stream *s, int fd, const char *path, struct err *e)
{
	const char *name = streq(path, "-") ? "stdin" : path;
	const struct packed *by = NULL;
	size_t room;
	char *to = why_room(s, &room);
	ssize_t n;

	if (!room)
		return err_set(e, ERR_SYS, "no memory to read %s", name);
	n = read(fd, to, room);
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		return err_sys(e, "reading %s", name);
	if (n > 0 && s->width == TEXT_UNKNOWN)
		by = packed_begins(to, (size_t)n);
	if (by)
		return refuse(by, path, e);
	if (n > 0)
		why_filled(s, (size_t)n);
	return n != 0;
}

/* Of another user: root may, or who owns it. */
static int forbidden(const char *path, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};

	err_sys(e, "cannot read %s", path);
	return err_command(e, "sudo ncclwhy %s", shell_quote(&a, path));
}

/* Or a pattern that the shell left as it is, because no file is called so. */
int source_refused(const char *path, struct err *e)
{
	bool is_absent = errno == ENOENT;

	if (errno == EACCES)
		return forbidden(path, e);
	file_refused(path, e);
	if (!is_absent || !strpbrk(path, "*?["))
		return -1;
	return err_hint(e, "no file here is called so; " FILE_DUMPS_LIE " (ncclwhy "
			   "--hosts ALL 'PATTERN' reads them there), " FILE_DUMPS_MADE);
}

/* Data for programs, and neither packed nor a dump, of which is said how to read them. */
static bool is_data(const char *head, size_t n)
{
	return binary_begins(head, n) && !packed_begins(head, n) && !dumps_begin(head, n);
}

static int refuse_data(const char *path, struct err *e)
{
	err_set(e, ERR_SYS, "%s is no text: a program, a picture, or data for one", path);
	return err_hint(e, "give the files that hold what the ranks printed (stdout and stderr)");
}

bool source_is_data(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	AUTO_FREE char *head = malloc(FLIGHT_HEAD);
	ssize_t n = fd >= 0 && head ? read(fd, head, FLIGHT_HEAD) : 0;

	return n > 0 && is_data(head, (size_t)n);
}

/* Only what grows is opened so: else it is read with all that is in it. */
static int refuse_folder(const char *path, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};

	errno = EISDIR;
	file_refused(path, e);
	return err_command(e, "ncclwhy %s", shell_quote_path(&a, path));
}

static int open_file(const char *path, struct err *e)
{
	struct stat st;
	int fd;

	if (packed_named(path))
		return refuse(packed_named(path), path, e);
	/* not waiting: where there is a pipe, nobody may write to it, and Ctrl-C must work */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return source_refused(path, e);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		(void)close(fd);
		return refuse_folder(path, e);
	}
	return fd;
}

static const char *name_of(const struct source *from)
{
	if (from->name)
		return from->name;
	return streq(from->path, "-") ? "stdin" : from->path;
}

static bool await(const struct source *from, int fd, int ms)
{
	return from->is_brought || interrupt_poll(fd, POLLIN, ms);
}

/* What the kernel has now, and no more; where it does not say how far that is, by the reads. */
static int take_kernels(struct why_stream *s, int fd, const char *path, struct err *e)
{
	int got = 1;

	for (int i = 0; i < KERNEL_READS && got > 0; i++) {
		if (lseek(fd, 0, SEEK_CUR) > KERNEL_MOST || !interrupt_poll(fd, POLLIN, KERNEL_MS))
			break;
		got = take(s, fd, path, e);
	}
	return got;
}

/* All lines of a source that begins with @head; of 0 bytes: it ended at once. */
static int read_log(struct why *w, int fd, const struct source *from, const char *head, ssize_t n,
		    struct err *e)
{
	const char *path = from->path;
	size_t known = n > 0 ? (size_t)n : 0;
	const struct packed *by = packed_begins(head, known);
	struct why_stream s;
	int got = n != 0;

	if (by)
		return refuse(by, path, e);
	if (is_data(head, known))
		return refuse_data(name_of(from), e);
	if (reply_begins(head, known) && reply_read(w, fd, path, name_of(from), from->host))
		return 0;
	why_open_of(&s, w, name_of(from), from->host);
	s.is_text = true;
	s.reply = reply_beside(path, &w->a);
	why_feed(&s, head, known);
	if (got > 0 && endless_is_kernel(fd))
		got = take_kernels(&s, fd, path, e);
	else
		while (got > 0 && await(from, fd, -1))
			got = take(&s, fd, path, e);
	why_close(&s);
	return got < 0 ? -1 : 0;
}

int source_read_from(struct why *w, const struct source *from, struct err *e)
{
	bool is_stdin = streq(from->path, "-");
	AUTO_CLOSE int own = is_stdin ? -1 : open_file(from->path, e);
	AUTO_FREE char *head = malloc(FLIGHT_HEAD);
	int fd = is_stdin ? STDIN_FILENO : own;
	struct stat st;
	ssize_t n = 0;

	if (fd < 0 || (fstat(fd, &st) == 0 && endless_refuse(name_of(from), fd, &st, e)))
		return -1;
	if (!head)
		return err_set(e, ERR_SYS, "no memory to read %s", name_of(from));
	if (await(from, fd, endless_is_kernel(fd) ? KERNEL_MS : -1))
		n = read(fd, head, FLIGHT_HEAD);
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		return err_sys(e, "reading %s", name_of(from));
	if (n > 0 && dumps_begin(head, (size_t)n))
		return dumps_read(w, fd, name_of(from), head, (size_t)n, e);
	return read_log(w, fd, from, head, n, e);
}

int source_read(struct why *w, const char *path, struct err *e)
{
	const struct source from = {.path = path};

	return source_read_from(w, &from, e);
}

/* --- a file that grows ------------------------------------------------------------ */
struct following {
	const char *path;
	int fd;
	off_t at;
	ino_t inode;
};

/* Reads what there is, for a while; true when it was something. */
static bool catch_up(struct following *f, struct why_stream *s, int *ret_got, struct err *e)
{
	struct pollfd p = {.fd = f->fd, .events = POLLIN};
	uint64_t until = now_ns() + LOOK_NS;
	bool any = false;

	while (poll(&p, 1, 0) > 0 && (*ret_got = take(s, f->fd, f->path, e)) > 0) {
		any = true;
		if (interrupt_pending() || now_ns() > until)
			break;
	}
	f->at = lseek(f->fd, 0, SEEK_CUR);
	return any;
}

/* Cut: from its beginning again. Replaced: the new one, after what came to the old one's end. */
static void check_rotation(struct following *f, struct why_stream *s, int *ret_got, struct err *e)
{
	struct stat now;
	int fd;

	if (fstat(f->fd, &now) == 0 && now.st_size < f->at) {
		why_anew(s);
		f->at = lseek(f->fd, 0, SEEK_SET);
	}
	if (stat(f->path, &now) || now.st_ino == f->inode)
		return;
	fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return;
	while (catch_up(f, s, ret_got, e) && *ret_got > 0 && !interrupt_pending())
		;
	why_anew(s);
	(void)close(f->fd);
	f->fd = fd;
	f->at = 0;
	f->inode = now.st_ino;
}

static int wait_changes(int notify)
{
	char drop[4096];

	if (interrupt_poll(notify, POLLIN, QUIET_MS))
		(void)!read(notify, drop, sizeof(drop));
	return interrupt_pending();
}

/* What was made of it so far. */
struct telling {
	uint64_t last_ns;   /* something came */
	uint64_t looked_ns; /* it was judged, ... */
	uint64_t news;	    /* ... with so many of why.news */
	bool told_quiet, told_stall;
};

static void look(struct why *w, const struct source_watch *watch, struct telling *t,
		 unsigned stalls)
{
	t->looked_ns = now_ns();
	t->news = w->news;
	watch->quiet(w, stalls, 0, watch->arg);
}

/* A log that goes on and on is judged as well, each time that an entry knew a line. */
static void maybe_tell(struct why *w, const struct source_watch *watch, struct telling *t)
{
	uint64_t now = now_ns(), silent = now - t->last_ns;

	if (!t->told_quiet && silent >= QUIET_MS * NS_PER_MS) {
		t->told_quiet = true;
		look(w, watch, t, 0);
	} else if (t->news != w->news && now - t->looked_ns >= LOOK_NS) {
		look(w, watch, t, 0);
	}
	if (!t->told_stall && watch->stall_ns && silent >= watch->stall_ns) {
		t->told_stall = true;
		look(w, watch, t, 1);
	}
}

/* A dump is written once, and whole: there is nothing to follow. Nor is there of what is not read
 * either. */
static int refuse_still(int fd, const char *path, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	struct stat st;
	char *head = arena_alloc(&a, FLIGHT_HEAD);
	ssize_t got = pread(fd, head, FLIGHT_HEAD, 0);
	size_t n = got > 0 ? (size_t)got : 0;

	if (fstat(fd, &st) == 0 && endless_refuse(path, fd, &st, e))
		return -1;
	if (packed_begins(head, n))
		return refuse(packed_begins(head, n), path, e);
	if (is_data(head, n))
		return refuse_data(path, e);
	if (!n || !dumps_begin(head, n))
		return 0;
	err_set(e, ERR_SYS, "%s is a dump of PyTorch's Flight Recorder, no log that grows", path);
	return err_command(e, "ncclwhy %s", shell_quote_path(&a, path));
}

static int forbidden_to_follow(const char *path, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};

	return err_command(e, "sudo ncclwhy --follow %s", shell_quote_path(&a, path));
}

/* A scheduler makes the job's log only when the job begins. */
static int await_file(const char *path, struct err *e)
{
	bool said = false;
	int fd;

	while ((fd = open_file(path, e)) < 0 && errno == ENOENT && !interrupt_pending()) {
		if (!said)
			log_say("waiting for %s: it is not there yet", path);
		said = true;
		*e = (struct err){.kind = ERR_NONE};
		(void)wait_changes(-1);
	}
	if (fd < 0 && errno == EACCES)
		(void)forbidden_to_follow(path, e);
	return fd;
}

int source_follow(struct why *w, const char *path, const struct source_watch *watch, struct err *e)
{
	AUTO_CLOSE int notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct following f = {.path = path, .fd = await_file(path, e)};
	struct telling t = {.last_ns = now_ns(), .looked_ns = now_ns()};
	struct why_stream s;
	struct stat st;
	int got = 0;

	if (f.fd < 0 || refuse_still(f.fd, path, e)) {
		auto_closep(&f.fd);
		return -1;
	}
	f.inode = fstat(f.fd, &st) == 0 ? st.st_ino : 0;
	if (notify >= 0)
		(void)inotify_add_watch(notify, path, IN_MODIFY | IN_MOVE_SELF | IN_ATTRIB);
	why_open(&s, w, path);
	while (!interrupt_pending() && got >= 0) {
		if (catch_up(&f, &s, &got, e)) {
			t.last_ns = now_ns();
			t.told_quiet = t.told_stall = false;
		}
		maybe_tell(w, watch, &t);
		(void)wait_changes(notify);
		check_rotation(&f, &s, &got, e);
	}
	if (got >= 0) /* what came until the very end, too */
		(void)catch_up(&f, &s, &got, e);
	why_close(&s);
	(void)close(f.fd);
	interrupt_is_end();
	return got < 0 ? -1 : 0;
}
