/* iperf3, as text and as JSON. */
#include "bench/sweep/foreign_read.h"
#include "lib/report/json.h"

#include <math.h>

/* "23.5 Gbits/sec" in Gb/s; NAN: none is there. */
static double rate_in(char *const *f, size_t n, size_t *ret_at)
{
	static const char prefixes[] = "KMGT";

	for (size_t i = 1; i < n; i++) {
		const char *unit = f[i], *prefix = *unit ? strchr(prefixes, *unit) : NULL;
		double v = foreign_number(f[i - 1]), scale = 1e-9;

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

static void put_rate(struct foreign_reader *r, double gbps)
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
static void end_iperf(struct foreign_reader *r, const char *why)
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

static void put_lost(struct foreign_reader *r, bool back, double lost, double datagrams)
{
	double all;

	r->lost[back] = lost;
	r->datagrams[back] = datagrams;
	all = r->datagrams[0] + r->datagrams[1];
	r->f->lost = all > 0 ? fmin(fmax((r->lost[0] + r->lost[1]) / all, 0), 1) : NAN;
}

static void begin_iperf(struct foreign_reader *r, bool udp)
{
	(void)foreign_begin(r, BY_IPERF, udp ? "iperf3 -u" : "iperf3");
	r->f->is_udp = udp;
	r->f->is_threaded = r->is_threaded;
	if (udp)
		r->f->unjudged = "UDP sends as much as -b says";
	r->has_sum = false;
	memset(r->ways, 0, sizeof(r->ways));
	memset(r->lost, 0, sizeof(r->lost));
	memset(r->datagrams, 0, sizeof(r->datagrams));
	memset(r->streams, 0, sizeof(r->streams));
	if (r->ended)
		end_iperf(r, r->ended);
	r->ended = NULL;
}

/* "0.008 ms  150000/863297 (17%)  receiver", of a sum or of one stream more */
static void add_lost(struct foreign_reader *r, char *const *f, size_t n, bool sum, bool back)
{
	double lost, datagrams;

	if (n < 3 || sscanf(f[n - 3], "%lf/%lf", &lost, &datagrams) != 2)
		return;
	if (sum)
		put_lost(r, back, lost, datagrams);
	else if (!r->has_sum)
		put_lost(r, back, r->lost[back] + lost, r->datagrams[back] + datagrams);
}

/* "[SUM]   0.00-10.00  sec  27.4 GBytes  23.5 Gbits/sec  123    sender", its @n words */
static void add_iperf(struct foreign_reader *r, char *const *f, size_t n, bool sum, bool back)
{
	bool sends = streq(f[n - 1], "sender");
	size_t at = 0;
	double gbps = rate_in(f, n, &at), resent;

	if (isnan(gbps))
		return;
	if (!sum && !back)
		r->streams[!sends]++;
	r->f->streams = r->streams[r->streams[1] > r->streams[0]];
	if (r->f->is_udp && !sends)
		add_lost(r, f, n, sum, back);
	resent = sends && !back && !r->f->is_udp && at + 2 < n ? foreign_number(f[at + 1]) : NAN;
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
static void see_iperf_end(struct foreign_reader *r, const char *line)
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

bool foreign_iperf(struct foreign_reader *r, const char *line)
{
	char copy[FOREIGN_LINE], *f[FOREIGN_FIELDS];
	size_t n;

	see_iperf_end(r, line);

	if (starts_with(line, "Connecting to host") || starts_with(line, "Accepted connection"))
		r->f = NULL;
	if (starts_with(line, "iperf 3."))
		r->is_threaded = is_threaded(line);
	if (!strstr(line, "its/sec") && !strstr(line, "Bytes/sec"))
		return false;
	(void)snprintf(copy, sizeof(copy), "%s", line);
	n = foreign_split(copy, f);
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
	struct foreign_reader r = {
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
	if (r.f->is_udp) {
		const cJSON *heard = json_get_num(came, "packets", 0) > 0 ? came : udp;

		put_lost(&r, true, json_get_num(back, "lost_packets", 0),
			 json_get_num(back, "packets", 0));
		put_lost(&r, false, json_get_num(heard, "lost_packets", 0),
			 json_get_num(heard, "packets", 0));
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

bool foreign_is_stream(const char *text) { return starts_with(text, "{\"event\":"); }

/* Of an event what -J has under its name; the intervals are none of the result. */
static void take_event(cJSON *doc, const char *line, size_t n)
{
	enum { DEPTH = 16 };
	struct err ignored = {0};
	cJSON *event = json_parse(line, n, DEPTH, &ignored);
	const char *name = json_text(event, "event");

	if ((streq(name, "start") || streq(name, "end") || streq(name, "error")) &&
	    !json_get(doc, name))
		cJSON_AddItemToObject(doc, name, cJSON_DetachItemFromObject(event, "data"));
	cJSON_Delete(event);
}

bool foreign_stream(const char *text, size_t n, struct arena *a, saved_list *ret)
{
	cJSON *doc = cJSON_CreateObject();
	bool known;

	for (const char *end = text + n, *next; text < end; text = next + 1) {
		next = memchr(text, '\n', (size_t)(end - text)) ?: end;
		take_event(doc, text, (size_t)(next - text));
	}
	known = foreign_json(doc, a, ret);
	cJSON_Delete(doc);
	return known;
}
