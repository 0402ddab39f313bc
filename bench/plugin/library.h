#ifndef BENCH_PLUGIN_LIBRARY_H
#define BENCH_PLUGIN_LIBRARY_H
/*
 * A vendor's library, wherever a machine may have it (lib/host/places.h), loaded: visible to
 * all that is loaded later.
 */
#include "lib/core/err.h"
#include "lib/host/places.h"

/* Where wheels for CUDA 13 have cuBLAS, and those before it. */
extern const char *const library_blas_packages[];

enum { LIBRARY_WHY = 256 };
/* NULL: @why has what the loader said first, of a file that is there if there is one. */
void *library_open(const struct library_want *w, char why[LIBRARY_WHY]);
/* The file beside @path that is called @name; "": @path names no folder, or there is none. */
void library_beside(const char *path, const char *name, char *ret, size_t n);
/* The file whose @symbol is called from here; @otherwise where the loader does not say. */
void library_path(const char *symbol, const char *otherwise, char *ret, size_t n);
/* The first of @names that @so has not; NULL: it has all. */
const char *library_lacks(void *so, const char *const *names, size_t n);
/* -1, ERR_ABSENT: @what lacks one of @names; the hint says that @least would have them. */
int library_needs(void *so, const char *const *names, size_t n, const char *what, const char *least,
		  struct err *e) MUST_CHECK;

#endif
