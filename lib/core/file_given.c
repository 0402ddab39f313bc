/* Files that somebody names: "-" is stdin, and <(zcat x.gz) is a pipe. */
#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/text.h"
#include "lib/core/units.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

enum { PART = 64 << 10 };

static bool is_stdin(const char *path) { return streq(path, "-") || streq(path, "/dev/stdin"); }

const char *file_said(const char *path) { return is_stdin(path) ? "stdin" : path; }

bool file_is_stream(const char *path)
{
	struct stat st;

	return is_stdin(path) || (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

/* Not a disk that breaks, nor what this user may not read. */
static bool is_misnamed(int why)
{
	static const int all[] = {ENOENT, ENOTDIR, ENAMETOOLONG, ELOOP,
				  EISDIR, EINVAL,  ENXIO,	 EFBIG};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (why == all[i])
			return true;
	return false;
}

static int blame(const char *path, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	int why = errno;
	const char *near = why == ENOENT ? file_near(path, &a) : NULL;
	struct stat st;

	e->kind = is_misnamed(why) ? ERR_USAGE : e->kind;
	if (why == ENOENT && !lstat(path, &st))
		(void)err_hint(e, "it is a link, and what it leads to is not there");
	else if (near)
		(void)err_hint(e, "did you mean %s?", near);
	errno = why;
	return -1;
}

int file_refused(const char *path, struct err *e)
{
	int why = errno;

	err_sys(e, "cannot read %.200s", file_said(path));
	errno = why;
	return blame(path, e);
}

int file_open_stream(const char *path, struct err *e)
{
	/* to open a pipe that nobody writes must not wait */
	int fd = is_stdin(path) ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
				: open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd < 0 ? file_refused(path, e) : fd;
}

static int silent(const char *path, uint64_t patience_ns, struct err *e)
{
	struct unit_buf b;

	if (interrupt_err(e))
		return -1;
	err_set(e, ERR_SYS, "%.200s said nothing for %s", file_said(path),
		format_duration(&b, patience_ns));
	err_hint(e, "pipe something into it, or name a file");
	errno = ETIMEDOUT; /* as of file_read() it is looked at */
	return -1;
}

ssize_t file_read_part(int fd, const char *path, uint64_t patience_ns, char *to, size_t n,
		       struct err *e)
{
	int ms = patience_ns ? ms_until(now_ns() + patience_ns) : -1;
	bool waits = is_stdin(path); /* of others a read does not, and ends where nobody writes */
	ssize_t got;

	do {
		if (waits && !interrupt_poll(fd, POLLIN, ms))
			return silent(path, patience_ns, e);
		got = read(fd, to, n);
		waits = true;
	} while (got < 0 && (errno == EAGAIN || errno == EINTR));
	return got < 0 ? err_sys(e, "cannot read %.200s", file_said(path)) : got;
}

int file_read_rest(int fd, const char *path, size_t max, uint64_t patience_ns, struct text *t,
		   struct err *e)
{
	AUTO_FREE char *part = malloc(PART);
	ssize_t n;

	if (!part)
		return err_sys(e, "no memory to read with");
	do {
		n = file_read_part(fd, path, patience_ns, part, PART, e);
		if (n < 0)
			return -1;
		text_addn(t, part, (size_t)n);
		if (t->n > max) {
			err_set(e, ERR_SYS, "%.200s is larger than %zu bytes", file_said(path),
				max);
			errno = EFBIG;
			return -1;
		}
	} while (n);
	return 0;
}

int file_read_given(const char *path, size_t max, uint64_t patience_ns, struct arena *a, char **ret,
		    size_t *ret_n, struct err *e)
{
	AUTO_CLOSE int fd = -1;
	struct text t;

	if (!file_is_stream(path))
		return file_read(path, max, a, ret, ret_n, e) ? blame(path, e) : 0;
	fd = file_open_stream(path, e);
	text_init(&t, a);
	if (fd < 0 || file_read_rest(fd, path, max, patience_ns, &t, e))
		return -1;
	*ret = t.s;
	*ret_n = t.n;
	return 0;
}
