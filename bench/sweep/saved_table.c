/*
 * nccl-tests' table, as it was in each of its versions: without a column for the root,
 * or the reduction, with errors instead of wrong elements, with more columns behind; and
 * as it is found in logs: behind a launcher's labels, its rows cut in pieces by what NCCL
 * says in between, several of them in one file.
 */
#include "bench/coll/coll.h"
#include "bench/sweep/saved_ranks.h"

#include <ctype.h>
#include <math.h>

enum { FIELDS_MAX = 32, LABELS_MAX = 6 };

struct reader {
	struct arena *a;
	saved_list *all;
	saved_ranks ranks; /* of this table */
	const char *coll;  /* of the program that was started last; NULL: none was */
	size_t lead, half; /* columns before the first time, and to the next; 0: no head seen */
	bool ours, ended;  /* this table is ours, and says that it is at its end */
	bool counts;	   /* the last column is of wrong elements, and not of errors */
	const char *field[FIELDS_MAX]; /* a row, as far as it is there */
	size_t n;
};

static struct saved *now(const struct reader *r) { return &r->all->v[r->all->n - 1]; }

static size_t split(char *line, char *fields[FIELDS_MAX])
{
	size_t n = 0;

	while (n < FIELDS_MAX && *(line += strspn(line, " \t\r"))) {
		fields[n++] = line;
		line += strcspn(line, " \t\r");
		if (*line)
			*line++ = '\0';
	}
	return n;
}

/* --- what stands around the rows --------------------------------------------------- */

/* "#  Rank  0 Group  0 Pid   9500 on      node0 device  0 [0000:53:00] NVIDIA H100" */
static void see_rank(struct reader *r, const char *line)
{
	const char *rank = strstr(line, " Rank "), *on = strstr(line, " on "), *device;
	const char *group = rank ? strstr(rank, " Group ") : NULL;
	struct saved *s = now(r);

	if (!rank || !on || !(device = strstr(on, " device ")))
		return;
	s->worlds += strtol(rank + 6, NULL, 10) == 0;
	on += 4 + strspn(on + 4, " ");
	saved_ranks_add(&r->ranks, r->a, arena_strndup(r->a, on, strcspn(on, " ")),
			group ? strtol(group + 7, NULL, 10) : 0);
	device = strchr(device, ']');
	if (!device)
		return;
	device += 1 + strspn(device + 1, " ");
	if (!starts_with(device, "host memory"))
		s->gpu = arena_strndup(r->a, device, strcspn(device, "\r"));
}

/* The columns differ between versions and collectives, and their names say how. */
static void see_head(struct reader *r, const char *line)
{
	char *f[FIELDS_MAX];
	size_t n = split(arena_strdup(r->a, line), f), size = n, first = n, second = n;

	for (size_t i = 0; i < n; i++) {
		bool is_time = streq(f[i], "time") || streq(f[i], "cputime");

		if (size == n && starts_with(f[i], "size"))
			size = i;
		else if (is_time && first == n)
			first = i;
		else if (is_time && second == n)
			second = i;
	}
	if (size >= first || first == n)
		return;
	r->lead = first - size;
	r->half = second - first;
	r->counts = strstr(line, "#wrong");
}

static void end_table(struct reader *r)
{
	saved_ranks_count(&r->ranks, r->a, now(r));
	r->ranks = (saved_ranks){0};
	if (r->ours && !r->ended) /* it has its sums all the same */
		now(r)->average = NAN;
	r->ours = r->ended = false;
}

/* A new table, where the last one has rows. */
static void see_start(struct reader *r)
{
	if (!now(r)->run.points.n)
		return;
	end_table(r);
	(void)saved_begin(r->all, r->a);
	now(r)->coll = r->coll;
	r->lead = r->half = 0;
}

/* "$ mpirun -np 8 ./build/all_gather_perf -b 8": old tables do not say of which one they are. */
static void see_program(struct reader *r, const char *line)
{
	const char *name = strstr(line, "_perf");

	if (!name)
		return;
	while (name > line && (islower((unsigned char)name[-1]) || name[-1] == '_'))
		name--;
	name = saved_coll(r->a, name);
	r->coll = coll_find(name) ? name : NULL;
	if (!now(r)->run.points.n)
		now(r)->coll = r->coll;
}

