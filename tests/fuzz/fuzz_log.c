/* A log is whatever somebody pastes; so is what answers on port 28028. */
#include "probes/log/explain.h"
#include "probes/log/live.h"
#include "probes/log/reply.h"
#include "probes/log/tell.h"

#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct report *silent(void)
{
	struct report_opts o = {.command = "ncclwhy",
				.format = "json",
				.host = "h",
				.output = "/tmp/.fuzz_log_out"};
	struct err e = {0};

	return report_new(&o, &e);
}

static void as_log(const char *text, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	struct report *r = silent();
	struct err e = {.kind = ERR_USAGE}; /* nothing is written */
	struct explanation x;
	struct why_stream s;
	struct why w;

	why_init(&w);
	why_open(&s, &w, "fuzz");
	s.is_text = n % 2; /* its lines may have been broken */
	why_feed(&s, text, n / 2);
	why_feed(&s, text + n / 2, n - n / 2);
	why_close(&s);
	explain(&w, &a, &x);
	for (size_t i = 0; i < x.causes.n; i++) {
		if (!x.causes.v[i].meaning || x.causes.v[i].weight > 99)
			abort();
		for (size_t j = 0; j < i; j++) /* a family has one place */
			if (x.causes.v[i].head == x.causes.v[j].head)
				abort();
	}
	tell(&w, &x, r);
	(void)report_end(r, &e);
	why_done(&w);
}

/* What a rank told torchrun. */
static void as_reply(const char *text, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	struct reply r;

	if (reply_parse(text, n, &a, &r) && (!r.message || r.time_ms < 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	if (size && (*text == '{' || *text == '#')) {
		struct report *r = silent();
		struct err e = {.kind = ERR_USAGE};

		as_reply(text, size);
		live_judge(text, size, text, size, "node1", r);
		(void)report_end(r, &e);
	}
	as_log(text, size);
	free(text);
	return 0;
}
