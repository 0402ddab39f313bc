/*
 * report.c and the renderers: one report in every format against
 * tests/golden/report.FORMAT (written anew with GOLDEN=write), exit codes, and
 * what happens when it cannot be written.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "lib/core/log.h"
#include "lib/report/json.h"
#include "lib/report/report.h"

#include <cmocka.h>

#include "tests/unit/report_sample.h"

static char folder[] = "/tmp/t_report.XXXXXX", output[64];

/* The whole file, with the moment and the duration of the run made constant. */
static char *slurp(const char *path)
{
	char *text = calloc(1, 1 << 20);
	int fd = open(path, O_RDONLY);

	if (fd < 0 || read(fd, text, (1 << 20) - 1) < 0)
		*text = '\0';
	(void)close(fd);
	return text;
}

static void blank(char *text, const char *after, const char *constant)
{
	for (char *p = text; (p = strstr(p, after));) {
		size_t n, old;

		p += strlen(after);
		old = strspn(p, "0123456789.-:TZe");
		n = strlen(constant);
		memmove(p + n, p + old, strlen(p + old) + 1);
		memcpy(p, constant, n);
	}
}

static void normalize(char *text)
{
	blank(text, "\"time\": \"", "2026-11-20T11:00:00Z");
	blank(text, "\n  \"seconds\": ", "0.012");
	blank(text, "timestamp=\"", "2026-11-20T11:00:00");
	blank(text, "skipped=\"1\" time=\"", "0.012000");
	blank(text, "| time=", "0.012");
	blank(text, "windsock_run_duration_seconds{command=\"ifprobe\",host=\"node0\"} ", "0.012");
	blank(text, "windsock_run_timestamp_seconds{command=\"ifprobe\",host=\"node0\"} ",
	      "1795172400");
}

static void add_measured(struct report *r)
{
	struct finding *f = report_find(r, "peer.latency", "10.0.0.3:29500");

	f->host = "node1";
	f->rank = 3;
	f->seconds = 0.25;
	finding_set(f, ST_FAIL, "node1 answers %s", "slowly");
	finding_value(f, 12.5, "ms");
	finding_expect(f, "<= %d ms", 5);
	finding_fix(f, "ping -c 3 10.0.0.3");
	report_add(r, f);
}

static void add_series(struct report *r)
{
	static const struct column columns[] = {{.name = "size", .unit = "B"},
						{.name = "busbw", .unit = "GB/s", .decimals = 3},
						{.name = "note", .is_text = true}};
	static const struct series s = {"all_reduce", columns, ARRAY_LEN(columns), false};

	report_series(r, &s);
	report_row(r, (struct cell[]){N(8), N(0.0012), T("first")});
	report_row(r, (struct cell[]){N(1073741824), N(9.87654), T(NULL)});
	report_row(r, (struct cell[]){N(16), N(NAN), T("caf\xc3\xa9 \xff")});
}

/* Everything a report can hold, foreign junk included. */
static void fill(struct report *r)
{
	add_view(r);
	report_remark(r, "RDMA carries the data here: NCCL_SOCKET_IFNAME decides the bootstrap "
			 "only.");
	add(r, "host.name", "node0", ST_PASS, "resolves to 10.0.0.1", NULL);
	add(r, "route.peer", "10.0.0.2", ST_FAIL,
	    "goes out of docker0, not ens5, so NCCL will tell its peers an address that nobody "
	    "outside this host can reach",
	    "eval \"$(ifprobe --suggest)\"");
	add(r, "mtu.peer", "10.0.0.2:29500", ST_WARN, "1500 here, 9001 there: 50% <slower> & \"x\"",
	    "ip link set dev ens5 mtu 9001\nip link show dev ens5");
	add(r, "sysctl.rp_filter", NULL, ST_INFO, "strict; harmless with # policy \\ routes", NULL);
	add(r, "rdma.gid", "mlx5_0/1", ST_SKIP, "no RDMA device", NULL);
	add(r, "iface.name", "e\x01\xffth\n0,1:2%", ST_WARN, "a\033[31mname\r\nto ]]> see",
	    "- reset the card or *reboot*");
	add(r, "host.name", "node0", ST_PASS, "once more", NULL);
	add_measured(r);
	add_measured(r);
	add_series(r);
	report_covers(r, "this host only; nothing between hosts was tested");
	if (report_wants_data(r)) {
		json_str(report_data(r), "name", "ens5\xff");
		report_node(r, "node1", NULL);
	}
}

