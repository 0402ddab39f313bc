#ifndef LIB_CLUSTER_PARCEL_H
#define LIB_CLUSTER_PARCEL_H
/*
 * Our own folder as one piece, to be carried to a host where it is not
 * installed: bin/ with the programs that are asked for, lib/ with the shared
 * libraries that they are linked with (glibc's and vendors' never), lib/windsock/
 * with the plug-ins, and SHA256SUMS of them all. It is a tar archive, the same
 * to the byte whenever the files are the same.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

enum { PARCEL_SUM = 64 + 1 };

struct parcel {
	const unsigned char *p; /* the archive */
	size_t n;
	char sum[PARCEL_SUM];	  /* of SHA256SUMS, so of everything */
	char own_sum[PARCEL_SUM]; /* of our own program alone */
};

/* Our own program and those of @programs (NULL-ended; NULL: none) beside it. All in @a. */
int parcel_pack(const char *const *programs, struct arena *a, struct parcel *ret,
		struct err *e) MUST_CHECK;

/* The shared libraries that our program is linked with, by path; glibc's are left out. */
void parcel_libraries(struct arena *a, str_list *ret);

/*
 * For an agent that was started out of such a folder (WINDSOCK_COPY names it):
 * where it is, or NULL. Forgets the variable. What is not our own program's
 * folder is not believed.
 */
const char *parcel_folder(struct arena *a);
void parcel_remove(const char *folder); /* NULL: no-op */

#endif