static const char *after(const char *line, const char *what)
{
	return starts_with(line, what) ? line + strlen(what) : NULL;
}

/* "# FAIL rank.alive: rank 1 (node1) died: ...", which ours says behind the table. */
static void see_finding(struct reader *r, const char *line)
{
	const char *check = after(line, "# FAIL ") ?: after(line, "# ERROR ");
	const char *colon = check ? strstr(check, ": ") : NULL;

	if (colon && saved_is_end(arena_strndup(r->a, check, (size_t)(colon - check))))
		saved_ended(now(r), r->a, arena_strndup(r->a, colon + 2, strcspn(colon + 2, "\r")));
}

static void see_remark(struct reader *r, const char *line)
{
	const char *name = after(line, "# Collective test starting: ");
	const char *over = starts_with(line, "# ncclbench ") ? strstr(line, " over ") : NULL;
	struct saved *s;

	if (name || over || strstr(line, "Using devices") || strstr(line, " minBytes "))
		see_start(r);
	s = now(r);
	if (name)
		s->coll = saved_coll(r->a, name);
	see_finding(r, line);
	r->ours |= over != NULL;
	r->ended |= after(line, "# Collective test concluded: ") != NULL;
	if (over)
		s->backend = arena_strndup(r->a, over + 6, strcspn(over + 6, ", \r"));
	if (strstr(line, " algbw "))
		see_head(r, line);
	if (strstr(line, " Rank "))
		see_rank(r, line);
}

/* "node1: Test NCCL failure common.cu:958 'unhandled system error ...'"; the first is the cause. */
static void see_failure(struct reader *r, const char *line)
{
	const char *said = strstr(line, "Test NCCL failure");

	said = said ? said : strstr(line, "Test CUDA failure");
	if (said && !now(r)->failure)
		now(r)->failure = arena_strndup(r->a, said, strcspn(said, "\r"));
}

/* --- rows ----------------------------------------------------------------------------- */

static bool is_whole(const char *s) { return *s && strspn(s, "0123456789") == strlen(s); }

static bool is_type(const char *s)
{
	static const char *const begin[] = {"float", "half", "double", "bfloat", "bf16",
					    "int",   "uint", "fp8",    "f8",	 "char"};

	for (size_t i = 0; i < ARRAY_LEN(begin); i++)
		if (starts_with(s, begin[i]))
			return true;
	return false;
}

static bool is_reduction(const char *s)
{
	enum redop op;

	return !redop_find(s, &op) || streq(s, "none");
}

/* NAN: it is none. */
static double figure(const char *s)
{
	char *end;
	double v = isdigit((unsigned char)*s) || *s == '-' ? strtod(s, &end) : (end = NULL, NAN);

	return end && !*end ? v : NAN;
}

/* What came out is no number, and so is its error. */
static bool is_no_number(const char *s)
{
	s += *s == '-';
	return streq(s, "nan") || streq(s, "inf");
}

static bool is_figure(const char *s)
{
	return !isnan(figure(s)) || streq(s, "N/A") || is_no_number(s);
}

/*
 * A library's words follow a root or a number of wrong elements without a blank:
 * "-1node1:41:60". Of more digits some could be the name of a host.
 */
static const char *free_from_log(char *s)
{
	size_t n = *s == '-' ? 2 : 1;

	if (!isdigit((unsigned char)s[n - 1]))
		return NULL;
	if (isdigit((unsigned char)s[n]) || strchr(".:eE", s[n]))
		return "N/A";
	s[n] = '\0';
	return s;
}