static void same_as_golden(const char *format, const char *got)
{
	AUTO_FREE char *want = NULL;
	char path[256];

	snprintf(path, sizeof(path), "%s/tests/golden/report.%s", getenv("ROOT") ?: ".", format);
	if (getenv("GOLDEN")) {
		AUTO_FILE FILE *f = fopen(path, "we");

		assert_true(f && fputs(got, f) >= 0);
	}
	want = slurp(path);
	assert_string_equal(got, want);
}

static void every_format(void **state)
{
	(void)state;
	for (const char *const *name = renderer_names; *name; name++) {
		struct report *r =
			open_report((struct report_opts){.format = *name, .output = output});
		AUTO_FREE char *got = NULL;
		struct err e = {0};

		fill(r);
		assert_int_equal(report_end(r, &e), 1);
		assert_int_equal(e.kind, ERR_NONE);
		got = slurp(output);
		normalize(got);
		same_as_golden(*name, got);
	}
}

static void list_of_formats(void **state)
{
	static const char *const want[] = {"github", "json",	   "junit", "markdown",
					   "nagios", "prometheus", "table", "tap"};
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		assert_string_equal(renderer_names[i], want[i]);
		assert_string_equal(renderer_find(want[i])->name, want[i]);
	}
	assert_null(renderer_names[ARRAY_LEN(want)]);
	assert_null(report_new(&(struct report_opts){.command = "c", .format = "yaml"}, &e));
	assert_int_equal(e.kind, ERR_USAGE);
}

static void exit_codes(void **state)
{
	static const struct {
		const char *findings; /* p i w f s e; r: a row, a: an answer */
		enum err_kind kind;
		bool strict;
		int code;
		const char *verdict, *last; /* in JSON, and the end of the table */
	} cases[] = {
		{"p", 0, false, 0, "pass", "PASS  1 check\n"},
		{"ppw", 0, false, 0, "warn", "PASS  3 checks, 1 warning\n"},
		{"ppww", 0, true, 1, "fail", "FAIL  4 checks, 2 warnings (--strict)\n"},
		{"f", 0, false, 1, "fail", "FAIL  the only check failed\n"},
		{"pfwse", 0, false, 1, "fail",
		 "FAIL  1 of 3 checks failed, 1 warning, 1 check broke, 1 skipped\n"},
		{"pe", 0, false, 3, "error", "ERROR  1 check, 1 check broke\n"},
		{"ss", 0, false, 3, "error", "ERROR  nothing was concluded, 2 skipped\n"},
		{"is", 0, false, 3, "error", "ERROR  nothing was concluded, 1 skipped\n"},
		{"", 0, false, 3, "error", "ERROR  nothing was concluded\n"},
		{"i", 0, false, 0, "pass", "PASS  no check made\n"},
		{"r", 0, false, 0, "pass", "lo\n"},
		{"sa", 0, false, 0, "pass", "PASS  no check made, 1 skipped\n"},
		{"p", ERR_SYS, false, 3, "error", "ERROR  stopped before the end, 1 check\n"},
		{"", ERR_ABSENT, false, 4, "error", "ERROR  stopped before the end\n"},
		{"f", ERR_ABSENT, false, 1, "fail",
		 "FAIL  stopped before the end, the only check failed\n"},
		{"pe", ERR_ABSENT, false, 4, "error",
		 "ERROR  stopped before the end, 1 check, 1 check broke\n"},
	};
	static const char letters[] = "piwfse";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases) * 2; i++) {
		const char *format = i % 2 ? "json" : "table";
		struct report *r = open_report((struct report_opts){
			.format = format, .output = output, .strict = cases[i / 2].strict});
		struct err e = {.kind = cases[i / 2].kind, .msg = "broken", .hint = "mend it"};
		AUTO_FREE char *got = NULL;
		char verdict[64];

		for (const char *p = cases[i / 2].findings; *p; p++) {
			if (*p == 'r') {
				report_series(r, &(struct series){"v", view_columns, 1, true});
				report_row(r, &(struct cell)T("lo"));
			} else if (*p == 'a') {
				report_answer(r, "x\n", 2);
			} else {
				add(r, "a.b", "s", (enum status)(strchr(letters, *p) - letters),
				    "m", NULL);
			}
		}
		assert_int_equal(report_end(r, &e), cases[i / 2].code);
		got = slurp(output);
		snprintf(verdict, sizeof(verdict), "\"verdict\": \"%s\"", cases[i / 2].verdict);
		if (i % 2 && (!strstr(got, verdict) || !strstr(got, "\"run\"") != !e.kind))
			fail_msg("case %zu: %s", i / 2, got);
		if (!(i % 2) &&
		    (strlen(got) < strlen(cases[i / 2].last) ||
		     !streq(got + strlen(got) - strlen(cases[i / 2].last), cases[i / 2].last)))
			fail_msg("case %zu: %s", i / 2, got);
	}
}

