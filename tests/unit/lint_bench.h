#ifndef TESTS_UNIT_LINT_BENCH_H
#define TESTS_UNIT_LINT_BENCH_H
/* A machine, what is set on it, and what NCCL's lint says of that. */
#include "lib/report/json.h"
#include "probes/rules/nccl.h"
#include "tests/unit/composed.h"

struct bench {
	struct composed c;
	struct settings s;
	rdma_list rdma;
	struct rules_input in;
	const char *last;
};

static inline void load(struct bench *b, const char *machine)
{
	composed_keep(&b->c, &b->last, machine);
	b->rdma = (rdma_list){0};
	rdma_read(&b->c.a, &b->rdma);
	b->s = (struct settings){.a = &b->c.a};
	b->in = (struct rules_input){.inv = &b->c.inv, .settings = &b->s, .rdma = &b->rdma};
}

static inline void set(struct bench *b, const char *name, const char *value, const char *origin)
{
	const struct setting one = {name, value, origin};

	*LIST_ADD(b->s.a, &b->s.nccl) = one;
	if (!streq(origin, "environment"))
		*LIST_ADD(b->s.a, &b->s.conf_lines) = one;
}

/* "check:status check:status" of all findings; @ret_fix the first fix of the first. */
static inline char *check(struct bench *b, const char **ret_fix)
{
	const char *path = arena_printf(&b->c.a, "%s/report.json", b->c.dir);
	struct report_opts o = {.command = "t", .format = "json", .output = path, .host = "h"};
	struct err e = {0};
	struct report *r = report_new(&o, &e);
	const cJSON *f, *fix;
	struct text t;
	cJSON *root;
	char buf[65536];
	FILE *file;

	assert_non_null(r);
	nccl_check(&b->in, r);
	(void)report_end(r, &e);
	file = fopen(path, "r");
	assert_non_null(file);
	buf[fread(buf, 1, sizeof(buf) - 1, file)] = '\0';
	assert_int_equal(fclose(file), 0);
	root = cJSON_Parse(buf);
	assert_non_null(root);
	text_init(&t, &b->c.a);
	*ret_fix = "";
	cJSON_ArrayForEach (f, cJSON_GetObjectItem(root, "findings")) {
		assert_non_null(json_get_str(f, "message"));
		assert_non_null(json_get_str(f, "subject"));
		fix = cJSON_GetArrayItem(cJSON_GetObjectItem(f, "fix"), 0);
		if (fix && !t.n)
			*ret_fix = arena_strdup(&b->c.a, cJSON_GetStringValue(fix));
		if (streq(json_get_str(f, "status"), "fail"))
			assert_non_null(fix);
		text_addf(&t, "%s%s:%s", t.n ? " " : "", json_get_str(f, "check"),
			  json_get_str(f, "status"));
	}
	cJSON_Delete(root);
	return t.s;
}

#define ENV "environment"
#define CONF "/etc/nccl.conf:3"

#endif
