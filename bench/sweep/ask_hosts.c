#include "bench/sweep/ask_hosts.h"

#include "bench/sweep/instances.h"
#include "lib/core/text.h"

#include <ctype.h>
#include <math.h>

static const double GBPS_MAX = 1e6; /* no host has a hundredth of that */

/* Of one prefix and what may stand behind it: "G", "gbit", "Gb/s", "Gbps", "Gbit/s". */
static double scale_of(const char *unit)
{
	static const char *const behind[] = {"",    "b",     "bit",    "bits",
					     "b/s", "bit/s", "bits/s", "bps"};
	static const struct {
		char prefix;
		double scale;
	} known[] = {{'g', 1}, {'t', 1e3}, {'m', 1e-3}};

	if (!*unit)
		return 1;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		for (size_t k = 0; k < ARRAY_LEN(behind); k++)
			if (tolower((unsigned char)*unit) == known[i].prefix &&
			    !strcasecmp(unit + 1, behind[k]) && unit[1] != 'B')
				return known[i].scale;
	return NAN;
}

/* "GB", "GB/s": what is meant is an eighth. */
static bool are_bytes(const char *unit) { return strchr("GTM", *unit) && *unit && unit[1] == 'B'; }

/* "8x400G": each of so many. */
static double cards_of(const char **text)
{
	size_t n = strspn(*text, "0123456789");
	double cards;

	if (!n || n > 3 || !strchr("xX*", (*text)[n]) || !(*text)[n])
		return 1;
	cards = strtod(*text, NULL);
	*text += n + 1;
	return cards;
}

int ask_nic(const char *text, double *ret_gbps, struct err *e)
{
	const char *at = text;
	double cards = cards_of(&at), v = NAN, gbps;
	const char *unit = at;
	char *end;

	if (isdigit((unsigned char)*at) || *at == '.') {
		v = strtod(at, &end);
		unit = end + strspn(end, " ");
	}
	if (!isnan(v) && are_bytes(unit)) {
		err_set(e, ERR_USAGE, "--nic: '%s' counts bytes, and the rate of a card is in bits",
			text);
		return err_hint(e, "%g gigabytes a second are --nic %g",
				cards * v * scale_of((char[]){*unit, '\0'}),
				cards * v * 8 * scale_of((char[]){*unit, '\0'}));
	}
	gbps = cards * v * scale_of(unit);
	if (!(gbps > 0) || gbps > GBPS_MAX) {
		err_set(e, ERR_USAGE, "--nic: '%s' is no rate of a network card", text);
		return err_hint(e, "in Gb/s: --nic 400, of a host with eight of them --nic 8x400");
	}
	*ret_gbps = gbps;
	return 0;
}

static int refuse(const char *text, const str_list *near, struct arena *a, struct err *e)
{
	enum { NAMED = 6 };
	struct text t;

	text_init(&t, a);
	for (size_t i = 0; i < near->n && i < NAMED; i++)
		text_addf(&t, "%s%s", i ? " or " : "", near->v[i]);
	return err_set(e, ERR_USAGE, "--instance: '%s' is no type that we know: did you mean %s%s?",
		       text, t.s, near->n > NAMED ? " ..." : "");
}

int ask_instance(const char *text, struct arena *a, const char **ret, struct err *e)
{
	str_list near = {0};
	struct instance_net net;

	*ret = text;
	if (instance_net(text, &net) || !*text)
		return 0;
	instances_like(text, a, &near);
	if (near.n == 1)
		*ret = near.v[0];
	if (near.n > 1)
		return refuse(text, &near, a, e);
	if (!near.n)
		instances_meant(text, a, &near);
	return near.n && *ret == text ? refuse(text, &near, a, e) : 0;
}
