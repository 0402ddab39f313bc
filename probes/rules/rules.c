#include "probes/rules/rules.h"

/* In order of file names, but NCCL, the one most people ask about, comes first. */
enum {
#define RULES(x) AT_##x,
#include "gen/rules.h"
#undef RULES
	AT_END
};

#define RULES(x) extern const struct rules rules_##x;
#include "gen/rules.h"
#undef RULES

const struct rules *const rules_all[] = {
#define RULES(x) [AT_##x == AT_nccl ? 0 : AT_##x + (AT_##x < AT_nccl)] = &rules_##x,
#include "gen/rules.h"
#undef RULES
};
const size_t rules_count = AT_END;

const struct rules *rules_find(const char *name)
{
	for (size_t i = 0; i < rules_count; i++)
		if (streq(rules_all[i]->name, name))
			return rules_all[i];
	return NULL;
}

const char *outcome_name(enum outcome o)
{
	switch (o) {
	case OUTCOME_OK:
		return "ok";
	case OUTCOME_NONE:
		return "none";
	case OUTCOME_FAILS:
		break;
	}
	return "fails";
}
