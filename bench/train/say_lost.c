#include "bench/train/say_lost.h"

#include "bench/dev/dev.h"
#include "bench/ranks/reason.h"
#include "lib/cluster/rsh.h"
#include "lib/cluster/typed_way.h"
#include "lib/core/units.h"

void say_fix_lost(struct finding *f, const char *sentence, const char *host)
{
	bool no_memory = strstr(sentence, "out of memory"), no_page = strstr(sentence, "SIGBUS");
	const char *look = no_memory ? "free -m; cat /proc/self/cgroup"
			   : no_page ? "dmesg -T | grep -iE 'i/o error|nfs|memory failure' | tail; "
				       "df -h /dev/shm"
			   : strstr(sentence, "signal") || strstr(sentence, "exit code") ||
					   strstr(sentence, "connection lost")
				   ? "dmesg -T | grep -iE 'killed process|segfault|xid' | tail"
				   : "ps -eo pid,stat,wchan:24,args | grep '[d]dpsmoke'";

	if (no_memory)
		finding_fix(f,
			    "- srun --mem=..., docker run --memory ..., resources.limits.memory   "
			    "# more of it there; or a smaller --batch here");
	if (no_page)
		finding_fix(
			f,
			"- a file became shorter, or could not be read any more, while it was in "
			"use: one of --data, one in /dev/shm, or the program itself");
	if (host)
		finding_fix(f, "%s", typed_on(f->a, rsh_typed(f->a, NULL), host, look));
	else
		finding_fix(f, "%s", look);
}

int say_rank_in(const char *sentence)
{
	char digits[8] = "";
	uint64_t rank;

	if (sentence && starts_with(sentence, "rank "))
		(void)snprintf(digits, sizeof(digits), "%.*s",
			       (int)strspn(sentence + 5, "0123456789"), sentence + 5);
	return parse_uint(digits, &rank) ? -1 : (int)rank;
}

/* Of another rank's finding: what its host knows is typed there. */
static const char *fix_heard(const struct say_lost *l, struct arena *a)
{
	const char *fix = reason_fix(l->check, l->sentence) ?: "ddpsmoke --backend tcp";

	return l->host && streq(l->check, DEV_SICK) ? typed_on(a, rsh_typed(a, NULL), l->host, fix)
						    : fix;
}

void say_lost(struct report *r, const struct say_lost *l)
{
	struct arena *a = report_arena(r);
	struct finding *f =
		report_find(r, l->check ? l->check : "rank.alive",
			    l->rank < 0 ? "ranks" : arena_printf(a, "rank %d", l->rank));

	finding_set(f, ST_FAIL, "%s (%s)", l->sentence, l->doing);
	f->rank = l->rank;
	f->host = l->host;
	if (l->check) {
		finding_expect(f, starts_with(l->check, "gpu.")
					  ? "a GPU does the work that it is given"
					  : "one library that carries data between all ranks");
		finding_fix(f, "%s", l->fix ?: fix_heard(l, a));
		report_add(r, f);
		return;
	}
	finding_expect(f, "every rank answers until the end");
	if (l->connecting && l->host)
		finding_fix(f, "portcheck %s", l->address); /* its name may be its own alone */
	else
		say_fix_lost(f, l->sentence, l->host);
	report_add(r, f);
}
