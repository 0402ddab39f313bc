#ifndef BENCH_PLUGIN_LIBRARY_H
#define BENCH_PLUGIN_LIBRARY_H
/*
 * A vendor's library, wherever a machine may have it: the file that was named, else the
 * loader's path, CUDA's own folder, and the packages of the active Python, which is
 * where PyTorch has what it uses. What was found is visible to all that is loaded later.
 */
#include "lib/core/base.h"

struct library_want {
	const char *given;	     /* a file; NULL or empty: search */
	const char *const *names;    /* "libcudnn.so.9", the best first; NULL-terminated */
	const char *const *packages; /* "nvidia/cudnn/lib", likewise */
};
enum { LIBRARY_WHY = 256 };
/* NULL: @why has what the loader said of the first place. */
void *library_open(const struct library_want *w, char why[LIBRARY_WHY]);
/* Among the packages of the active Python alone, where PyTorch has what it uses. */
void *library_of_python(const char *package, const char *name);
/* In the folder of an installed CUDA alone. */
void *library_of_cuda(const char *name);
/* The file that has @symbol; @otherwise where the loader does not say. */
void library_path(void *so, const char *symbol, const char *otherwise, char *ret, size_t n);
/* The first of @names that it lacks, NULL: none. */
const char *library_lacks(void *so, const char *const *names, size_t n);

#endif
