#include "lib/core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { ATTR_MAX = 4096 }; /* sysfs never shows more than a page */

static int read_some(int fd, char *to, size_t n, size_t *ret_got)
{
	while (*ret_got < n) {
		ssize_t got = read(fd, to + *ret_got, n - *ret_got);

		if (got == 0)
			break;
		if (got > 0)
			*ret_got += (size_t)got;
		else if (errno != EINTR)
			return -1;
	}
	return 0;
}

static int too_big(const char *path, size_t max, struct err *e)
{
	err_set(e, ERR_SYS, "%s is larger than %zu bytes", path, max);
	err_hint(e, "is this the right file? `ls -l %s`", path);
	errno = EFBIG;
	return -1;
}

static int refuse_irregular(const char *path, mode_t mode, struct err *e)
{
	err_set(e, ERR_SYS, "%s is %s, not a regular file", path,
		S_ISDIR(mode) ? "a folder" : "a device, pipe or socket");
	err_hint(e, "name a regular file");
	errno = S_ISDIR(mode) ? EISDIR : EINVAL;
	return -1;
}

/* errno stays: some files may be missing. */
static int unreadable(const char *path, struct err *e)
{
	int why = errno;

	err_sys(e, "cannot read %s", path);
	if (why == EACCES || why == EPERM)
		err_hint(e, "uid %u may not (`namei -l %s`)", (unsigned)geteuid(), path);
	errno = why;
	return -1;
}

int file_read(const char *path, size_t max, struct arena *a, char **ret, size_t *ret_n,
	      struct err *e)
{
	/* O_NONBLOCK: opening a pipe that nobody writes would wait for ever */
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	size_t cap, n = 0;
	struct stat st;
	char *buf;

	if (fd < 0 || fstat(fd, &st) < 0)
		return unreadable(path, e);
	if (!S_ISREG(st.st_mode))
		return refuse_irregular(path, st.st_mode, e);
	if (st.st_size > 0 && (size_t)st.st_size > max)
		return too_big(path, max, e);
	/* files below /proc say 0, and any file may grow while we read */
	cap = (size_t)st.st_size + ATTR_MAX;
	buf = arena_alloc(a, cap + 1);
	for (;;) {
		if (read_some(fd, buf, cap, &n) < 0)
			return unreadable(path, e);
		if (n > max)
			return too_big(path, max, e);
		if (n < cap)
			break;
		buf = arena_grow(a, buf, n, cap * 2 + 1);
		cap *= 2;
	}
	buf[n] = '\0';
	*ret = buf;
	*ret_n = n;
	return 0;
}

char *file_line_at(struct arena *a, int dirfd, const char *path)
{
	AUTO_CLOSE int fd = openat(dirfd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	char buf[ATTR_MAX + 1];
	ssize_t got;
	size_t n;

	if (fd < 0)
		return NULL;
	got = read(fd, buf, ATTR_MAX);
	if (got < 0)
		return NULL;
	buf[got] = '\0';
	n = strcspn(buf, "\n");
	while (n && (buf[n - 1] == ' ' || buf[n - 1] == '\t' || buf[n - 1] == '\r'))
		n--;
	return arena_strndup(a, buf, n);
}

char *file_line(struct arena *a, const char *path) { return file_line_at(a, AT_FDCWD, path); }

const char *file_in_path(struct arena *a, const char *path, const char *program)
{
	for (size_t n; *path; path += n + (path[n] == ':')) {
		const char *at;

		n = strcspn(path, ":");
		at = arena_printf(a, "%.*s/%s", (int)n, path, program);
		if (n && !access(at, X_OK))
			return at;
	}
	return NULL;
}

const char *file_on_path(struct arena *a, const char *program)
{
	return file_in_path(a, getenv("PATH") ?: "/usr/bin:/bin", program);
}

int file_write_all(int fd, const char *data, size_t n)
{
	while (n) {
		ssize_t put = write(fd, data, n);

		if (put < 0 && errno != EINTR)
			return -1;
		if (put > 0) {
			data += put;
			n -= (size_t)put;
		}
	}
	return 0;
}
