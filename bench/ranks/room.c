#include "bench/ranks/room.h"

#include "lib/core/units.h"
#include "lib/host/cgroup.h"
#include "lib/host/memory.h"
#include "lib/host/processors.h"

#include <inttypes.h>
#include <sys/resource.h>

enum {
	CROWD = 16,	    /* ranks on a processor that meet the usual deadlines all the same */
	FILES_BESIDE = 32,  /* of a rank: its program, its outputs, its rendezvous */
	FILES_AGENT = 4,    /* of who starts them, for each one */
	PROCESSES_EACH = 2, /* a rank with a thread that reads ahead */
	PROCESSES_BESIDE = 8,
};
static const uint64_t RANK_BYTES = 4 << 20; /* of the smallest network, the program's not counted */

/* --- what there is ---------------------------------------------------------------------- */

/* The launcher raises the soft limit to the hard one for itself and its ranks. */
static uint64_t count_files(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_NOFILE, &r) || r.rlim_max == RLIM_INFINITY ? UINT64_MAX
									   : (uint64_t)r.rlim_max;
}

/* It is no limit for root. */
static uint64_t count_of_user(void)
{
	struct rlimit r;

	if (!geteuid() || getrlimit(RLIMIT_NPROC, &r) || r.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return r.rlim_cur;
}

void room_read(struct room *ret)
{
	uint64_t bytes = memory_available();

	*ret = (struct room){.processors = processors_usable(),
			     .files = count_files(),
			     .processes = cgroup_tasks().left,
			     .of_user = count_of_user(),
			     .bytes = bytes ? bytes : UINT64_MAX};
}

/* --- what that is enough for -------------------------------------------------------------- */

static uint64_t files_for(uint64_t ranks, unsigned links)
{
	uint64_t rank = ranks * links + FILES_BESIDE, agent = ranks * FILES_AGENT + FILES_BESIDE;

	return rank > agent ? rank : agent;
}

static uint64_t processes_for(uint64_t ranks, unsigned links UNUSED)
{
	return ranks * PROCESSES_EACH + PROCESSES_BESIDE;
}

static uint64_t bytes_for(uint64_t ranks, unsigned links UNUSED) { return ranks * RANK_BYTES; }

typedef uint64_t needs_fn(uint64_t ranks, unsigned links);

/* The most ranks for which @limit is enough. */
static uint64_t most(needs_fn *needs, unsigned links, uint64_t ranks, uint64_t limit)
{
	while (ranks && needs(ranks, links) > limit)
		ranks--;
	return ranks;
}

static int refuse(const struct room_need *n, const char *what, uint64_t needed, uint64_t has,
		  uint64_t fit, struct err *e)
{
	err_set(e, ERR_SYS,
		"%" PRIu64 " ranks on this machine need %" PRIu64 " %s, and there are %" PRIu64
		": enough for %" PRIu64,
		n->ranks, needed, what, has, fit);
	return -1;
}

struct np_buf {
	char s[40];
};

/* "--np 12, or ", or nothing where not even --np 1 fits. */
static const char *fewer(const struct room_need *n, uint64_t fit, struct np_buf *ret)
{
	uint64_t np = fit / (n->each ? n->each : 1);

	*ret->s = '\0';
	if (np)
		(void)snprintf(ret->s, sizeof(ret->s), "--np %" PRIu64 ", or ", np);
	return ret->s;
}

static int check_files(const struct room *r, const struct room_need *n, struct err *e)
{
	uint64_t fit = most(files_for, n->links, n->ranks, r->files);
	struct np_buf np;

	if (fit == n->ranks)
		return 0;
	(void)refuse(n, "files open in one process", files_for(n->ranks, n->links), r->files, fit,
		     e);
	return err_hint(e, "%sas root: ulimit -n %" PRIu64, fewer(n, fit, &np),
			files_for(n->ranks, n->links));
}

static int check_processes(const struct room *r, const struct room_need *n, struct err *e)
{
	bool of_user = r->of_user < r->processes;
	uint64_t has = of_user ? r->of_user : r->processes, needed = processes_for(n->ranks, 0);
	uint64_t fit = most(processes_for, n->links, n->ranks, has);
	struct np_buf np;

	if (fit == n->ranks)
		return 0;
	(void)refuse(n, "processes and threads", needed, has, fit, e);
	if (of_user)
		return err_hint(e, "%sulimit -u %" PRIu64 ", as root where it is refused",
				fewer(n, fit, &np), needed);
	return err_hint(e, "%sraise pids.max of the control group or of those around it",
			fewer(n, fit, &np));
}

static int check_bytes(const struct room *r, const struct room_need *n, struct err *e)
{
	uint64_t needed = bytes_for(n->ranks, n->links);
	uint64_t fit = most(bytes_for, n->links, n->ranks, r->bytes);
	struct unit_buf need, has;
	struct np_buf np;

	if (fit == n->ranks)
		return 0;
	err_set(e, ERR_SYS,
		"%" PRIu64 " ranks on this machine need %s of memory at least, and %s may be "
		"taken: enough for %" PRIu64,
		n->ranks, format_size(&need, needed), format_size(&has, r->bytes), fit);
	return err_hint(e, "%smore hosts", fewer(n, fit, &np));
}

int room_check(const struct room *r, const struct room_need *n, struct err *e)
{
	return check_files(r, n, e) || check_processes(r, n, e) || check_bytes(r, n, e) ? -1 : 0;
}

unsigned room_patience(const struct room *r, uint64_t ranks)
{
	uint64_t usual = (uint64_t)r->processors * CROWD;

	return ranks > usual ? (unsigned)((ranks + usual - 1) / usual) : 1;
}
