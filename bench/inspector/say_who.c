#include "bench/inspector/say.h"
#include "lib/core/units.h"

#include <math.h>

enum { NAMED = 8 };

/* --- whose lines are there -------------------------------------------------------------------- */

/* The largest one that lacks most ranks; of whole ones the largest. */
static const struct insp_comm *widest(const struct insp_book *b)
{
	const struct insp_comm *best = &b->comms.v[0];

	for (size_t i = 1; i < b->comms.n; i++) {
		const struct insp_comm *c = &b->comms.v[i];
		uint32_t lacks = c->ranks - c->members, best_lacks = best->ranks - best->members;

		if (lacks > best_lacks || (lacks == best_lacks && c->ranks > best->ranks))
			best = c;
	}
	return best;
}

/* "3, 7" */
static const char *absent(const struct insp_say *s, const struct insp_comm *c)
{
	uint32_t index = (uint32_t)(c - s->b->comms.v);
	bool *seen = arena_alloc(s->a, c->ranks);
	size_t named = 0;
	struct text t;

	for (size_t i = 0; i < s->b->members.n; i++)
		if (s->b->members.v[i].comm == index)
			seen[s->b->members.v[i].rank] = true;
	text_init(&t, s->a);
	for (uint32_t i = 0; i < c->ranks && named <= NAMED; i++) {
		if (seen[i])
			continue;
		if (named == NAMED)
			text_add(&t, " ...");
		else
			text_addf(&t, "%s%u", named ? ", " : "", i);
		named++;
	}
	return t.s;
}

static const char *extent(const struct insp_say *s)
{
	const struct insp_book *b = s->b;
	struct unit_buf took;
	struct text t;

	text_init(&t, s->a);
	text_addf(&t, "%ju line%s of %zu process%s on %zu host%s in %zu communicator%s, over %s",
		  (uintmax_t)b->lines, b->lines == 1 ? "" : "s", b->processes.n,
		  b->processes.n == 1 ? "" : "es", b->hosts.n, b->hosts.n == 1 ? "" : "s",
		  b->comms.n, b->comms.n == 1 ? "" : "s",
		  format_duration(&took, (uint64_t)((b->last_us - b->first_us) * 1000)));
	if (b->broken)
		text_addf(&t, "; %ju are cut off or not the Inspector's", (uintmax_t)b->broken);
	if (b->by_cpu)
		text_addf(&t, "; %ju were timed by the processor and do not count",
			  (uintmax_t)b->by_cpu);
	if (b->lost > 0)
		text_addf(&t,
			  "; %.0f more were lost before they could be written: a shorter "
			  "NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS keeps them",
			  b->lost);
	if (b->left_out)
		text_addf(&t, "; %ju found no room", (uintmax_t)b->left_out);
	return t.s;
}

void insp_say_world(const struct insp_say *s)
{
	const struct insp_comm *c = widest(s->b);
	struct finding *f = report_find(s->r, "world.size", NULL);
	bool few = c->members * 2 < c->ranks;

	if (c->members == c->ranks) {
		finding_set(f, ST_PASS, "%s", extent(s));
	} else {
		finding_set(f, few ? ST_INFO : ST_WARN,
			    "of communicator %s, %s, %u rank%s lines here; not %s (%s)",
			    insp_say_comm(s, c), insp_say_shape(s, c), c->members,
			    c->members == 1 ? " has" : "s have", absent(s, c), extent(s));
		finding_fix(f, "ncclbench --analyze DIR  # with the files of all hosts: who waits "
			       "for whom is in all of them together");
	}
	finding_expect(f, "lines of every rank");
	report_add(s->r, f);
}

/* --- who came last ------------------------------------------------------------------------------
 */

static const char *with_comm(const struct insp_say *s, uint32_t member)
{
	const char *rank = insp_say_rank(s, member);

	if (s->b->comms.n == 1)
		return rank;
	return arena_printf(s->a, "%s of communicator %s", rank,
			    s->b->comms.v[s->b->members.v[member].comm].id);
}

static const char *name_of(const struct insp_say *s, const struct insp_late *l)
{
	const struct insp_book *b = s->b;
	uint32_t best = 0;
	bool found = false;

	if (l->is_host)
		return arena_printf(s->a, "host %s", b->hosts.v[l->who]);
	if (l->is_member)
		return with_comm(s, l->who);
	for (uint32_t i = 0; i < b->members.n; i++) { /* its rank in the largest communicator */
		const struct insp_member *m = &b->members.v[i];

		if (m->process != l->who ||
		    (found &&
		     b->comms.v[m->comm].ranks <= b->comms.v[b->members.v[best].comm].ranks))
			continue;
		best = i;
		found = true;
	}
	return with_comm(s, best);
}

