/*
 * Another host's answer, any bytes, its findings taken into our report and written in the
 * format that the first byte chooses. JSON must come out as JSON.
 */
#include "lib/core/log.h"
#include "lib/report/envelope.h"
#include "lib/report/json.h"
#include "tests/unit/take_findings.h"

#include <fcntl.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	log_init("fuzz", LOG_QUIET);
	return 0;
}

/* What was written must be read again. */
static void check_json(const cJSON *v)
{
	struct err e = {0};
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	cJSON *again;

	json_print(f, v);
	(void)fclose(f);
	again = json_parse(text, n, 80, &e);
	if (!again)
		abort();
	cJSON_Delete(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct report_opts o = {.command = "ifprobe", .host = "node0"};
	struct err e = {0};
	struct report *r;
	cJSON *doc;
	size_t formats = 0;
	int out = dup(1), null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (!n || out < 0 || null < 0)
		goto out;
	while (renderer_names[formats])
		formats++;
	o.format = renderer_names[data[0] % formats];
	(void)dup2(null, 1);
	r = report_new(&o, &e);
	if (!r)
		abort();
	doc = envelope_read("node1", "ifprobe", (const char *)data + 1, n - 1, &e);
	if (doc) {
		check_json(doc);
		take_findings(r, doc);
		cJSON_Delete(doc);
	} else if (e.kind == ERR_NONE) {
		abort();
	}
	(void)report_end(r, &e);
	(void)dup2(out, 1);
out:
	(void)close(out);
	(void)close(null);
	return 0;
}
