#include "bench/sweep/foreign.h"

#include "lib/report/json.h"

#include <ctype.h>
#include <math.h>

enum { FIELDS = 16, LINE = 512 };

struct reader {
	struct arena *a;
	saved_list *all;
	struct foreign *f; /* the latest; NULL: none has begun */
	const char *title; /* of perftest, whose table comes later */
	bool both_ways;
	unsigned column; /* of what is read */
	double unit;	 /* of that, in Gb/s */
	bool has_sum;	 /* iperf3's [SUM] was there: lines of one stream are parts of it */
	bool is_srd;	 /* EFA's transport */
	bool is_threaded;
	double ways[2];	   /* iperf3's, to the server and back */
	const char *ended; /* "interrupt - the client ...", of the test that begins; NULL */
	int streams[2];	   /* by who tells of them: senders, receivers */
};

static struct foreign *begin(struct reader *r, enum foreign_by by, const char *test)
{
	struct saved *s = saved_begin(r->all, r->a);

	r->f = ARENA_NEW(r->a, struct foreign);
	*r->f = (struct foreign){.by = by, .test = test, .resent = NAN};
	s->coll = test;
	s->foreign = r->f;
	return r->f;
}

static size_t split(char *line, char *fields[FIELDS])
{
	size_t n = 0;

	for (char *rest = line, *word; n < FIELDS && (word = strsep(&rest, " \t\r"));)
		if (*word)
			fields[n++] = word;
	return n;
}

/* NAN: it is none. */
static double number(const char *s)
{
	char *end;
	double v = isdigit((unsigned char)*s) ? strtod(s, &end) : (end = NULL, NAN);

	return end && !*end && v < 1e15 ? v : NAN;
}

/* A row of a table; of times the least is kept, a bandwidth where it is best. */
static void add(struct reader *r, double bytes, double value)
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
static void see_title(struct reader *r, const char *line)
{
	const char *text = line + strspn(line, " \t");
	size_t n = strcspn(text, "\r");

	if (text == line || n < 8 || n > 60 || strncmp(text + n - 5, " Test", 5) != 0 ||
	    strpbrk(text, ":#"))
		return;
	r->title = arena_strndup(r->a, text, n);
	r->both_ways = strstr(r->title, "Bidirectional");
}