/* Those of check plug-ins: what a report came to, after its own code. */
static void exit_codes_of_readers(void **state)
{
	static const int own[] = {0, 1, 2, 3, 4}, theirs[] = {0, 2, 3, 3, 3};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(own); i++) {
		assert_int_equal(renderer_exit_code("nagios", own[i], false), theirs[i]);
		assert_int_equal(renderer_exit_code("nagios", own[i], true), theirs[i] ?: 1);
		assert_int_equal(renderer_exit_code("json", own[i], true), own[i]);
		assert_int_equal(renderer_exit_code(NULL, own[i], true), own[i]);
	}
}

/* What stands behind the bar: labels, units and limits by the plug-ins' guidelines. */
static void values_of_a_plug_in(void **state)
{
	static const struct {
		const char *subject, *unit, *expected;
		double value;
		enum status status;
		const char *want;
	} rows[] = {
		{"eth0", "ms", "<= 5 ms", 12.5, ST_FAIL, " 'a.b eth0'=12.5ms;;5\n"},
		{"eth0", "ms", "<= 5 ms", 1, ST_PASS, " 'a.b eth0'=1ms;5\n"},
		{"x", "GB/s", ">= 2.50 GB/s", 0.44, ST_WARN, " 'a.b x GB/s'=0.44;2.5:\n"},
		{"x", "bytes", ">= 1 MiB", 1048576, ST_WARN, " 'a.b x'=1048576B\n"},
		{"x", "%", ">= 90 % of it", 3, ST_FAIL, " 'a.b x'=3%;;90:\n"},
		{"x", "s", ">= 1 samples", 3, ST_FAIL, " 'a.b x'=3s\n"},
		{NULL, NULL, "none", 7, ST_WARN, " 'a.b'=7\n"},
		{NULL, NULL, ">= 1024", 7, ST_WARN, " 'a.b'=7;1024:\n"},
		{"A=1|it's", "us", NULL, 0.000123, ST_PASS, " 'a.b A_1_it_s'=0.000123us\n"},
		{"x", "s", NULL, 1e300, ST_PASS, " warnings=0;0;;0\n"},
		{"x", "s", NULL, NAN, ST_PASS, " warnings=0;0;;0\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct report *r =
			open_report((struct report_opts){.format = "nagios", .output = output});
		struct finding *f = report_find(r, "a.b", rows[i].subject);
		AUTO_FREE char *got = NULL;
		struct err e = {0};

		finding_set(f, rows[i].status, "a | b\n| c");
		finding_fix(f, "dmesg | ncclwhy");
		finding_value(f, rows[i].value, rows[i].unit);
		f->expected = rows[i].expected;
		report_add(r, f);
		(void)report_end(r, &e);
		got = slurp(output);
		/* the one bar parts words from values */
		if (!strstr(got, rows[i].want) || strchr(got, '|') != strrchr(got, '|'))
			fail_msg("row %zu: %s", i, got);
	}
}

static void answer_only(void **state)
{
	static const char answer[] = "export A=1\n\0binary";
	char out[64], said[4096];
	int outs[2], errs[2], o, er;
	struct report *r;
	struct err e = {0};
	ssize_t n;

	(void)state;
	assert_int_equal(pipe(outs) | pipe(errs), 0);
	o = divert(1, outs[1]);
	er = divert(2, errs[1]);
	log_init("ifprobe", LOG_NORMAL);
	r = open_report((struct report_opts){.answer_only = true});
	report_heading(r, "not shown");
	add(r, "host.name", "node0", ST_PASS, "fine", NULL);
	add(r, "why", NULL, ST_INFO, "ens5 has the default route", NULL);
	add(r, "proof", "ens5", ST_WARN, "no peer tested\033[2J", "ifprobe --suggest --peer HOST");
	report_answer(r, answer, sizeof(answer));
	n = report_end(r, &e);
	restore(1, o);
	restore(2, er);
	assert_int_equal(n, 0);
	assert_int_equal(read(outs[0], out, sizeof(out)), sizeof(answer));
	assert_memory_equal(out, answer, sizeof(answer));
	n = read(errs[0], said, sizeof(said) - 1);
	said[n > 0 ? n : 0] = '\0';
	assert_string_equal(said, "ifprobe: why: ens5 has the default route\n"
				  "ifprobe: warning: proof ens5: no peer tested?[2J\n"
				  "  -> ifprobe --suggest --peer HOST\n");
	for (int i = 0; i < 2; i++)
		(void)(close(outs[i]) | close(errs[i]));
}

static void full_disk(void **state)
{
	static const char *const formats[] = {"table",	"json", "junit",    "prometheus",
					      "github", "tap",	"markdown", "nagios"};
	AUTO_CLOSE int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_true(full >= 0);
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		int saved = divert(1, full), code;
		struct err e = {0};
		struct report *r = open_report((struct report_opts){.format = formats[i]});

		add(r, "a.b", "s", i % 2 ? ST_PASS : ST_FAIL, "m", NULL);
		code = report_end(r, &e);
		restore(1, saved);
		assert_int_equal(code, 3);
		assert_int_equal(e.kind, ERR_SYS);
		assert_non_null(strstr(e.msg, "No space left"));
	}
}

