#include "lib/core/file.h"

#include "lib/core/interrupt.h"
#include "lib/core/log.h"

#include <dirent.h>
#include <sys/stat.h>

enum { TELL_EVERY = 64 };

int file_each(const char *path, const struct file_each *with, struct arena *a, struct err *e)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, NULL, alphasort), rc = 0;
	const char *slash = ends_with(path, "/") ? "" : "/";

	if (n < 0)
		return file_refused(path, e);
	for (int i = 0; i < n; i++) {
		const char *file = arena_printf(a, "%s%s%s", path, slash, names[i]->d_name);
		struct stat st;

		free(names[i]);
		if (!rc && !stat(file, &st) && S_ISREG(st.st_mode))
			rc = with->take(with->arg, file, e) || interrupt_err(e) ? -1 : 0;
		if (!rc && i % TELL_EVERY == TELL_EVERY - 1)
			log_progress(with->doing, (uint64_t)i, (uint64_t)n);
	}
	free(names);
	log_progress_end();
	return rc;
}
