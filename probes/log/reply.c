#include "probes/log/reply.h"

#include "lib/core/file.h"
#include "lib/core/text.h"
#include "lib/report/json.h"
#include "probes/log/stamp.h"

#include <ctype.h>
#include <fcntl.h>
#include <sys/stat.h>

enum {
	DEPTH_MAX = 8,
	TAIL_MAX = 1 << 18, /* of what the rank printed: it fails at its end */
	COMPARED = 200,	    /* bytes of the message: a line is cut, too */
};

static const char *first_line(struct arena *a, const char *text)
{
	size_t n = strcspn(text, "\r\n");

	return arena_strndup(a, text, n < COMPARED ? n : COMPARED);
}

static int64_t when(const cJSON *info)
{
	const char *said = json_get_str(info, "timestamp");
	int64_t s = said ? strtoll(said, NULL, 10) : (int64_t)json_get_num(info, "timestamp", 0);

	return s > 0 && s < INT64_C(1) << 40 ? stamp_of_epoch(s) : 0;
}

/* A text; until PyTorch 1.9 a list of its lines, without the exception. NULL: it has none. */
static const char *stack_of(struct arena *a, const cJSON *info)
{
	const cJSON *list = json_get(info, "py_callstack"), *line;
	struct text t;

	if (!cJSON_IsArray(list))
		return json_copy(a, info, "py_callstack");
	text_init(&t, a);
	cJSON_ArrayForEach (line, list)
		text_add(&t, cJSON_GetStringValue(line) ?: "");
	return t.s;
}

/* Of nothing every line would say it. */
static const char *past_empty_lines(const char *said)
{
	return said ? said + strspn(said, " \t\r\n") : NULL;
}

/* {"message": {"message": "E: why", "extraInfo": {"py_callstack": "...", "timestamp": "17..."}}};
 * the outer message may be that text itself. */
bool reply_parse(const char *text, size_t n, struct arena *a, struct reply *ret)
{
	struct err ignored = {0};
	cJSON *doc = json_parse(text, n, DEPTH_MAX, &ignored);
	const cJSON *outer = json_get(doc, "message");
	const cJSON *info = json_get(cJSON_IsObject(outer) ? outer : doc, "extraInfo");
	const char *said = past_empty_lines(cJSON_IsObject(outer) ? json_get_str(outer, "message")
								  : json_get_str(doc, "message"));
	bool is_reply = said && *said && cJSON_IsObject(info);

	if (is_reply)
		*ret = (struct reply){.message = first_line(a, said),
				      .stack = stack_of(a, info),
				      .time_ms = when(info)};
	cJSON_Delete(doc);
	return is_reply;
}

bool reply_begins(const char *head, size_t n)
{
	static const char first[] = "\"message\"";
	size_t i = 0;

	while (i < n && (isspace((unsigned char)head[i]) || head[i] == '{'))
		i++;
	return i && n - i >= sizeof(first) - 1 && memcmp(head + i, first, sizeof(first) - 1) == 0;
}

static const char *beside(struct arena *a, const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return slash ? arena_printf(a, "%.*s/%s", (int)(slash - path), path, name) : name;
}

const struct reply *reply_beside(const char *path, struct arena *a)
{
	AUTO(arena_done) struct arena tmp = {0};
	struct err ignored = {0};
	struct reply r;
	char *text;
	size_t n;

	if (!ends_with(path, "/stderr.log") && !ends_with(path, "/stdout.log"))
		return NULL;
	if (file_read(beside(&tmp, path, "error.json"), REPLY_MAX, &tmp, &text, &n, &ignored) ||
	    !reply_parse(text, n, a, &r))
		return NULL;
	return memcpy(ARENA_NEW(a, struct reply), &r, sizeof(r));
}

void reply_date(const struct reply *r, struct log_line *l)
{
	if (l->clock || !r->time_ms || !strstr(l->text, r->message))
		return;
	l->clock = CLOCK_KIND_WORLD;
	l->time_ms = r->time_ms;
}

/* Does the end of that file say it? */
static bool says(const char *path, const char *message)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	AUTO_FREE char *tail = malloc(TAIL_MAX);
	struct stat st;
	ssize_t n;

	if (fd < 0 || !tail || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	n = pread(fd, tail, TAIL_MAX, st.st_size > TAIL_MAX ? st.st_size - TAIL_MAX : 0);
	return n > 0 && memmem(tail, (size_t)n, message, strlen(message));
}

static bool is_printed(struct arena *a, const char *path, const char *message)
{
	return says(beside(a, path, "stderr.log"), message) ||
	       says(beside(a, path, "stdout.log"), message);
}

static void feed_lines(struct why_stream *s, const char *text)
{
	why_feed(s, text, strlen(text));
	if (*text && !ends_with(text, "\n"))
		why_feed(s, "\n", 1);
}

/* As Python prints it. */
static void feed(struct why_stream *s, const struct reply *r)
{
	static const char begins[] = "Traceback (most recent call last):";
	const char *stack = r->stack ?: "";

	if (!starts_with(stack, begins))
		feed_lines(s, begins);
	feed_lines(s, stack);
	if (!strstr(stack, r->message))
		feed_lines(s, r->message);
}

bool reply_read(struct why *w, int fd, const char *path, const char *name, const char *host)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO_FREE char *text = NULL;
	struct why_stream s;
	struct reply r;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > REPLY_MAX || !st.st_size)
		return false;
	text = malloc((size_t)st.st_size);
	n = text ? pread(fd, text, (size_t)st.st_size, 0) : 0;
	if (n <= 0 || !reply_parse(text, (size_t)n, &a, &r))
		return false;
	why_open_of(&s, w, name, host);
	s.reply = &r;
	w->progress.v[s.file].is_reply = true;
	if (!is_printed(&a, path, r.message))
		feed(&s, &r);
	why_close(&s);
	return true;
}
