#include "bench/ranks/relay.h"

#include "lib/core/file.h"
#include "lib/report/json.h"

#include <fcntl.h>

enum { MARK = '\x1e', DEPTH = 8 };

cJSON *relay_event(const char *name)
{
	cJSON *o = cJSON_CreateObject();

	json_str(o, "ev", name);
	return o;
}

cJSON *relay_error(const char *name, const struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	cJSON *event = relay_event(name);

	json_num(event, "kind", e->kind);
	json_str(event, "message", e->msg);
	json_str(event, "hint", err_fix(e, &a));
	return event;
}

void relay_error_take(const cJSON *event, struct err *e)
{
	const char *message = json_get_str(event, "message"), *hint = json_get_str(event, "hint");
	double kind = json_get_num(event, "kind", ERR_SYS);
	bool known = kind == ERR_USAGE || kind == ERR_ABSENT;

	if (e->kind)
		return;
	(void)err_set(e, known ? (enum err_kind)kind : ERR_SYS, "%s", message ?: "");
	if (hint && *hint)
		(void)err_take_fix(e, hint);
}

void relay_send(struct relay *r, cJSON *event)
{
	char *text = r->fd >= 0 ? cJSON_PrintUnformatted(event) : NULL;

	if (text) {
		size_t n = strlen(text);
		char *line = malloc(n + 2);

		if (line) {
			line[0] = MARK;
			memcpy(line + 1, text, n);
			line[n + 1] = '\n';
			/* else who should hear it is gone, and so are we soon */
			(void)!file_write_all(r->fd, line, n + 2);
		}
		free(line);
		cJSON_free(text);
	} else if (r->direct) {
		r->direct(event, r->arg);
	}
	cJSON_Delete(event);
}

/* A prefix that the launcher put before the line of another rank does not matter. */
static void hand_out(struct relay_in *in, char *line, size_t n)
{
	const char *mark = memchr(line, MARK, n);
	struct err e = {0};
	cJSON *event;

	line[n] = '\0';
	if (!mark) {
		if (n && in->other)
			in->other(line, in->arg);
		return;
	}
	event = json_parse(mark + 1, n - (size_t)(mark + 1 - line), DEPTH, &e);
	if (event && json_get_str(event, "ev"))
		in->event(event, in->arg);
	cJSON_Delete(event);
}

/* False: it would be too much for a line, or for this machine. */
static bool keep(struct relay_in *in, const char *data, size_t n)
{
	const size_t with_end = n + 1; /* of a last line without one */
	unsigned char *to = bytes_left(&in->kept) + with_end <= RELAY_LINE_MAX
				    ? bytes_room(&in->kept, with_end)
				    : NULL;

	if (!to)
		return false;
	memcpy(to, data, n);
	in->kept.n += n;
	return true;
}

/* Hands out the line from @at to @end. Returns where the next one begins. */
static char *hand_line(struct relay_in *in, char *at, char *end)
{
	char *mark = in->is_mixed ? memchr(at, MARK, (size_t)(end - at)) : NULL;
	size_t before = mark ? (size_t)(mark - at) : 0;

	hand_out(in, at + before, (size_t)(end - at) - before);
	return memmove(end + 1 - before, at, before);
}

/* No event is that long, and no text is worth it: what is shown is its beginning. */
static void cut_short(struct relay_in *in)
{
	enum { SHOWN = 1024 };
	const size_t all = bytes_left(&in->kept);
	const char *begin = all ? (char *)bytes_first(&in->kept) : "",
		   *mark = memchr(begin, MARK, all), *from = mark ? mark + 1 : begin;
	size_t n = all - (size_t)(from - begin);
	char text[SHOWN + 100];

	(void)snprintf(text, sizeof(text),
		       "%.*s ... (the rest of this line, of more than %zu MiB, is not shown)",
		       (int)(n < SHOWN ? n : SHOWN), from, all >> 20);
	if (in->other)
		in->other(text, in->arg);
	bytes_drop(&in->kept, all);
	in->is_cut = true;
}

/* The rest of a line that was cut; returns false where it has not ended. */
static bool skip_rest(struct relay_in *in, const char **data, size_t *n)
{
	const char *end = memchr(*data, '\n', *n);

	if (!end)
		return false;
	*n -= (size_t)(end + 1 - *data);
	*data = end + 1;
	in->is_cut = false;
	return true;
}

void relay_feed(struct relay_in *in, const char *data, size_t n)
{
	char *begin, *end, *at;

	if (in->is_cut && !skip_rest(in, &data, &n))
		return;
	if (!keep(in, data, n)) {
		cut_short(in);
		if (skip_rest(in, &data, &n))
			relay_feed(in, data, n);
		return;
	}
	begin = at = (char *)bytes_first(&in->kept);
	while ((end = memchr(at, '\n', bytes_left(&in->kept) - (size_t)(at - begin))))
		at = hand_line(in, at, end);
	bytes_drop(&in->kept, (size_t)(at - begin));
}

void relay_in_done(struct relay_in *in)
{
	if (bytes_left(&in->kept))
		hand_out(in, (char *)bytes_first(&in->kept), bytes_left(&in->kept));
	bytes_done(&in->kept);
}

void relay_hush(void)
{
	AUTO_CLOSE int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)dup2(fd, STDERR_FILENO);
}