static void say_last(const struct insp_say *s, const struct insp_late *l, struct finding *f)
{
	finding_set(
		f, ST_WARN,
		"the others wait for %s %.0f %% of their time in its collectives%s, for the next "
		"%.0f %%; it came clearly last to %.0f %% of them",
		name_of(s, l), l->share * 100, l->is_host ? " with other hosts" : "", l->next * 100,
		l->often * 100);
	finding_fix(f,
		    "nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE; top -b -n 1 | head -n 20  # "
		    "there: a slow GPU, a starved loader, or more work than the others have");
}

void insp_say_late(const struct insp_say *s)
{
	struct finding *f = report_find(s->r, "rank.straggler", NULL);
	struct insp_late l;

	insp_look_late(s->b, s->a, &l);
	finding_expect(f, "nobody who is waited for three times as long as the next, and more than "
			  "10 %% of the time");
	if (l.known)
		finding_value(f, l.share * 100, "%");
	if (!l.known)
		finding_set(
			f, ST_SKIP,
			"%zu collectives have lines of two ranks and more: who came last cannot "
			"be told",
			l.n);
	else if (l.stands_out)
		say_last(s, &l, f);
	else
		finding_set(f, ST_PASS,
			    "no rank and no host holds the others up: they wait for one another "
			    "%.0f %% of their time in collectives, and for none of them again and "
			    "again (most for %s)",
			    l.waited * 100, name_of(s, &l));
	report_add(s->r, f);
}

/* --- whose lines stop ------------------------------------------------------------------------ */

/* The others' recording went on. */
static void say_sure(const struct insp_say *s, const struct insp_stop *x, struct finding *f)
{
	const struct insp_member *m = &s->b->members.v[x->member];
	const char *host = s->b->hosts.v[m->host];
	struct unit_buf ago;

	finding_set(f, x->took_part ? ST_WARN : ST_FAIL,
		    "nothing of pid %ju after %s %ju of communicator %s, %s; the others went on "
		    "for %s, up to %ju: %s",
		    (uintmax_t)s->b->processes.v[m->process].pid, x->coll, (uintmax_t)x->at,
		    s->b->comms.v[m->comm].id, insp_say_when(s, m->last_us),
		    format_duration(&ago, (uint64_t)(x->ago_s * 1e9)), (uintmax_t)x->others,
		    x->took_part ? "none of these ends without it, so it was its recording that "
				   "stopped, or its file was copied before theirs"
				 : "it died, hung or could not write any more");
	if (x->took_part)
		finding_fix(f,
			    "df -h  # on %s, of NCCL_INSPECTOR_DUMP_DIR; of a job that still "
			    "runs copy all files anew",
			    host);
	else
		finding_fix(f,
			    "ncclwhy LOG  # what that rank said last; on %s: df -h; dmesg -T | "
			    "tail -n 50",
			    host);
}

static void say_stop(const struct insp_say *s, const struct insp_stop *x)
{
	const struct insp_member *m = &s->b->members.v[x->member];
	const char *subject = arena_printf(s->a, "rank %u, %s", m->rank, s->b->hosts.v[m->host]);
	struct finding *f = report_find(s->r, "rank.alive", subject);

	if (x->sure)
		say_sure(s, x, f);
	else
		finding_set(f, ST_INFO,
			    "it lacks the last %ju of %s, which all others of communicator %s "
			    "have: where the job hung or died it is the first to look at, where "
			    "it ended well its last lines were not written any more",
			    (uintmax_t)(x->others - x->at), x->coll, s->b->comms.v[m->comm].id);
	report_add(s->r, f);
}

static void say_nobody_stops(const struct insp_say *s, size_t looked_at)
{
	struct finding *f = report_find(s->r, "rank.alive", NULL);

	if (looked_at)
		finding_set(f, ST_PASS, "no rank stops before the others");
	else
		finding_set(f, ST_SKIP,
			    "no collective has lines of two ranks, and sends and receives are "
			    "numbered by each rank for itself: who stops early cannot be told");
	report_add(s->r, f);
}

void insp_say_stops(const struct insp_say *s)
{
	size_t said = 0, sure = 0, looked_at;
	insp_stops l;

	looked_at = insp_look_stops(s->b, s->a, &l);
	for (size_t i = 0; i < l.n; i++)
		sure += l.v[i].sure;
	for (size_t i = 0; i < l.n && said < NAMED; i++) {
		if (!l.v[i].sure && sure)
			continue;
		say_stop(s, &l.v[i]);
		said++;
	}
	if (sure > said)
		report_remark(s->r, "%zu more ranks stop before the others.", sure - said);
	if (!l.n && s->b->members.n > 1)
		say_nobody_stops(s, looked_at);
}
