#include "bench/sweep/verdict.h"

#include "lib/cluster/rendezvous.h"
#include "lib/cluster/typed_way.h"

#include <signal.h>

/* Where it ran; of one that never joined its sentence knows: "rank 1 (node1) ..."; NULL. */
static const char *host_of(struct report *r, const struct bench_rank *p, const char *message)
{
	const char *at = starts_with(message, "rank ") ? strstr(message, " (") : NULL;
	size_t n = at ? strcspn(at + 2, ",)") : 0;

	return p ? p->host : n ? arena_strndup(report_arena(r), at + 2, n) : NULL;
}

const char *verdict_on_host(struct report *r, const struct bench_rank *p, const char *message)
{
	const char *host = host_of(r, p, message);

	return host ? arena_printf(report_arena(r), "   # on %s", host) : "";
}

/* A signal ended it, so that there is no process to look at any more. */
static void fix_killed(struct report *r, const struct bench_rank *p, const char *message,
		       int signal, struct finding *f)
{
	const char *on = verdict_on_host(r, p, message);

	if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP)
		finding_fix(f, "journalctl --since -10min%s: a time limit, systemd-oomd, a logout?",
			    *on ? on : "   # there");
	else if (signal == SIGBUS)
		finding_fix(f, "df -h /dev/shm%s", on);
	else if (p)
		finding_fix(f, "coredumpctl info %d   # on %s", p->pid, p->host);
	if (signal != SIGTERM && signal != SIGINT && signal != SIGHUP)
		finding_fix(f, "dmesg -T | grep -E 'segfault|traps:|Xid'%s", on);
}

#define BETWEEN_BOTH "- portcheck --hosts, with both of them: what lets nothing through"

/* Of two that only lose each other it is what lies between them. */
static void fix_between(const struct story *s, const struct bench_rank *p, int other,
			struct finding *f)
{
	const struct bench_rank *q =
		other >= 0 && (size_t)other < s->ranks.n ? &s->ranks.v[other] : NULL;
	const char *both = p && q ? arena_printf(f->a, "%s,%s", p->host, q->host) : NULL;

	if (both && streq(p->host, q->host))
		finding_fix(f, "portcheck   # on %s: its own firewall", p->host);
	else if (both)
		finding_fix(f, "%s   # what lets nothing through",
			    typed_for(f->a, "portcheck", NULL, both));
	else
		finding_fix(f, "%s", s->between ?: BETWEEN_BOTH);
}

/* "... at ADDRESS ..." */
static const char *place_in(struct arena *a, const char *message)
{
	const char *place = strstr(message, " at ") + strlen(" at ");

	return arena_strndup(a, place, strcspn(place, " "));
}

/* What shows why, by what its sentence says. */
static void fix_lost(struct report *r, const struct story *s, const struct bench_rank *p,
		     const char *fix, struct finding *f)
{
	const char *message = f->message, *killed = strstr(message, " died: killed by signal ");

	if (strstr(message, "signal 9"))
		finding_fix(f, "dmesg -T | grep -iE 'out of memory|killed process'%s",
			    verdict_on_host(r, p, message));
	else if (killed)
		fix_killed(r, p, message, (int)strtol(strstr(killed, "signal ") + 7, NULL, 10), f);
	else if (strstr(message, "nothing passes between") ||
		 strstr(message, "no connection with rank "))
		fix_between(s, p, blame_other(message), f);
	else if (strstr(message, " missing at a barrier") ||
		 (strstr(message, " missing: ") && !fix))
		finding_fix(f, "ps -C ncclbench -o pid,stat,wchan:20,args%s",
			    verdict_on_host(r, p, message));
	else if (strstr(message, "no rendezvous at "))
		finding_fix(f,
			    strstr(message, "Connection refused")
				    ? "ss -ltn  # at %s: " RDZV_NOBODY
				    : "portcheck %s  # from here: is the way to rank 0 free?",
			    place_in(f->a, message));
	else if (starts_with(message, "the rendezvous at "))
		finding_fix(f,
			    "dmesg -T | grep -iE 'out of memory|killed process'   # at %s, where "
			    "rank 0 was",
			    place_in(f->a, message));
	else if (p)
		finding_fix(f,
			    "uptime; ps -eo stat,pid,wchan:20,args | grep '^[DT]'   # on %s: the "
			    "rank was ended with its run; what hangs there stays",
			    p->host);
	else if (fix)
		finding_fix(f, "%s", fix);
}

void verdict_lost(struct report *r, const struct story *s, int rank, const char *message,
		  const char *fix)
{
	const struct bench_rank *p =
		rank >= 0 && (size_t)rank < s->ranks.n ? &s->ranks.v[rank] : NULL;
	char subject[32] = "ranks";
	struct finding *f;

	if (rank >= 0)
		(void)snprintf(subject, sizeof(subject), "rank %d", rank);
	f = report_find(r, VERDICT_ALIVE, subject);
	f->rank = rank;
	f->host = rank < 0 ? NULL : host_of(r, p, message);
	finding_set(f, ST_FAIL, "%s", message);
	finding_expect(f, "every rank answers until the end");
	fix_lost(r, s, p, fix, f);
	verdict_add(r, f);
}
