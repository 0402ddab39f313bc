#ifndef LIB_HOST_LOADER_H
#define LIB_HOST_LOADER_H
/*
 * Which file the loader would take for a library, without loading it: a vendor's may be
 * hundreds of megabytes, and begins to work as soon as it is there.
 */
#include "lib/core/arena.h"

/* The file that this process has under the name "libnccl.so.2" already; NULL: none. */
const char *loader_has(struct arena *a, const char *name);
/* The one that it would find: LD_LIBRARY_PATH, ldconfig's cache, its own folders. NULL: none. */
const char *loader_finds(struct arena *a, const char *name);
/* The one that @library, a file, would find besides where it asks for @name itself: in the folders
 * that are built into it (DT_RUNPATH, or DT_RPATH). NULL: none. */
const char *loader_finds_for(struct arena *a, const char *library, const char *name);
/* In the bytes of such a cache: the path, which lies in @cache. NULL: none, or no cache. */
const char *loader_in_cache(const char *cache, size_t n, const char *name);

#endif
