#ifndef TESTS_UNIT_TAKE_FINDINGS_H
#define TESTS_UNIT_TAKE_FINDINGS_H
/* Another host's findings, one by one into a report, as they are. */
#include "lib/report/envelope.h"
#include "lib/report/json.h"
#include "lib/report/report.h"

static void take_findings(struct report *r, const cJSON *doc)
{
	const cJSON *from = json_get(doc, "findings");
	struct finding *f;

	for (from = cJSON_IsArray(from) ? from->child : NULL; from; from = from->next) {
		if (!envelope_check(from))
			continue;
		f = report_find(r, envelope_check(from), json_get_str(from, "subject"));
		envelope_finding(f, from);
		report_add(r, f);
	}
}

#endif