static bool see_perftest(struct reader *r, const char *line)
{
	const char *times = strstr(line, "t_avg[usec]"), *band = strstr(line, "BW average[");

	see_title(r, line);
	if (strstr(line, "Connection type"))
		r->is_srd = strstr(line, "SRD");
	if (!strstr(line, "#bytes") || (!times && !band))
		return false;
	(void)begin(r, BY_PERFTEST, r->title ?: "perftest");
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

static bool see_osu(struct reader *r, const char *line)
{
	const char *osu = strstr(line, "# OSU "), *version, *size = strstr(line, "# Size");
	size_t n;

	if (osu) {
		version = strstr(osu, " v");
		n = version ? (size_t)(version - osu) : strcspn(osu, "\r");
		(void)begin(r, BY_OSU, arena_strndup(r->a, osu + 2, n - 2));
		r->f->both_ways = strcasestr(r->f->test, "bi-directional") ||
				  strcasestr(r->f->test, "bidirectional");
		r->f->is_latency = strcasestr(r->f->test, "latency");
		r->f->is_collective = is_of_many(r->f->test);
		r->column = 1;
		r->unit = 8e6 / 1e9;
	} else if (size && !strstr(size, "MB/s") && !strstr(size, "us)")) {
		r->f = NULL; /* messages a second */
	}
	return osu || size;
}

/* --- iperf3 ------------------------------------------------------------------------------- */

/* "23.5 Gbits/sec" in Gb/s; NAN: none is there. */
static double rate_in(char *const *f, size_t n, size_t *ret_at)
{
	static const char prefixes[] = "KMGT";

	for (size_t i = 1; i < n; i++) {
		const char *unit = f[i], *prefix = *unit ? strchr(prefixes, *unit) : NULL;
		double v = number(f[i - 1]), scale = 1e-9;

		if (prefix)
			scale = pow(1e3, (double)(prefix - prefixes) + 1) / 1e9;
		*ret_at = i;
		if (streq(unit + !!prefix, "bits/sec"))
			return v * scale;
		if (streq(unit + !!prefix, "Bytes/sec"))
			return v * scale * 8 *
			       (prefix ? pow(1.024, (double)(prefix - prefixes) + 1) : 1);
	}
	return NAN;
}

static void put_rate(struct reader *r, double gbps)
{
	struct saved *s = &r->all->v[r->all->n - 1];

	r->f->gbps = gbps;
	s->run.points.n = 0;
	saved_point(s, r->a, 0, gbps / 8, 0, 0);
}

/* "iperf 3.17": from 3.16 on a stream has a thread of its own. */
static bool is_threaded(const char *version)
{
	unsigned minor;

	return version && sscanf(version, "iperf 3.%u", &minor) == 1 && minor >= 16;
}

/* What it says then of the receiver is nothing: nobody asked that one any more. */
static void end_iperf(struct reader *r, const char *why)
{
	r->f->is_broken = true;
	r->f->unjudged = arena_printf(r->a, "it ended with: %s", why);
}

/* Of TCP, and more than what buffers take where nothing comes through. */
static bool lacks_receiver(const struct foreign *f, double sent, double came)
{
	const double BUFFERED_GBPS = 0.1;

	return !(came > 0) && (f->is_broken ? sent > 0 : !f->is_udp && sent > BUFFERED_GBPS);
}

static void miss_receiver(struct foreign *f)
{
	f->is_broken = true;
	f->unjudged = f->unjudged ?: "it has no figure of the receiver: it was interrupted";
}

static void begin_iperf(struct reader *r, bool udp)
{
	(void)begin(r, BY_IPERF, udp ? "iperf3 -u" : "iperf3");
	r->f->is_udp = udp;
	r->f->is_threaded = r->is_threaded;
	if (udp)
		r->f->unjudged = "UDP sends as much as -b says";
	r->has_sum = false;
	memset(r->ways, 0, sizeof(r->ways));
	memset(r->streams, 0, sizeof(r->streams));
	if (r->ended)
		end_iperf(r, r->ended);
	r->ended = NULL;
}

/* "[SUM]   0.00-10.00  sec  27.4 GBytes  23.5 Gbits/sec  123    sender", its @n words */
static void add_iperf(struct reader *r, char *const *f, size_t n, bool sum, bool back)
{
	bool sends = streq(f[n - 1], "sender");
	size_t at = 0;
	double gbps = rate_in(f, n, &at), resent;

	if (isnan(gbps))
		return;
	if (!sum && !back)
		r->streams[!sends]++;
	r->f->streams = r->streams[r->streams[1] > r->streams[0]];
	resent = sends && !back && !r->f->is_udp && at + 2 < n ? number(f[at + 1]) : NAN;
	if (!isnan(resent))
		r->f->resent = sum || isnan(r->f->resent) ? resent : r->f->resent + resent;
	if (!sends && lacks_receiver(r->f, r->ways[back], gbps)) {
		miss_receiver(r->f);
	} else if (sum || !r->has_sum) { /* what came counts, and is said last */
		r->ways[back] = gbps;
		r->f->both_ways = r->ways[0] > 0 && r->ways[1] > 0;
		put_rate(r, r->ways[0] + r->ways[1]);
	}
	r->has_sum |= sum;
}

/* "iperf3: interrupt - the client has terminated": on stderr, which may have come first. */
static void see_iperf_end(struct reader *r, const char *line)
{
	const char *why = starts_with(line, "iperf3: ") ? line + strlen("iperf3: ") : "";

	if (!starts_with(why, "interrupt") && !starts_with(why, "error"))
		return;
	why = arena_strndup(r->a, why, strcspn(why, "\r"));
	if (r->f && r->f->by == BY_IPERF)
		end_iperf(r, why);
	else
		r->ended = why;
}

static bool see_iperf(struct reader *r, const char *line)
{
	char copy[LINE], *f[FIELDS];
	size_t n;

	see_iperf_end(r, line);

	if (starts_with(line, "Connecting to host") || starts_with(line, "Accepted connection"))
		r->f = NULL;
	if (starts_with(line, "iperf 3."))
		r->is_threaded = is_threaded(line);
	if (!strstr(line, "its/sec") && !strstr(line, "Bytes/sec"))
		return false;
	(void)snprintf(copy, sizeof(copy), "%s", line);
	n = split(copy, f);
	if (!n || (!streq(f[n - 1], "sender") && !streq(f[n - 1], "receiver")))
		return true; /* of a moment */
	if (!r->f || r->f->by != BY_IPERF)
		begin_iperf(r, strstr(line, "%)")); /* of datagrams that were lost */
	add_iperf(r, f, n, strstr(line, "[SUM]"), strstr(line, "[RX-"));
	return true;
}

/* A test that was told how much to send does not say how much there is room for. */
static const char *paced(const cJSON *test)
{
	return json_get_num(test, "target_bitrate", 0) > 0 ? "it sent as much as -b says" : NULL;
}

bool foreign_json(const cJSON *doc, struct arena *a, saved_list *ret)
{
	const cJSON *start = json_get(doc, "start"), *end = json_get(doc, "end");
	const cJSON *sent = json_get(end, "sum_sent"), *came = json_get(end, "sum_received");
	const cJSON *test = json_get(start, "test_start"), *udp = json_get(end, "sum");
	const cJSON *back = json_get(end, "sum_received_bidir_reverse");
	const char *error = json_get_str(doc, "error");
	struct reader r = {
		.a = a, .all = ret, .is_threaded = is_threaded(json_get_str(start, "version"))};
	double bps, bps_sent, bps_back = json_get_num(back, "bits_per_second", 0);

	if (!start || (!end && !error))
		return false;
	begin_iperf(&r, streq(json_text(test, "protocol"), "UDP"));
	r.f->unjudged = r.f->unjudged ?: paced(test);
	r.f->streams = json_get_int(test, "num_streams", 0);
	r.f->resent = json_get_num(sent, "retransmits", NAN);
	r.f->both_ways = bps_back > 0;
	if (error) {
		ret->v[ret->n - 1].failure = arena_strdup(a, error);
		end_iperf(&r, error);
	}
	bps = json_get_num(came ?: sent ?: udp, "bits_per_second", NAN);
	bps_sent = json_get_num(sent, "bits_per_second", 0);
	if (lacks_receiver(r.f, bps_sent / 1e9, bps)) {
		miss_receiver(r.f);
		bps = bps_sent;
	}
	if (bps >= 0)
		put_rate(&r, (bps + bps_back) / 1e9);
	return true;
}

/* --- all ---------------------------------------------------------------------------------- */

static void see_row(struct reader *r, const char *line)
{
	char copy[LINE], *f[FIELDS], **v = f;
	size_t n;

	if (!r->f || r->f->by == BY_IPERF)
		return;
	(void)snprintf(copy, sizeof(copy), "%s", line);
	n = split(copy, f);
	if (n && isnan(number(*v)) && strrchr(*v, ':')) /* mpirun's "[1,0]<stdout>:4" */
		*v = strrchr(*v, ':') + 1;
	if (n && isnan(number(*v))) {
		v++;
		n--;
	}
	if (n > r->column && !isnan(number(v[0])) && !isnan(number(v[1])) &&
	    !isnan(number(v[r->column])))
		add(r, number(v[0]), number(v[r->column]));
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
	struct reader r = {.a = a, .all = ret};
	bool known = false;
	char line[LINE];

	for (size_t i = 0; i < ARRAY_LEN(marks) && !known; i++)
		known = strstr(text, marks[i]);
	for (size_t n; known && *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		(void)snprintf(line, sizeof(line), "%.*s", (int)(n < LINE ? n : LINE - 1), text);
		if (is_of_nccl(line))
			r.f = NULL; /* its rows are no other's */
		if (!see_perftest(&r, line) && !see_osu(&r, line) && !see_iperf(&r, line))
			see_row(&r, line);
	}
}
