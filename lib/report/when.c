#include <time.h> /* before base.h, which forbids some of what it declares */

#include "lib/report/report.h"

const char *sink_rfc3339(struct arena *a, int64_t seconds)
{
	time_t t = (time_t)seconds;
	char text[32];
	struct tm tm;

	if (!gmtime_r(&t, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return "1970-01-01T00:00:00Z";
	return arena_strdup(a, text);
}
