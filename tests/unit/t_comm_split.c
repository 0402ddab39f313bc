/* Parts of a communicator: who is in them, and that they compute what a whole one would, in
 * any mixture with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/plugin_rows.h"
#include "tests/unit/ranks.h"

#include <dirent.h>

static const char *sums_to(struct comm *c, int want)
{
	int own = comm_origin(c, c->rank), sum = -1;
	struct comm_request q = {
		.send = &own, .recv = &sum, .count = 1, .type = DT_INT32, .op = OP_SUM};
	struct err e = {0};

	if (comm_run(c, &q, &e))
		return "a sum failed";
	return sum == want ? NULL : "a wrong sum";
}

/* --- who is in it ---------------------------------------------------------------------- */

struct division {
	int parts; /* colours: rank % parts; the last of them is none */
	bool backwards;
};

/* What a rank can work out by itself about its part. */
static const char *check_part(struct comm *c, struct comm *part, const struct division *d)
{
	int colour = c->rank % d->parts, n = 0, sum = 0, own = -1;

	for (int i = 0; i < c->size; i++) {
		int r = d->backwards ? c->size - 1 - i : i;

		if (r % d->parts != colour)
			continue;
		if (n >= part->size || comm_origin(part, n) != r)
			return "another member";
		if (comm_peer(part, n)->pid != comm_peer(c, r)->pid)
			return "another process";
		own = r == c->rank ? n : own;
		sum += r;
		n++;
	}
	if (part->size != n || part->rank != own)
		return "another size or rank";
	return sums_to(part, sum);
}

static const char *divide(struct comm *c, struct local *w, void *arg)
{
	const struct division *d = arg;
	bool none = d->parts > 2 && c->rank % d->parts == d->parts - 1;
	struct err e = {0};
	struct comm *part;
	const char *wrong = NULL;

	(void)w;
	if (comm_split(c, none ? COMM_NO_COLOUR : c->rank % d->parts + 7,
		       d->backwards ? -c->rank : 0, &part, &e))
		return "cannot be split";
	if (none != !part)
		return "a part for whom it is not";
	for (int again = 0; again < 3 && !wrong; again++)
		wrong = part ? check_part(c, part, d) : NULL;
	comm_free(part);
	return wrong ? wrong : sums_to(c, c->size * (c->size - 1) / 2);
}

static void all_well(rank_fn *fn, void *arg, int size)
{
	struct ranks r = {.fn = fn, .arg = arg};

	ranks_all_well(&r, size);
}

static void everybody_is_where_he_belongs(void **state)
{
	(void)state;
	for (int size = 1; size <= 9; size++)
		for (int parts = 1; parts <= 4; parts++) {
			struct division d = {parts, (size + parts) % 2};

			all_well(divide, &d, size);
		}
}

/* --- what it computes -------------------------------------------------------------------- */

static const char *all_rows(struct comm *c, struct local *w, void *arg)
{
	struct rows r = {.dev = &dev_host, .thin = getenv("WINDSOCK_SOAK") ? 1 : 41};
	struct err e = {0};
	const char *wrong;
	static char copy[320];

	(void)w;
	if (comm_split(c, c->rank % *(int *)arg, -c->rank, &r.comm, &e))
		return "cannot be split";
	wrong = rows_with_memory(&r);
	if (!wrong && r.done < 30)
		wrong = "hardly anything was tried";
	comm_free(r.comm);
	if (wrong)
		(void)snprintf(copy, sizeof(copy), "%s", wrong);
	return wrong ? copy : NULL;
}

static void results_are_right(void **state)
{
	static const struct {
		int size, parts;
	} rows[] = {{2, 1}, {3, 2}, {5, 2}, {9, 3}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		all_well(all_rows, (void *)(uintptr_t)&rows[i].parts, rows[i].size);
}

/* --- parts of parts, and all of them in turn ------------------------------------------------ */

static size_t open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		(void)closedir(d);
	return n;
}

/* Ranks 0 2 4 6 and 1 3 5; of those 0 4, 2 6, 1 5 and 3 alone. */
static const char *nest(struct comm *c, struct local *w, void *arg)
{
	static const int halves[] = {12, 9}, quarters[] = {4, 8, 6, 3};
	struct comm *half, *quarter;
	struct err e = {0};
	size_t files = open_files();
	const char *wrong = NULL;

	(void)w;
	(void)arg;
	for (int again = 0; again < 20 && !wrong; again++) {
		if (comm_split(c, c->rank % 2, 0, &half, &e) ||
		    comm_split(half, half->rank % 2, 0, &quarter, &e))
			return "cannot be split";
		for (int i = 0; i < 5 && !wrong; i++) {
			wrong = sums_to(
				quarter,
				quarters[c->rank % 2 ? 2 + half->rank % 2 : half->rank % 2]);
			wrong = wrong ? wrong : sums_to(c, 21);
			wrong = wrong ? wrong : sums_to(half, halves[c->rank % 2]);
		}
		comm_free(quarter);
		comm_free(half);
	}
	return wrong || open_files() == files ? wrong : "open files are left";
}

static void parts_have_parts(void **state)
{
	(void)state;
	for (int again = 0; again < 2; again++) {
		struct ranks r = {.fn = nest, .sockets = again ? 1 : 3};

		ranks_all_well(&r, 7);
	}
}

enum { COUNT = 1 << 18 }; /* floats */

/* Nothing is waited for until everything was started. */
static const char *interleave(struct comm *c, struct local *w, void *arg)
{
	static float a[COUNT], b[COUNT], d[COUNT];
	struct comm_request q = {.send = a, .recv = b, .count = COUNT, .type = DT_FLOAT};
	struct comm_request then = {.send = b, .recv = d, .count = COUNT, .type = DT_FLOAT};
	struct comm *part;
	struct err e = {0};
	bool finished = false;

	(void)w;
	(void)arg;
	for (size_t i = 0; i < COUNT; i++)
		a[i] = 1;
	if (comm_split(c, c->rank / 2, 0, &part, &e) || comm_start(c, &q, &e) ||
	    comm_start(part, &then, &e))
		return "cannot start";
	while (!finished)
		if (comm_test(part, &finished, &e))
			return "test failed";
	if (comm_test(c, &finished, &e) || !finished)
		return "the first is not finished";
	for (size_t i = 0; i < COUNT; i++)
		if (d[i] != (float)(c->size * part->size))
			return "a wrong sum";
	comm_free(part);
	return NULL;
}

static void requests_wait_for_each_other(void **state)
{
	(void)state;
	for (int again = 0; again < 3; again++)
		all_well(interleave, NULL, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody_is_where_he_belongs),
		cmocka_unit_test(results_are_right),
		cmocka_unit_test(parts_have_parts),
		cmocka_unit_test(requests_wait_for_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
