#include "lib/python/lines.h"

#include <limits.h>

static int64_t by_steps(const uint8_t *t, size_t n, int64_t line, int64_t at)
{
	int64_t begins = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		begins += t[i];
		if (begins > at)
			break;
		line += (int8_t)t[i + 1];
	}
	return line;
}

static int64_t by_spans(const uint8_t *t, size_t n, int64_t line, int64_t at)
{
	int64_t ends = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		int8_t step = (int8_t)t[i + 1];
		bool has_line = step != INT8_MIN;

		ends += t[i];
		line += has_line ? step : 0;
		if (at < ends)
			return has_line ? line : 0;
	}
	return 0;
}

/* Six bits in each byte, the lowest first; the sign is the lowest of all. */
static int signed_number(const uint8_t *t, size_t n, size_t at)
{
	uint32_t v = 0;

	for (unsigned shift = 0; at < n && shift < 30; at++, shift += 6) {
		v |= (uint32_t)(t[at] & 0x3f) << shift;
		if (!(t[at] & 0x40))
			break;
	}
	return v & 1 ? -(int)(v >> 1) : (int)(v >> 1);
}

static int64_t by_locations(const uint8_t *t, size_t n, int64_t line, int64_t at)
{
	enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
	int64_t ends = 0;

	for (size_t i = 0; i < n;) {
		unsigned form = t[i] >> 3 & 15;

		ends += 2 * ((t[i] & 7) + 1);
		i++;
		if (form == NO_COLUMNS || form == LONG)
			line += signed_number(t, n, i);
		else if (form >= ONE_LINE && form < NO_COLUMNS)
			line += (int)form - ONE_LINE;
		if (at < ends)
			return form == NONE ? 0 : line;
		while (i < n && !(t[i] & 0x80)) /* only a head has that bit */
			i++;
	}
	return 0;
}

int line_of(enum line_table form, const uint8_t *table, size_t n, int first, int64_t at)
{
	int64_t line = first;

	if (at >= 0 && form == LINES_STEPS)
		line = by_steps(table, n, first, at);
	else if (at >= 0 && form == LINES_SPANS)
		line = by_spans(table, n, first, at);
	else if (at >= 0)
		line = by_locations(table, n, first, at);
	return line > 0 && line <= INT_MAX ? (int)line : 0;
}
