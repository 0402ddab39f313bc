#ifndef PROBES_LOG_BUSY_H
#define PROBES_LOG_BUSY_H
/*
 * One rank that evaluates, generates, downloads or prepares alone, while the others wait for it in
 * a collective: what it said last, and that no other rank said such a thing then.
 */
#include "probes/log/line.h"

/* Parted as anchors and alternatives are. None begins a progress bar ("Evaluating: 9%|"): that
 * draws over itself, and what is found in its first state would hide the latest. */
#define BUSY_WORDS                                                                                 \
	"valuating on|valuating the|valuating model|valuating checkpoint|"                         \
	"valuation on|tarting evaluation|egin evaluation|unning eval|"                             \
	"generation eval| eval on |lm_eval|lm-eval|unning validation|"                             \
	"tarting validation|alidating on|unning generation|enerating samples|"                     \
	"enerating text|enerating images|enerating completions|unning inference|"                  \
	"tarting inference|ownloading model|ownloading the|ownloading weights|"                    \
	"okenizing the|okenization of|reprocessing the|onverting the|"                             \
	"onverting checkpoint|onverting weights|uilding the index|uilding index|"                  \
	"omputing metrics|omputing FID|omputing perplexity|"                                       \
	"unning benchmark"

struct busy {
	uint64_t line; /* 0: nobody was */
	unsigned file;
	int rank;	/* -1: not said */
	bool is_shared; /* several ranks did it at the same time, or said so in the same words */
	uint32_t steps; /* lines of progress that had been counted then */
	enum clock_kind clock;
	int64_t time_ms;
	char text[120];
};

struct why;
struct why_stream;
struct arena;
struct explanation;

void busy_hear(struct why *w, struct why_stream *s, const struct log_line *l);
/* After who waited where is known. */
void busy_judge(struct why *w, struct arena *a, struct explanation *x);

#endif
