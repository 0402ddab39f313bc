/* Any text: a number is refused, or it survives being written and read again. */
#include "lib/core/units.h"

static void expect(bool truth)
{
	if (!truth)
		abort();
}

static void check_uint(const char *s)
{
	char again[32];
	uint64_t v, w;

	if (parse_uint(s, &v))
		return;
	snprintf(again, sizeof(again), "%llu", (unsigned long long)v);
	expect(!parse_uint(again, &w) && w == v);
}

static void check_scaled(const char *s, int (*parse)(const char *, uint64_t *), const char *unit,
			 const char *(*format)(struct unit_buf *, uint64_t))
{
	struct unit_buf b;
	char again[32];
	uint64_t v, w;

	if (parse(s, &v))
		return;
	expect(*s >= '0' && *s <= '9');
	expect(strlen(format(&b, v)) < sizeof(b.s) - 1);
	snprintf(again, sizeof(again), "%llu%s", (unsigned long long)v, unit);
	expect(!parse(again, &w) && w == v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *s = strndup((const char *)data, n);
	double d;

	expect(s != NULL);
	check_uint(s);
	check_scaled(s, parse_size, "B", format_size);
	check_scaled(s, parse_duration, "ns", format_duration);
	if (!parse_double(s, &d))
		expect(d - d == 0);
	free(s);
	return 0;
}
