#ifndef PROBES_LOG_KIN_H
#define PROBES_LOG_KIN_H
/*
 * Kinship. Some ids of the catalogue are shared with other catalogues of such
 * failures; the other entries are our own. Where one of ours states the cause
 * of a shared one more finely (the kernel's out-of-memory lines, and "killed
 * from outside"), both are of one family, which goes by the shared id: whoever
 * knows only that one recognises the cause, and reads our finer words. The
 * families are in kin.def.
 */
#include "probes/log/catalogue.h"

enum { KIN_MOST = 12 /* finer entries of one family, and a NULL */ };

struct family {
	const char *head; /* the shared id */
	const char *finer[KIN_MOST];
};

extern const struct family families[];
extern const size_t family_count;

bool id_is_shared(const char *id);
/* The shared entry whose cause @g states more finely; where there is none, @g. */
const struct signature *signature_head(const struct signature *g);

#endif
