#ifndef PROBES_LOG_ELASTIC_H
#define PROBES_LOG_ELASTIC_H
/* torchrun's "Root Cause (first observed failure)", a block of lines: who failed first. */
#include "probes/log/line.h"

struct elastic {
	bool is_there;
	unsigned file;
	uint64_t line;	    /* of its heading */
	struct log_who who; /* rank and host, as far as they were said */
	long pid;	    /* 0: not said */
};

/* Its heading; what an earlier one said is forgotten. */
void elastic_begun(struct elastic *e, unsigned file, uint64_t line);
/* A line that may be of the block. */
void elastic_hear(struct elastic *e, unsigned file, uint64_t line, const struct log_line *l);

#endif
