#ifndef LIB_HOST_PLACES_H
#define LIB_HOST_PLACES_H
/*
 * Where a machine may have a vendor's library. The one that PyTorch would load here is the
 * one that is meant, so this is where it looks, in its order:
 *
 *	1. the file that was named, and then nowhere else
 *	2. what this process has already (LD_PRELOAD)
 *	3. the packages beside the active Python's PyTorch, its own lib, or the lib of its
 *	   conda: its files have these folders built in (DT_RPATH), which LD_LIBRARY_PATH does
 *	   not override
 *	4. the loader's path
 *	5. the packages of every Python here, the active one's first
 *	6. the folder of an installed CUDA: CUDA_HOME, /usr/local/cuda
 *
 * Whoever loads it (bench/plugin/library.h) and whoever only reads it (nccl_installed())
 * mean the same file so.
 */
#include "lib/core/base.h"

struct library_want {
	const char *given;	     /* a file; NULL or empty: search */
	const char *const *names;    /* "libcudnn.so.9", the best first; NULL-terminated */
	const char *const *packages; /* "nvidia/cudnn/lib", likewise */
};
/* Of a command's man page. */
#define LIBRARY_ENVIRONMENT                                                                        \
	"WINDSOCK_NCCL The NCCL that is meant, a file; without it the one that PyTorch would "     \
	"load "                                                                                    \
	"here.\n"
/* After "looked at --nccl, ": for a hint. */
#define LIBRARY_PLACES                                                                             \
	"the packages of the active Python's PyTorch, its lib, its conda's, the loader's path, "   \
	"other "                                                                                   \
	"Python packages and CUDA's lib64"

/* NCCL; @given before WINDSOCK_NCCL. */
struct library_want places_of_nccl(const char *given);

enum place {
	PLACE_FILE,    /* a file; unless it was named it is there */
	PLACE_PROCESS, /* a name: under which this process may have it */
	PLACE_LOADER,  /* a name: which the loader may find */
};
/* True: this is it. One that is no use (another processor's, damaged) is passed over. @what lives
 * as long as the call. */
typedef bool place_fn(void *arg, enum place, const char *what);
/* Asks @fn for one after the other. False: none was it. */
bool places_search(const struct library_want *w, place_fn *fn, void *arg);

#endif
