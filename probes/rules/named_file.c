#include "probes/rules/named_file.h"

#include "lib/core/file.h"
#include "lib/host/answers.h"
#include "lib/host/sysroot.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* A link may lead to a folder that does not. */
static bool answers(struct arena *a, const char *path)
{
	return folder_answers(file_folder(path, a)) && folder_answers(path);
}

static const char *why_missing(struct arena *a, const char *path)
{
	if (errno == ENOENT || errno == ENOTDIR)
		return *path == '/' ? "is not here" : "is not here, seen from this folder";
	if (errno == EACCES)
		return "cannot be reached by this user";
	return arena_printf(a, "cannot be looked at (%s)", strerror(errno));
}

const char *named_file_unreadable(struct arena *a, const char *path)
{
	const char *real = *path == '/' ? sysroot_path(a, path) : path;
	struct stat st;

	if (sysroot_is_real() && !answers(a, real))
		return "lies in a folder that does not answer";
	if (stat(real, &st))
		return sysroot_is_real() ? why_missing(a, path) : NULL;
	if (S_ISDIR(st.st_mode))
		return "is a folder";
	return access(real, R_OK) ? "may not be read by this user" : NULL;
}

const char *named_file_no_library(struct arena *a, const char *path)
{
	const char *why = named_file_unreadable(a, path);
	char head[SELFMAG];
	AUTO_CLOSE int fd = -1;

	if (why || !sysroot_is_real())
		return why;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0 && read(fd, head, SELFMAG) == SELFMAG && !memcmp(head, ELFMAG, SELFMAG))
		return NULL;
	return "is no shared library";
}

const char *named_file_no_folder(struct arena *a, const char *path)
{
	const char *dir = file_folder(path, a);

	return folder_answers(dir) && access(dir, F_OK) ? dir : NULL;
}

const char *named_file_unwritable(struct arena *a, const char *path)
{
	const char *dir = file_folder(path, a);
	struct stat st;

	if (!sysroot_is_real())
		return NULL;
	if (!answers(a, path))
		return arena_printf(a, "the folder %s does not answer, or where it leads to", dir);
	if (!stat(path, &st)) {
		if (S_ISDIR(st.st_mode))
			return "it is a folder";
		return access(path, W_OK) ? "this user may not write it" : NULL;
	}
	if (stat(dir, &st))
		return errno == EACCES ? arena_printf(a, "this user may not look into %s", dir)
				       : arena_printf(a, "there is no folder %s", dir);
	if (!S_ISDIR(st.st_mode))
		return arena_printf(a, "%s is no folder", dir);
	return access(dir, W_OK | X_OK) ? arena_printf(a, "this user may not write in %s", dir)
					: NULL;
}
