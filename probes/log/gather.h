#ifndef PROBES_LOG_GATHER_H
#define PROBES_LOG_GATHER_H
/* Lines by which a job gathers: each is a fact (facts.c), and none is a failure. */
#include "probes/log/why.h"

void gather_member(struct why *w, struct why_stream *s, const struct log_line *l);
void gather_rank_zero(struct why *w, struct why_stream *s, const struct log_line *l);
void gather_process(struct why *w, struct why_stream *s, const struct log_line *l);
void gather_launcher(struct why *w, struct why_stream *s, const struct log_line *l);
void gather_agent(struct why *w, struct why_stream *s, const struct log_line *l);
void gather_all_came(struct why *w, struct why_stream *s, const struct log_line *l);
void gather_barrier_over(struct why *w, struct why_stream *s, const struct log_line *l);
void gather_counted(struct why *w, struct why_stream *s, const struct log_line *l);
void gather_gloo(struct why *w, struct why_stream *s, const struct log_line *l);
void gather_nodes(struct why *w, struct why_stream *s, const struct log_line *l);
void gather_awaited(struct why *w, struct why_stream *s, const struct log_line *l);

#endif
