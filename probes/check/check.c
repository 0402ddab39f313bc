#include "probes/check/check.h"

#define CHECK(name) extern const struct check check_##name;
#include "gen/checks.h"
#undef CHECK

static const struct check *const checks[] = {
#define CHECK(name) &check_##name,
#include "gen/checks.h"
#undef CHECK
};

void check_all(const struct check_input *in, struct report *r)
{
	for (size_t i = 0; i < ARRAY_LEN(checks); i++)
		checks[i]->run(in, r);
}
