#include "probes/log/catalogue.h"

const struct signature signatures[] = {
#define SIG(id, tier, weight, ...) {id, TIER_##tier, weight, __VA_ARGS__},
#include "probes/log/catalogue.def"
#undef SIG
};

const size_t signature_count = ARRAY_LEN(signatures);

int signature_find(const char *id)
{
	for (size_t i = 0; i < signature_count; i++)
		if (streq(signatures[i].id, id))
			return (int)i;
	return -1;
}
