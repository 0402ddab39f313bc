#include "bench/sweep/foreign_read.h"

#include <ctype.h>
#include <math.h>

struct foreign *foreign_begin(struct foreign_reader *r, enum foreign_by by, const char *test)
{
	struct saved *s = saved_begin(r->all, r->a);

	r->f = ARENA_NEW(r->a, struct foreign);
	*r->f = (struct foreign){.by = by, .test = test, .resent = NAN, .lost = NAN};
	s->coll = test;
	s->foreign = r->f;
	return r->f;
}

size_t foreign_split(char *line, char *fields[FOREIGN_FIELDS])
{
	size_t n = 0;

	for (char *rest = line, *word; n < FOREIGN_FIELDS && (word = strsep(&rest, " \t\r"));)
		if (*word)
			fields[n++] = word;
	return n;
}

double foreign_number(const char *s)
{
	char *end;
	double v = isdigit((unsigned char)*s) ? strtod(s, &end) : (end = NULL, NAN);

	return end && !*end && v < 1e15 ? v : NAN;
}

/* A row of a table; of times the least is kept, a bandwidth where it is best. */
static void add(struct foreign_reader *r, double bytes, double value)
{
	struct foreign *f = r->f;
	struct saved *s = &r->all->v[r->all->n - 1];
	bool first = !s->run.points.n;
	double gbps = f->is_latency ? value > 0 ? bytes * 8 / value / 1e3 : 0 : value * r->unit;

	if (f->is_latency && (first || value < f->us))
		f->us = value;
	if (first || bytes < f->least)
		f->least = bytes;
	if (first || (f->is_latency && f->is_collective ? bytes >= f->bytes : gbps > f->gbps)) {
		f->gbps = gbps;
		f->bytes = bytes;
	}
	saved_point(s, r->a, bytes, gbps / 8, f->is_latency ? value : 0, 0);
}

/* --- perftest ----------------------------------------------------------------------------- */

/* "   RDMA_Write Bidirectional BW Test" */
static void see_title(struct foreign_reader *r, const char *line)
{
	const char *text = line + strspn(line, " \t");
	size_t n = strcspn(text, "\r");

	if (text == line || n < 8 || n > 60 || strncmp(text + n - 5, " Test", 5) != 0 ||
	    strpbrk(text, ":#"))
		return;
	r->title = arena_strndup(r->a, text, n);
	r->both_ways = strstr(r->title, "Bidirectional");
}

static bool see_perftest(struct foreign_reader *r, const char *line)
{
	const char *times = strstr(line, "t_avg[usec]"), *band = strstr(line, "BW average[");

	see_title(r, line);
	if (strstr(line, "Connection type"))
		r->is_srd = strstr(line, "SRD");
	if (!strstr(line, "#bytes") || (!times && !band))
		return false;
	(void)foreign_begin(r, BY_PERFTEST, r->title ?: "perftest");
	r->f->is_latency = !band;
	r->f->both_ways = r->both_ways && band;
	if (r->is_srd && !band)
		r->f->unjudged = "EFA's SRD takes longer than other RDMA, 10 to 20 us";
	r->column = band			      ? strstr(line, "BW peak") ? 3 : 2 /* -D */
		    : strstr(line, "t_typical[usec]") ? 4
						      : 2;
	r->unit = band && starts_with(band, "BW average[Gb") ? 1 : 8 * 1048576.0 / 1e9;
	return true;
}

/* --- OSU ---------------------------------------------------------------------------------- */

/* "# OSU MPI-CUDA Allreduce Latency Test v7.3": of two ranks are "MPI Latency", "MPI_Put latency"
 */
static bool is_of_many(const char *test)
{
	static const char *const two[] = {
		"MPI Latency",	  "CUDA Latency",  "ROCM Latency", "OPENACC Lat", "Multi Latency",
		"Multi-threaded", "Multi-process", "MPI_Put",	   "MPI_Get",	  "MPI_Accumulate",
		"MPI_Fetch",	  "MPI_Compare",   "One Sided"};

	for (size_t i = 0; i < ARRAY_LEN(two); i++)
		if (strcasestr(test, two[i]))
			return false;
	return strcasestr(test, "latency");
}

/* "# Size  Overall(us)  Compute(us)  Pure Comm.(us)  Overlap(%)": of a collective that does not
 * block the first has what was computed meanwhile. */
static unsigned column_of(const char *head)
{
	const char *pure = strstr(head, "Pure Comm.");
	unsigned column = 1;

	for (const char *at = head; pure && (at = strstr(at, "(us)")) && at < pure; at++)
		column++;
	return column;
}

static bool see_osu(struct foreign_reader *r, const char *line)
{
	const char *osu = strstr(line, "# OSU "), *version, *size = strstr(line, "# Size");
	size_t n;

	if (osu) {
		version = strstr(osu, " v");
		n = version ? (size_t)(version - osu) : strcspn(osu, "\r");
		(void)foreign_begin(r, BY_OSU, arena_strndup(r->a, osu + 2, n - 2));
		r->f->both_ways = strcasestr(r->f->test, "bi-directional") ||
				  strcasestr(r->f->test, "bidirectional");
		r->f->is_latency = strcasestr(r->f->test, "latency");
		r->f->is_collective = is_of_many(r->f->test);
		r->column = 1;
		r->unit = 8e6 / 1e9;
	} else if (size && !strstr(size, "MB/s") && !strstr(size, "us)")) {
		r->f = NULL; /* messages a second */
	} else if (size) {
		r->column = column_of(size);
	}
	return osu || size;
}

/* --- all ---------------------------------------------------------------------------------- */

static void see_row(struct foreign_reader *r, const char *line)
{
	char copy[FOREIGN_LINE], *f[FOREIGN_FIELDS], **v = f;
	size_t n;

	if (!r->f || r->f->by == BY_IPERF)
		return;
	(void)snprintf(copy, sizeof(copy), "%s", line);
	n = foreign_split(copy, f);
	if (n && isnan(foreign_number(*v)) && strrchr(*v, ':')) /* mpirun's "[1,0]<stdout>:4" */
		*v = strrchr(*v, ':') + 1;
	if (n && isnan(foreign_number(*v))) {
		v++;
		n--;
	}
	if (n > r->column && !isnan(foreign_number(v[0])) && !isnan(foreign_number(v[1])) &&
	    !isnan(foreign_number(v[r->column])))
		add(r, foreign_number(v[0]), foreign_number(v[r->column]));
}

/* nccl-tests begins, and its table. */
static bool is_of_nccl(const char *line)
{
	return strstr(line, " minBytes ") || strstr(line, " algbw ");
}

void foreign_tables(const char *text, struct arena *a, saved_list *ret)
{
	static const char *const marks[] = {"BW average[", "t_avg[usec]", "# OSU ", "its/sec",
					    "Bytes/sec"};
	struct foreign_reader r = {.a = a, .all = ret};
	bool known = false;
	char line[FOREIGN_LINE];

	for (size_t i = 0; i < ARRAY_LEN(marks) && !known; i++)
		known = strstr(text, marks[i]);
	for (size_t n; known && *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		(void)snprintf(line, sizeof(line), "%.*s",
			       (int)(n < FOREIGN_LINE ? n : FOREIGN_LINE - 1), text);
		if (is_of_nccl(line))
			r.f = NULL; /* its rows are no other's */
		if (!see_perftest(&r, line) && !see_osu(&r, line) && !foreign_iperf(&r, line))
			see_row(&r, line);
	}
}