static void output_that_cannot_be(void **state)
{
	struct report_opts o = {.command = "ifprobe", .output = "/nonexistent/folder/file"};
	struct err e = {0};
	struct report *r;
	char path[96];

	(void)state;
	assert_null(report_new(&o, &e));
	assert_int_equal(e.kind, ERR_SYS);
	assert_non_null(strstr(e.msg, "/nonexistent/folder: No such file"));
	snprintf(path, sizeof(path), "%s/sub", folder);
	e = (struct err){0};
	r = open_report((struct report_opts){.output = path});
	assert_int_equal(mkdir(path, 0700), 0); /* meanwhile */
	add(r, "a.b", "s", ST_PASS, "m", NULL);
	assert_int_equal(report_end(r, &e), 3);
	assert_int_equal(e.kind, ERR_SYS);
	/* there from the beginning: said before the work */
	o.output = path;
	e = (struct err){0};
	assert_null(report_new(&o, &e));
	assert_non_null(strstr(e.msg, "is not a regular file"));
	assert_int_equal(rmdir(path), 0);
}

static int setup(void **state)
{
	(void)state;
	setenv("LC_ALL", "C.UTF-8", 1);
	if (!mkdtemp(folder))
		return -1;
	snprintf(output, sizeof(output), "%s/report", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(output);
	return rmdir(folder);
}

static void who_is_named_beside_it(void **state)
{
	static const struct {
		const char *subject, *host, *message;
		int rank;
		const char *ret_host;
		int ret_rank;
	} rows[] = {
		{"eth0", "node1", "is down", -1, "node1", -1},
		{"node1", "node1", "is down", -1, NULL, -1},
		{"cnn", "node1", "is slow", 1, "node1", 1},
		{"rank 1", "node1", "is slow", 1, "node1", -1},
		{"cnn", "node1", "rank 1 (node1, 10.0.0.2) died", 1, NULL, -1},
		{"cnn", "10.0.0.2", "rank 1 (node1, 10.0.0.2) died", 1, NULL, -1},
		{"rank 1", "node1", "of all rank 1 (node1) died", 1, NULL, -1},
		{"cnn", "node1", "rank 1 (node10, 10.0.0.2) and rank 2 (node2) died", 1, "node1",
		 -1},
		{"cnn", "node1", "rank 1 (node10, 10.0.0.2) and rank 2 (node1) died", 2, NULL, 2},
		{"cnn", "node1", "rank 1 (node", 12, "node1", 12},
		{"cnn", "node1", "they wait for rank 1 (node1)", 1, NULL, -1},
		{"cnn", "node1", "they wait for rank 12 (node1)", 1, NULL, 1},
	};
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct finding f = {.subject = rows[i].subject,
					  .host = rows[i].host,
					  .rank = rows[i].rank,
					  .message = rows[i].message,
					  .a = &a};
		const char *host = finding_host(&f);

		if (!streq(host ?: "", rows[i].ret_host ?: "") ||
		    finding_rank(&f) != rows[i].ret_rank)
			fail_msg("%s: %s, %d", f.message, host ?: "no host", finding_rank(&f));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_named_beside_it),
		cmocka_unit_test(every_format),
		cmocka_unit_test(list_of_formats),
		cmocka_unit_test(exit_codes),
		cmocka_unit_test(exit_codes_of_readers),
		cmocka_unit_test(values_of_a_plug_in),
		cmocka_unit_test(answer_only),
		cmocka_unit_test(full_disk),
		cmocka_unit_test(output_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
