#ifndef BENCH_INSPECTOR_SAY_H
#define BENCH_INSPECTOR_SAY_H
/* The parts of insp_judge(): what is said of a closed book. */
#include "bench/inspector/inspector.h"
#include "bench/inspector/look.h"

struct insp_say {
	const struct insp_book *b;
	const struct insp_opts *o;
	struct report *r;
	struct arena *a;
	insp_stats stats;
	uint32_t per_host; /* GPUs of one host, by all that is recorded */
};

/* --- say.c --- */
const char *insp_say_comm(const struct insp_say *s, const struct insp_comm *c);
const char *insp_say_shape(const struct insp_say *s, const struct insp_comm *c);
const char *insp_say_rank(const struct insp_say *s, uint32_t member);
const char *insp_say_when(const struct insp_say *s, double us); /* "2026-01-02 03:04:05 UTC" */

/* --- say_speed.c --- */
void insp_say_table(const struct insp_say *s);
void insp_say_speed(const struct insp_say *s);
/* By ranks, hosts, collective and size; and how many from @i on are alike in all of these. */
const struct insp_stat **insp_say_order(const struct insp_say *s);
size_t insp_say_row(const struct insp_say *s, const struct insp_stat *const *v, size_t i);
/* --- say_peers.c --- */
void insp_say_peers(const struct insp_say *s);
/* --- say_time.c --- */
void insp_say_drift(const struct insp_say *s);
void insp_say_stalls(const struct insp_say *s);
/* --- say_who.c --- */
void insp_say_world(const struct insp_say *s);
void insp_say_late(const struct insp_say *s);
void insp_say_stops(const struct insp_say *s);

#endif
