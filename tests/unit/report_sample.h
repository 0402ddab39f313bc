#ifndef TESTS_UNIT_REPORT_SAMPLE_H
#define TESTS_UNIT_REPORT_SAMPLE_H
/* Pieces of reports that more than one test shows. Include it after cmocka.h. */
#include "lib/report/report.h"

#include <math.h>

static inline struct report *open_report(struct report_opts o)
{
	struct err e = {0};
	struct report *r;

	o.command = "ifprobe";
	o.host = "node0";
	r = report_new(&o, &e);
	if (!r)
		fail_msg("%s", e.msg);
	return r;
}

static inline void add(struct report *r, const char *check, const char *subject, enum status st,
		       const char *message, const char *fix)
{
	struct finding *f = report_find(r, check, subject);

	finding_set(f, st, "%s", message);
	if (fix)
		finding_fix(f, "%s", fix);
	report_add(r, f);
}

static const struct column view_columns[] = {
	{.name = "interface", .is_text = true}, {.name = "kind", .is_text = true},
	{.name = "driver", .is_text = true},	{.name = "speed", .unit = "Mb/s"},
	{.name = "addresses", .is_text = true},
};
static const struct series view = {"interfaces", view_columns, ARRAY_LEN(view_columns), true};

#define T(s)                                                                                       \
	{                                                                                          \
		.text = (s)                                                                        \
	}
#define N(v)                                                                                       \
	{                                                                                          \
		.number = (v)                                                                      \
	}

static inline void add_view(struct report *r)
{
	report_heading(r, "Interfaces of %s", "node0");
	report_series(r, &view);
	report_row(r, (struct cell[]){T("lo"), T("loopback"), T(NULL), N(NAN),
				      T("127.0.0.1/8 ::1/128")});
	report_row(r, (struct cell[]){T("enp39s0"), T("physical"), T(NULL), N(25000),
				      T("10.0.0.1/24 fe80::5054:ff:fe12:3456/64 2001:db8::1/64")});
	report_row(r, (struct cell[]){T("eth\033[2J1"), T("veth"), T(""), N(NAN), T(NULL)});
}

/* fd 1 or 2 is led elsewhere and back. */
static inline int divert(int fd, int to)
{
	int saved = dup(fd);

	(void)fflush(stdout);
	assert_int_equal(dup2(to, fd), fd);
	return saved;
}

static inline void restore(int fd, int saved)
{
	(void)fflush(stdout);
	clearerr(stdout);
	assert_int_equal(dup2(saved, fd), fd);
	(void)close(saved);
}

#endif
