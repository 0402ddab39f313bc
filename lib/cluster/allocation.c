#include "lib/cluster/allocation.h"

#include "lib/cluster/hostlist.h"
#include "lib/cluster/rsh.h"
#include "lib/core/file.h"
#include "lib/core/quote.h"
#include "lib/core/text.h"
#include "lib/core/units.h"

/* A file with a line for each slot or each host of the job: LSF's, Grid Engine's, PBS's. */
static const struct scheduler {
	const char *name, *file;
	const char *pairs, *names; /* variables with what is in the file: "hostA 8 hostB 4" */
	const char *inside[3];	   /* set in every job of it */
	const char *program;	   /* what reaches a host of the job, where it is on the PATH */
	const char *rsh;
} schedulers[] = {
	{"PBS", "PBS_NODEFILE", NULL, NULL, {NULL}, NULL, NULL},
	{"LSF",
	 "LSB_DJOB_HOSTFILE",
	 "LSB_MCPU_HOSTS",
	 "LSB_HOSTS",
	 {"LSB_JOBID"},
	 "blaunch",
	 "blaunch"},
	/* as Open MPI and MPICH call it there */
	{"Grid Engine",
	 "PE_HOSTFILE",
	 NULL,
	 NULL,
	 {"JOB_ID", "SGE_ROOT"},
	 "qrsh",
	 "qrsh -inherit -V"},
};

static const char *given(const char *name)
{
	const char *v = name ? getenv(name) : NULL;

	return v && *v ? v : NULL;
}

/* A step of several tasks runs us as often: the first does it for all. */
static bool slurm(struct allocation *ret)
{
	const char *nodes = given("SLURM_JOB_NODELIST"), *n = given("SLURM_JOB_NUM_NODES");
	const char *tasks = given("SLURM_STEP_NUM_TASKS"), *proc = given("SLURM_PROCID");
	uint64_t count;

	if (!nodes || !n || parse_uint(n, &count) || count < 2)
		return false;
	*ret = (struct allocation){.scheduler = "Slurm",
				   .hosts = nodes,
				   .typed = "\"$SLURM_JOB_NODELIST\"",
				   .n = count,
				   .srun = true,
				   .not_first = tasks && !streq(tasks, "1") && proc &&
						!streq(proc, "0")};
	return true;
}

static bool is_inside(const struct scheduler *s)
{
	for (size_t i = 0; i < ARRAY_LEN(s->inside) && s->inside[i]; i++)
		if (!given(s->inside[i]))
			return false;
	return true;
}

static int by_name(const void *x, const void *y)
{
	return strcmp(((const struct host *)x)->name, ((const struct host *)y)->name);
}

/* There may be a line for each processor of a host: nothing to be noted. */
static size_t count(struct arena *a, const char *path)
{
	enum { MAX = 16 << 20 };
	struct err ignored = {0};
	host_list hosts = {0};
	size_t n, distinct = 0;
	char *text;

	if (file_read(path, MAX, a, &text, &n, &ignored) ||
	    hostfile_parse(text, n, path, a, &hosts, &ignored))
		return 0;
	qsort(hosts.v, hosts.n, sizeof(*hosts.v), by_name);
	for (size_t i = 0; i < hosts.n; i++)
		distinct += !i || !streq(hosts.v[i].name, hosts.v[i - 1].name);
	return distinct;
}

static void take(struct arena *a, const struct scheduler *s, size_t n, const char *hosts,
		 const char *typed, struct allocation *ret)
{
	bool there = s->program && file_on_path(a, s->program);

	if (n > 1)
		*ret = (struct allocation){.scheduler = s->name,
					   .hosts = hosts,
					   .typed = typed,
					   .n = n,
					   .rsh = there ? s->rsh : NULL};
}

/* "hostA 8 hostB 4", or without the numbers "hostA hostA hostB": as a list, each host once. */
static const char *listed(struct arena *a, const char *words, bool numbers, size_t *ret_n)
{
	struct err ignored = {0};
	str_list all = {0};
	struct text t;

	text_init(&t, a);
	if (split_words(words, a, &all, &ignored))
		return "";
	for (size_t i = 0; i < all.n; i += numbers ? 2 : 1) {
		bool again = false;

		for (size_t k = 0; k < i && !again; k += numbers ? 2 : 1)
			again = streq(all.v[k], all.v[i]);
		*ret_n += !again;
		if (!again)
			text_addf(&t, "%s%s", t.n ? "," : "", all.v[i]);
	}
	return t.s;
}

/* The variables, where the file that it wrote is not there (any more). */
static void by_words(struct arena *a, const struct scheduler *s, struct allocation *ret)
{
	const char *pairs = given(s->pairs), *words = pairs ?: given(s->names) ?: "", *hosts;
	size_t n = 0;

	hosts = listed(a, words, pairs, &n);
	take(a, s, n, hosts, hosts, ret);
}

void allocation_find(struct arena *a, struct allocation *ret)
{
	*ret = (struct allocation){0};
	if (slurm(ret))
		return;
	for (size_t i = 0; i < ARRAY_LEN(schedulers) && !ret->scheduler; i++) {
		const struct scheduler *s = &schedulers[i];
		const char *file = given(s->file);

		if (!is_inside(s))
			continue;
		if (file && !access(file, R_OK))
			take(a, s, count(a, file), file, arena_printf(a, "\"$%s\"", s->file), ret);
		else
			by_words(a, s, ret);
	}
}

void allocation_go_by(struct allocation *job, const char *given)
{
	if (!rsh_is_named(given))
		return;
	job->srun = false;
	job->rsh = NULL;
}

void allocation_forget(void)
{
	(void)unsetenv("SLURM_JOB_NODELIST");
	for (size_t i = 0; i < ARRAY_LEN(schedulers); i++) {
		const struct scheduler *s = &schedulers[i];
		const char *const names[] = {s->file, s->pairs, s->names};

		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			if (names[k])
				(void)unsetenv(names[k]);
	}
}
