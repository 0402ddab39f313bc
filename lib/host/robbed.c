#include "lib/host/robbed.h"

#include "lib/core/base.h"

#include <math.h>

static const double FAVOUR_MOST = 4;

double robbed_s(void)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "re");
	char line[80] = "", *end;
	double ns = 0;

	if (f && fgets(line, sizeof(line), f)) {
		(void)strtoull(line, &end, 10);
		ns = (double)strtoull(end, NULL, 10);
	}
	if (f)
		(void)fclose(f);
	return ns / 1e9;
}

double robbed_favour(double all, double robbed) { return fmax(all - robbed, all / FAVOUR_MOST); }
