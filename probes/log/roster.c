#include "probes/log/roster.h"

#include "lib/core/hash.h"
#include "lib/core/text.h"

/* Never 0 where there is a host. */
static uint64_t hash(const char *s) { return *s ? hash64_add(HASH64, s, strlen(s)) | 1 : 0; }

static void begin(struct roster *r, long total)
{
	*r = (struct roster){.total = total,
			     .by_two = -1,
			     .beyond = r->beyond,
			     .beyond_of = r->beyond_of,
			     .heads = r->lines ? 0 : r->heads,
			     .head_line = r->head_line};
}

static bool are_two(const struct roster_member *m, const struct log_who *who)
{
	return (m->host && *who->host && m->host != hash(who->host)) ||
	       (m->label >= 0 && who->rank >= 0 && m->label != who->rank);
}

void roster_note(struct roster *r, long which, long total, const struct log_who *who, unsigned file,
		 uint64_t line, uint64_t broke)
{
	struct roster_member *m;

	if (which < 0 || total < 1)
		return;
	if (which >= total) {
		r->beyond = which;
		r->beyond_of = total;
		return;
	}
	if (which >= MUSTER_MAX)
		return;
	m = &r->v[which];
	/* another job, or the same one, started again */
	if (r->total != total || (m->said && m->file == file && broke > m->line))
		begin(r, total);
	r->lines++;
	if (m->said++) {
		r->present_at_repeat = r->present_at_repeat ? r->present_at_repeat : r->present;
		r->adjacent += m->file == file && line - m->line <= 1;
		r->by_two = are_two(m, who) ? which : r->by_two;
	} else {
		r->present++;
		m->label = who->rank;
		m->host = hash(who->host);
	}
	m->file = file;
	m->line = line;
	r->most = m->said > r->most ? m->said : r->most;
}

void roster_head(struct roster *r, uint64_t line)
{
	/* after the numbers it belongs to the next run; twice in a row it is one, said by two
	 * handlers */
	r->heads += !r->lines && (!r->heads || line - r->head_line > 1);
	r->head_line = line;
}

enum roster_twice roster_judge(const struct roster *r)
{
	/* as many lines as processes, or one less, that never came; more, and some are repeated */
	bool is_even = r->present * r->most == r->total && r->lines + 1 >= r->total;

	if (!r->total || r->lines > r->total || r->most < 2)
		return ROSTER_ONCE;
	if (r->heads == r->most && r->v[0].said == r->most && is_even)
		return ROSTER_LIKELY;
	if (r->adjacent * 2 >= r->lines - r->present)
		return ROSTER_ONCE;
	if (r->by_two >= 0)
		return ROSTER_TWICE;
	/* All processes spoke, each number was said as often as any other, and the first again
	 * before all were said once: a job that is started again says them one after the other. */
	return is_even && r->present_at_repeat < r->present ? ROSTER_LIKELY : ROSTER_ONCE;
}
