/* What windsock says to go on with when all hosts have passed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "lib/cluster/hostlist.h"
#include "lib/core/file.h"
#include "lib/report/json.h"
#include "probes/preflight/drift.h"
#include "tests/unit/report_file.h"

#include <cmocka.h>

static const char plain[] =
	"Next, for your own job:  ddpsmoke --hosts a,b --emit torchrun   # says what to type on "
	"each host\n"
	"Its interface alone:  eval \"$(ifprobe --suggest --hosts a,b)\"   # in the shell that "
	"starts it\n";

/* What stands in the report once @p has told it. */
static void check(struct preflight p, const char *want)
{
	struct arena a = {0};
	struct err e = {0};
	char out[64], *text;
	size_t n;

	p.a = p.t.a = &a;
	p.r = p.t.r = report_file_new(out, "windsock", "table");
	if (p.given)
		assert_int_equal(hosts_from_arg(p.given, &a, &p.hosts, &e), 0);
	preflight_tell_next(&p);
	(void)report_end(p.r, &e);
	assert_int_equal(file_read_given(out, 1 << 16, 0, &a, &text, &n, &e), 0);
	(void)unlink(out);
	assert_int_equal(strncmp(text, want, strlen(want)), 0);
	assert_int_equal(strstr(text, "ddpsmoke") != NULL, *want != '\0');
	arena_done(&a);
}

static void t_lines(void **state)
{
	char many[256] = "a", *end = many + 1;

	(void)state;
	check((struct preflight){.tells_next = true, .given = "a,b"}, plain);
	check((struct preflight){.tells_next = true, .given = "a,b", .gpus = 1}, plain);
	check((struct preflight){.tells_next = true, .given = "a,b", .gpus = 8},
	      "Next, for your own job:  ddpsmoke --hosts a,b --np-per-host 8 --emit torchrun   #");
	check((struct preflight){.tells_next = true, .given = "a:4,b:4", .gpus = 8},
	      "Next, for your own job:  ddpsmoke --hosts a:4,b:4 --emit torchrun   #");
	check((struct preflight){.tells_next = true,
				 .given = "n[1-2]",
				 .rsh = "ssh -i k",
				 .copy_self = true},
	      "Next, for your own job:  ddpsmoke --rsh 'ssh -i k' --hosts 'n[1-2]' --copy-self "
	      "--emit torchrun   #");
	check((struct preflight){.tells_next = true, .given = "n[1-2]", .is_slurms = true},
	      "Next, for your own job:  ddpsmoke --srun --emit srun   # says what to type here\n");
	check((struct preflight){.given = "a,b"}, "");			 /* for a program */
	check((struct preflight){.tells_next = true, .given = "a"}, ""); /* nothing is between */
	check((struct preflight){.tells_next = true}, "");
	check((struct preflight){.tells_next = true, .crew = (void *)many, .usable = {.n = 2}},
	      "Next, for your own job:  ddpsmoke --serve --emit torchrun   #");
	check(
		(struct preflight){
			.tells_next = true, .crew = (void *)many, .usable = {.n = 3}, .gpus = 2},
		"Next, for your own job:  ddpsmoke --serve --wait 2 --np-per-host 2 --emit "
		"torchrun   #");
	for (int i = 0; end < many + PREFLIGHT_NAMES; i++)
		end += snprintf(end, sizeof(many) - (size_t)(end - many), ",h%d", i);
	check((struct preflight){.tells_next = true, .given = many}, "");
}

/* Of the host that has the fewest; what it says is not to be believed without limit. */
static void t_gpus(void **state)
{
	static const struct {
		const char *say[2];
		unsigned want;
	} rows[] = {{{"8", "8"}, 8},	 {{"8", "4"}, 4},     {{"0", "8"}, 0},
		    {{"\"x\"", "8"}, 0}, {{"1e300", "8"}, 0}, {{"-3", "8"}, 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena a = {0};
		struct err e = {0};
		struct preflight p = {.a = &a};
		struct answer v[2] = {{0}};

		for (int h = 0; h < 2; h++) {
			const char *text =
				arena_printf(&a, "{\"facts\":{\"gpus\":%s}}", rows[i].say[h]);

			v[h].doc = json_parse(text, strlen(text), 8, &e);
			v[h].data = v[h].doc;
		}
		preflight_count_gpus(&p, &(struct answers){.v = v, .n = 2});
		assert_int_equal(p.gpus, rows[i].want);
		cJSON_Delete(v[0].doc);
		cJSON_Delete(v[1].doc);
		arena_done(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(t_lines), cmocka_unit_test(t_gpus)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
