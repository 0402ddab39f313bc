/* The jobs of schedulers that we may be inside of, by the variables that their manuals name. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "lib/cluster/allocation.h"
#include "lib/core/text.h"

#include <cmocka.h>

static char folder[] = "/tmp/t_allocation.XXXXXX";
static struct arena a;

static const char *in_folder(const char *name) { return arena_printf(&a, "%s/%s", folder, name); }

static void put(const char *name, const char *text, mode_t mode)
{
	AUTO_CLOSE int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

/* "NAME=VALUE" each; a value that begins with % is of a file in the folder. */
static void surround(const char *const *settings)
{
	static const char output[] = "CMOCKA_MESSAGE_OUTPUT"; /* is the test's own */
	const char *form = getenv(output);

	form = form ? arena_strdup(&a, form) : NULL;
	assert_int_equal(clearenv(), 0);
	if (form)
		setenv(output, form, 1);
	setenv("PATH", folder, 1);
	for (; *settings; settings++) {
		const char *eq = strchr(*settings, '=');
		const char *name = arena_strndup(&a, *settings, (size_t)(eq - *settings));

		setenv(name, eq[1] == '%' ? in_folder(eq + 2) : eq + 1, 1);
	}
}

static const char *shown(const struct allocation *job)
{
	const char *hosts = job->hosts ?: "";

	if (!job->scheduler)
		return "none";
	if (starts_with(hosts, folder))
		hosts = arena_printf(&a, "%%%s", hosts + strlen(folder) + 1);
	return arena_printf(&a, "%s %s %s %zu %s%s", job->scheduler, hosts, job->typed, job->n,
			    job->srun ? "srun" : job->rsh ?: "ssh", job->not_first ? " silent" : "");
}

static void of_each_scheduler(void **state UNUSED)
{
	static const struct {
		const char *env[6];
		const char *want;
	} rows[] = {
		{{NULL}, "none"},
		{{"SLURM_JOB_NODELIST=n[1-2]", "SLURM_JOB_NUM_NODES=2"},
		 "Slurm n[1-2] \"$SLURM_JOB_NODELIST\" 2 srun"},
		{{"SLURM_JOB_NODELIST=n1", "SLURM_JOB_NUM_NODES=1"}, "none"},
		{{"SLURM_JOB_NODELIST=n[1-2]", "SLURM_JOB_NUM_NODES=2", "SLURM_STEP_NUM_TASKS=2",
		  "SLURM_PROCID=1"},
		 "Slurm n[1-2] \"$SLURM_JOB_NODELIST\" 2 srun silent"},
		{{"PBS_NODEFILE=%slots"}, "PBS %slots \"$PBS_NODEFILE\" 2 ssh"},
		{{"PBS_NODEFILE=%one"}, "none"},
		{{"PBS_NODEFILE=%gone"}, "none"},
		{{"LSB_JOBID=7", "LSB_DJOB_HOSTFILE=%slots", "LSB_HOSTS=n7 n8"},
		 "LSF %slots \"$LSB_DJOB_HOSTFILE\" 2 blaunch"},
		{{"LSB_DJOB_HOSTFILE=%slots"}, "none"}, /* left of a job that is over */
		{{"LSB_JOBID=7", "LSB_DJOB_HOSTFILE=%one", "LSB_MCPU_HOSTS=n1 4"}, "none"},
		{{"LSB_JOBID=7", "LSB_DJOB_HOSTFILE=%gone", "LSB_MCPU_HOSTS=n1 8 n2 4 n3 4",
		  "LSB_HOSTS=n1"},
		 "LSF n1,n2,n3 n1,n2,n3 3 blaunch"},
		{{"LSB_JOBID=7", "LSB_HOSTS=n1 n1 n2 n2 n1"}, "LSF n1,n2 n1,n2 2 blaunch"},
		{{"LSB_JOBID=7", "LSB_HOSTS=n1 n1"}, "none"},
		{{"LSB_JOBID=7"}, "none"},
		{{"JOB_ID=3", "SGE_ROOT=/opt/sge", "PE_HOSTFILE=%pe"},
		 "Grid Engine %pe \"$PE_HOSTFILE\" 2 qrsh -inherit -V"},
		{{"PE_HOSTFILE=%pe"}, "none"},
		{{"JOB_ID=3", "SGE_ROOT=/opt/sge", "PE_HOSTFILE=%junk"}, "none"},
		{{"PATH=/nowhere", "JOB_ID=3", "SGE_ROOT=/opt/sge", "PE_HOSTFILE=%pe"},
		 "Grid Engine %pe \"$PE_HOSTFILE\" 2 ssh"},
	};

	put("slots", "n1\nn2\nn1\nn2\n", 0600);
	put("one", "n1\nn1\n", 0600);
	put("pe", "n1 8 all.q@n1 UNDEFINED\nn2 8 all.q@n2 UNDEFINED\n", 0600);
	put("junk", "n1 8 and so on\n", 0600);
	put("blaunch", "#!/bin/sh\n", 0700);
	put("qrsh", "#!/bin/sh\n", 0700);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct allocation job;

		surround(rows[i].env);
		allocation_find(&a, &job);
		if (!streq(shown(&job), rows[i].want))
			fail_msg("row %zu: %s, not %s", i, shown(&job), rows[i].want);
		allocation_go_by(&job, NULL);
		assert_string_equal(shown(&job), rows[i].want);
		allocation_go_by(&job, "ssh");
		assert_true(!job.srun && !job.rsh);
		allocation_forget();
		allocation_find(&a, &job);
		assert_null(job.scheduler);
	}
}

static int setup(void **state UNUSED) { return mkdtemp(folder) ? 0 : -1; }

static int teardown(void **state UNUSED)
{
	static const char *const names[] = {"slots", "one", "pe", "junk", "blaunch", "qrsh"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)unlink(in_folder(names[i]));
	(void)rmdir(folder);
	arena_done(&a);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(of_each_scheduler)};

	return cmocka_run_group_tests(tests, setup, teardown);
}
