#ifndef LIB_HOST_NCCL_ALIKE_H
#define LIB_HOST_NCCL_ALIKE_H
/*
 * Which of NCCL's settings have to be alike, and where: one list for what compares ranks and
 * what compares hosts. Whatever is not in it may differ with reason (names of interfaces and
 * devices, logs, limits of time), and nobody is alarmed. Read from NCCL's sources (2.30.7):
 * what each rank decides for itself, without asking the others, and acts upon together with
 * them.
 */
#include "lib/core/arena.h"

enum nccl_alike {
	ALIKE_EVERYWHERE, /* what moves, and in what pieces: else ranks wait without end */
	ALIKE_ON_HOST,	  /* how ranks of one host reach each other: both ends choose */
	ALIKE_BETTER,	  /* works, or not, by what else is there: a network that all have */
};

struct nccl_setting {
	const char *name;
	enum nccl_alike where;
};
extern const struct nccl_setting nccl_settings[];
extern const size_t nccl_settings_n;

bool nccl_may_differ(const char *name); /* it is none of those */

/*
 * What NCCL will read: of the environment, else of the first file of its own that has it. Empty
 * is as good as none: NULL. In lower case, and of numbers their value, as NCCL compares them.
 */
const char *nccl_setting_here(const char *name, struct arena *a);
/* The same as somebody wrote it, for messages and for what is to be typed. */
const char *nccl_setting_written(const char *name, struct arena *a);

#endif
