#include "probes/log/worlds.h"

#include "probes/log/why.h"

#include "lib/core/text.h"

#include <ctype.h>

/* What the launcher was told; the benchmark has a -n of its own. */
static long processes(const char *text)
{
	const char *end = strstr(text, "_perf");

	static const char *const options[] = {" -np ", " -n ", " --ntasks=", " --np "};

	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		const char *p = strstr(text, options[i]);

		if (p && (!end || p < end))
			return strtol(p + strlen(options[i]), NULL, 10);
	}
	return 0;
}

void worlds_command(struct worlds *s, const char *text)
{
	if (!strstr(text, "mpirun") && !strstr(text, "mpiexec") && !strstr(text, "srun"))
		return;
	s->commands++;
	s->asked = processes(text);
	s->open = s->headers = 0;
}

void worlds_begun(struct worlds *s, const char *text)
{
	const char *p = strstr(text, "Rank ");

	s->headers = 0;
	if (!p || !strstr(p, " on ") || strtol(p + strlen("Rank "), NULL, 10) != 0)
		return;
	s->open++;
	s->together = s->open > s->together ? s->open : s->together;
}

void worlds_header(struct worlds *s, unsigned file, uint64_t line)
{
	enum { HEADER = 5 /* lines of one: those before and behind it are comments */ };

	bool next = s->headers && file == s->header_file && line - s->header_line <= HEADER;

	s->headers = next ? s->headers + 1 : 1;
	s->header_file = file;
	s->header_line = line;
	s->most_headers = s->headers > s->most_headers ? s->headers : s->most_headers;
}

void worlds_failed(struct why *w, struct why_stream *s UNUSED, const struct log_line *l UNUSED)
{
	w->worlds.headers = 0;
}

void worlds_ended(struct why *w, struct why_stream *s UNUSED, const struct log_line *l UNUSED)
{
	w->worlds.results++;
	w->worlds.open = w->worlds.headers = 0;
}

void launches_begun(struct launches *s)
{
	s->open = s->was_refused ? 1 : s->open + 1;
	s->was_refused = false;
}

void launches_refused(struct launches *s)
{
	s->was_refused = true;
	s->together = s->open > s->together ? s->open : s->together;
}

enum worlds_are worlds_judge(const struct worlds *s)
{
	bool each_told = s->commands == 1 && s->asked > 1 && s->results == (unsigned long)s->asked;

	if (s->together > 1 || s->most_headers > 1 || each_told)
		return WORLDS_MANY;
	return s->results > 1 && !s->commands ? WORLDS_UNSURE : WORLDS_ONE;
}
