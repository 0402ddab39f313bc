#include "lib/host/sysroot.h"
#include "lib/core/file.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>

enum { LIST_MAX = 65536 };

static const char *root; /* NULL: the real one */

void sysroot_set(const char *dir) { root = dir && *dir ? dir : NULL; }
bool sysroot_is_real(void) { return !root; }

const char *sysroot_path(struct arena *a, const char *path)
{
	return root ? arena_printf(a, "%s%s", root, path) : path;
}

const char *sysroot_netlink(struct arena *a) { return root ? sysroot_path(a, "/netlink") : NULL; }

const char *sysroot_hostname(struct arena *a)
{
	const char *name = sysroot_line(a, "/proc/sys/kernel/hostname");
	char buf[HOST_NAME_MAX + 1];

	if (name && *name)
		return name;
	if (root || gethostname(buf, sizeof(buf)) < 0)
		return "localhost";
	buf[sizeof(buf) - 1] = '\0';
	return arena_strdup(a, buf);
}

/* A thousand attributes are read in a run: their paths are not kept. */
static bool PRINTF(2, 0) format_path(char *buf, const char *fmt, va_list ap)
{
	int n = snprintf(buf, PATH_MAX, "%s", root ? root : "");
	int m = n < PATH_MAX ? vsnprintf(buf + n, (size_t)(PATH_MAX - n), fmt, ap) : PATH_MAX;

	return n + m < PATH_MAX;
}

#define FORMAT_PATH(buf, fmt)                                                                      \
	({                                                                                         \
		va_list ap_;                                                                       \
		bool fits_;                                                                        \
		va_start(ap_, fmt);                                                                \
		fits_ = format_path(buf, fmt, ap_);                                                \
		va_end(ap_);                                                                       \
		fits_;                                                                             \
	})

const char *sysroot_line(struct arena *a, const char *fmt, ...)
{
	char path[PATH_MAX];

	return FORMAT_PATH(path, fmt) ? file_line(a, path) : NULL;
}

static const char *read_link(struct arena *a, const char *path, bool last_part)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	const char *slash;

	if (n <= 0)
		return NULL;
	target[n] = '\0';
	slash = last_part ? strrchr(target, '/') : NULL;
	return arena_strdup(a, slash ? slash + 1 : target);
}

const char *sysroot_link(struct arena *a, const char *fmt, ...)
{
	char path[PATH_MAX];

	return FORMAT_PATH(path, fmt) ? read_link(a, path, false) : NULL;
}

const char *sysroot_link_name(struct arena *a, const char *fmt, ...)
{
	char path[PATH_MAX];

	return FORMAT_PATH(path, fmt) ? read_link(a, path, true) : NULL;
}

int64_t sysroot_int(struct arena *a, int64_t otherwise, const char *fmt, ...)
{
	char path[PATH_MAX], *line, *end;
	long long v;

	line = FORMAT_PATH(path, fmt) ? file_line(a, path) : NULL;
	if (!line || !*line)
		return otherwise;
	errno = 0;
	v = strtoll(line, &end, 0);
	return *end || errno ? otherwise : v;
}

bool sysroot_exists(const char *fmt, ...)
{
	char path[PATH_MAX];

	return FORMAT_PATH(path, fmt) && access(path, F_OK) == 0;
}

static int by_version(const void *x, const void *y)
{
	return strverscmp(*(const char *const *)x, *(const char *const *)y);
}

void sysroot_list(struct arena *a, str_list *ret, const char *fmt, ...)
{
	char path[PATH_MAX];
	AUTO_DIR DIR *d = FORMAT_PATH(path, fmt) ? opendir(path) : NULL;
	struct dirent *entry;

	*ret = (str_list){0};
	if (!d)
		return;
	while (ret->n < LIST_MAX && (entry = readdir(d))) {
		if (*entry->d_name != '.')
			*LIST_ADD(a, ret) = arena_strdup(a, entry->d_name);
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_version);
}
