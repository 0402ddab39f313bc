#include "bench/inspector/say.h"

#include "lib/report/json.h"

#include <math.h>
#include <time.h>

enum { DATA_MAX = 1 << 16 /* of each list */, LOOKED_AT = 4096 /* processes; others are alike */ };

const char *insp_say_comm(const struct insp_say *s, const struct insp_comm *c)
{
	return c->name ? arena_printf(s->a, "%s (%s)", c->id, c->name) : c->id;
}

const char *insp_say_shape(const struct insp_say *s, const struct insp_comm *c)
{
	return arena_printf(s->a, "%u ranks on %u host%s", c->ranks, c->hosts,
			    c->hosts == 1 ? "" : "s");
}

const char *insp_say_rank(const struct insp_say *s, uint32_t member)
{
	const struct insp_member *m = &s->b->members.v[member];

	return arena_printf(s->a, "rank %u (%s, pid %ju)", m->rank, s->b->hosts.v[m->host],
			    (uintmax_t)s->b->processes.v[m->process].pid);
}

const char *insp_say_when(const struct insp_say *s, double us)
{
	time_t t = (time_t)(us / 1e6);
	char text[40];
	struct tm tm;

	if (!(us > 0) || us > 1e17 || !gmtime_r(&t, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
		return "a time that is not known";
	return arena_strdup(s->a, text);
}

/* At the same time: a job that was started again has other processes. */
static uint32_t beside(const struct insp_book *b, const struct insp_process *p)
{
	uint32_t n = 0;

	for (size_t i = 0; i < b->processes.n; i++) {
		const struct insp_process *q = &b->processes.v[i];

		n += q->host == p->host && q->first_us <= p->last_us && q->last_us >= p->last_us;
	}
	return n;
}

/* A rank of a communicator, or a process, is a GPU; some processes have several. */
static uint32_t count_per_host(const struct insp_book *b)
{
	uint32_t most = 1, n;

	for (size_t i = 0; i < b->processes.n && i < LOOKED_AT; i++) {
		n = beside(b, &b->processes.v[i]);
		most = n > most ? n : most;
	}
	for (size_t i = 0; i < b->comms.n; i++) {
		n = (b->comms.v[i].ranks + b->comms.v[i].hosts - 1) / b->comms.v[i].hosts;
		most = n > most ? n : most;
	}
	return most;
}

/* --- data.inspector ----------------------------------------------------------------------------
 */

static void put_comms(const struct insp_say *s, cJSON *list)
{
	for (size_t i = 0; i < s->b->comms.n && i < DATA_MAX; i++) {
		const struct insp_comm *c = &s->b->comms.v[i];
		cJSON *o = json_push_object(list);

		json_str(o, "id", c->id);
		json_str(o, "name", c->name);
		json_num(o, "ranks", c->ranks);
		json_num(o, "hosts", c->hosts);
		json_num(o, "ranks_recorded", c->members);
	}
}

/* Entries have it in single precision. */
static void put_rounded(cJSON *o, const char *key, double v)
{
	json_num(o, key, round(v * 1e4) / 1e4);
}

static void put_stats(const struct insp_say *s, cJSON *list)
{
	for (size_t i = 0; i < s->stats.n && i < DATA_MAX; i++) {
		const struct insp_stat *t = &s->stats.v[i];
		cJSON *o = json_push_object(list);

		json_str(o, "communicator", t->c->id);
		json_str(o, "coll", insp_func_names[t->g->func]);
		json_num(o, "size", round(t->bytes));
		json_num(o, "lines", (double)t->g->n);
		json_num(o, "seconds", t->g->sum_us / 1e6);
		json_num(o, "collectives", (double)t->n);
		json_bool(o, "of_all_ranks", t->whole);
		put_rounded(o, "busbw_p10", t->p10);
		put_rounded(o, "busbw_median", t->median);
		put_rounded(o, "busbw_p90", t->p90);
		put_rounded(o, "waited_share", t->waited);
		put_rounded(o, "busbw_first_tenth", t->first);
		put_rounded(o, "busbw_last_tenth", t->last);
	}
}

static void put_data(const struct insp_say *s)
{
	cJSON *o = json_object(report_data(s->r), "inspector");

	json_num(o, "files", (double)s->b->files);
	json_num(o, "lines", (double)s->b->lines);
	json_num(o, "broken_lines", (double)s->b->broken);
	json_num(o, "lost_lines", s->b->lost);
	json_num(o, "seconds", (s->b->last_us - s->b->first_us) / 1e6);
	json_num(o, "gpus_per_host", s->per_host);
	put_comms(s, json_array(o, "communicators"));
	put_stats(s, json_array(o, "collectives"));
	if (s->stats.n > DATA_MAX)
		json_num(o, "collectives_left_out", (double)(s->stats.n - DATA_MAX));
}

void insp_judge(struct insp_book *b, const struct insp_opts *o, struct report *r)
{
	struct insp_say s = {.b = b, .o = o, .r = r, .a = report_arena(r)};

	insp_book_close(b);
	insp_look(b, s.a, &s.stats);
	s.per_host = count_per_host(b);
	insp_say_table(&s);
	insp_say_world(&s);
	insp_say_stops(&s);
	insp_say_speed(&s);
	insp_say_peers(&s);
	insp_say_drift(&s);
	insp_say_stalls(&s);
	insp_say_late(&s);
	if (report_wants_data(r))
		put_data(&s);
	report_covers(r, "what NCCL recorded; nothing was measured here");
}