/* As much of @f as belongs to a row; the rest is somebody else's. */
static void take(struct reader *r, char **f, size_t n)
{
	for (size_t i = 0; i < n && r->n < FIELDS_MAX; i++) {
		bool good = is_figure(f[i]) || (r->n == 2 && is_type(f[i])) ||
			    (r->n == 3 && is_reduction(f[i]));
		const char *field = good ? f[i] : i ? free_from_log(f[i]) : NULL;

		if (field)
			r->field[r->n++] = field;
		if (!good)
			return;
	}
}

/* Where nobody has said which columns there are: with or without reduction and root. */
static void guess_columns(const struct reader *r, size_t *ret_lead, size_t *ret_half)
{
	size_t lead = 3 + (r->n > 3 && is_reduction(r->field[3]));

	lead += (r->n - lead) % 2;
	*ret_lead = r->lead ? r->lead : lead;
	*ret_half = r->lead ? r->half : r->n >= lead + 16 ? 8 : 4;
}

/* An error of 1e-07 is as it should be; a column without a name counts. */
static void add_wrong(const struct reader *r, double wrong, bool none)
{
	struct saved *s = now(r);

	s->verified |= none || !isnan(wrong);
	if (!r->counts && (none || wrong >= 1))
		s->off = fmax(s->off, none ? INFINITY : wrong);
	if ((r->counts || !r->lead) && wrong >= 1)
		s->wrong += wrong;
}

static void end_row(struct reader *r)
{
	struct saved *s = now(r);
	size_t lead, half;

	if (r->n < 3)
		return;
	guess_columns(r, &lead, &half);
	for (size_t k = 0, i = lead; k < 2 && i + 2 < r->n; k++, i += half) {
		double us = figure(r->field[i]), algbw = figure(r->field[i + 1]);
		double wrong = i + 3 < r->n ? figure(r->field[i + 3]) : NAN;

		if (wrong >= 1 && wrong != floor(wrong))
			break; /* a number was cut in two: the columns are others */
		add_wrong(r, wrong, i + 3 < r->n && is_no_number(r->field[i + 3]));
		saved_point(s, r->a, figure(r->field[0]), figure(r->field[i + 2]), us, algbw);
	}
	if (r->n > 4 && is_reduction(r->field[3]) && !streq(r->field[3], "none"))
		s->reduces |= lead < 5 || figure(r->field[4]) < 0;
	r->n = 0;
}

/* The oldest have no "#" in front of it. */
static void see_end(struct reader *r, const char *line)
{
	const char *bounds = strstr(line, "Out of bounds values"),
		   *average = strstr(line, "Avg bus bandwidth");
	const char *colon = bounds || average ? strchr(bounds ?: average, ':') : NULL;
	struct saved *s = now(r);

	if (!colon)
		return;
	end_row(r);
	if (bounds && strstr(colon, "FAILED"))
		s->wrong = fmax(s->wrong, strtod(colon + 1, NULL));
	if (average)
		s->average = strtod(colon + 1, NULL);
}

static void see_row(struct reader *r, char *line)
{
	char *f[FIELDS_MAX];
	size_t n = split(line, f), whole = r->lead ? r->lead + 2 * r->half : 12;

	for (size_t i = 0; i + 2 < n && i < LABELS_MAX; i++) {
		if (!is_whole(f[i]) || !is_whole(f[i + 1]) || !is_type(f[i + 2]))
			continue;
		end_row(r);
		take(r, f + i, n - i);
		return;
	}
	/* the rest of one that was cut */
	if (r->n >= 3 && r->n < whole && n && is_figure(f[0]))
		take(r, f, n);
}

void saved_tables(char *text, struct arena *a, saved_list *ret)
{
	struct reader r = {.a = a, .all = ret};

	(void)saved_begin(ret, a);
	for (char *line = text, *end; line; line = end) {
		/* mpirun and srun put "[1,0]<stdout>:" or "0: " in front of it */
		const char *remark;

		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		see_failure(&r, line);
		see_program(&r, line);
		see_end(&r, line);
		remark = strstr(line, " NCCL ") ? NULL : strstr(line, "# ");
		if (remark) {
			end_row(&r);
			see_remark(&r, remark);
		} else {
			see_row(&r, line);
		}
	}
	end_row(&r);
	end_table(&r);
}
