/* A stand as a document has it, and back: hosts answer in JSON. */
#include "lib/cluster/world.h"
#include "lib/report/json.h"
#include "probes/stacks/ranks.h"
#include "probes/stacks/stand.h"

static void frame_json(cJSON *o, const struct py_frame *f)
{
	json_str(o, "function", f->function);
	json_str(o, "file", f->file);
	if (f->line)
		json_num(o, "line", f->line);
}

static void worker_json(cJSON *o, const struct stand_worker *w)
{
	char state[] = {w->state, '\0'};

	json_num(o, "pid", w->pid);
	json_str(o, "state", *state ? state : NULL);
	json_str(o, "wchan", *w->wchan ? w->wchan : NULL);
	if (w->own.function)
		frame_json(json_object(o, "at"), &w->own);
}

static void known(cJSON *o, const char *key, int value)
{
	if (value >= 0)
		json_num(o, key, value);
}

static void process_json(cJSON *o, const struct stand *s)
{
	char state[] = {s->state, '\0'};

	json_str(o, "job", s->job);
	known(o, "rank", s->rank);
	known(o, "size", s->size);
	known(o, "local_size", s->local_size);
	known(o, "present", s->present);
	if (s->is_guessed)
		json_bool(o, "guessed", true);
	json_num(o, "pid", s->pid);
	json_str(o, "state", *state ? state : NULL);
	json_str(o, "wchan", *s->wchan ? s->wchan : NULL);
	json_num(o, "busy", s->busy);
	json_num(o, "busy_below", s->busy_below);
	json_num(o, "seconds", s->seconds);
	json_str(o, "unread", s->unread);
	json_str(o, "unread_fix", s->unread_fix);
}

cJSON *stand_json(const struct stand *s)
{
	cJSON *o = cJSON_CreateObject(), *list;

	json_str(o, "host", s->host);
	process_json(o, s);
	if (s->unread)
		return o;
	json_bool(o, "moved", s->moved);
	json_str(o, "doing", stand_words[s->kind]);
	json_str(o, "call", s->what);
	json_str(o, "source", s->line);
	json_str(o, "innermost_source", s->inner);
	json_num(o, "threads", (double)s->threads);
	if (s->python)
		json_num(o, "python", s->python);
	if (s->own < s->n)
		frame_json(json_object(o, "at"), &s->frames[s->own]);
	list = json_array(o, "stack");
	for (size_t i = 0; i < s->n; i++)
		frame_json(json_push_object(list), &s->frames[i]);
	list = s->n_workers ? json_array(o, "workers") : NULL;
	for (size_t i = 0; i < s->n_workers; i++)
		worker_json(json_push_object(list), &s->workers[i]);
	return o;
}

/* --- and back --------------------------------------------------------------------- */

static const char *copy(struct arena *a, const cJSON *o, const char *key)
{
	return json_copy(a, o, key) ?: "";
}

static void frame_of(const cJSON *o, struct arena *a, struct py_frame *ret)
{
	int line = json_get_int(o, "line", 0);

	ret->function = copy(a, o, "function");
	ret->file = copy(a, o, "file");
	ret->line = line > 0 ? line : 0;
}

static size_t length(const cJSON *list, size_t most)
{
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;

	return (size_t)n < most ? (size_t)n : most;
}

static void frames_of(const cJSON *list, struct arena *a, struct stand *s)
{
	const cJSON *one = list ? list->child : NULL;

	s->n = length(list, PY_FRAMES);
	s->frames = arena_alloc(a, s->n * sizeof(*s->frames) + 1);
	for (size_t i = 0; i < s->n; i++, one = one->next)
		frame_of(one, a, &s->frames[i]);
}

static void workers_of(const cJSON *list, struct arena *a, struct stand *s)
{
	const cJSON *one = list ? list->child : NULL;

	s->n_workers = length(list, PY_FRAMES);
	s->workers = arena_alloc(a, s->n_workers * sizeof(*s->workers) + 1);
	for (size_t i = 0; i < s->n_workers; i++, one = one->next) {
		struct stand_worker *w = &s->workers[i];

		w->pid = json_get_int(one, "pid", 0);
		w->state = *json_text(one, "state");
		w->wchan = copy(a, one, "wchan");
		if (json_get(one, "at"))
			frame_of(json_get(one, "at"), a, &w->own);
	}
}

/* Numbers that a launcher can give. */
static int number(const cJSON *o, const char *key)
{
	int v = json_get_int(o, key, -1);

	return v >= 0 && v <= WORLD_MAX ? v : -1;
}

bool stand_from_json(const cJSON *o, const char *host, struct arena *a, struct stand *ret)
{
	const char *job = json_get_str(o, "job");
	struct stand s = {.host = host};

	s.pid = json_get_int(o, "pid", 0);
	if (!job || s.pid <= 0)
		return false;
	s.job = job_is_at_home(job) ? arena_printf(a, "%s on %s", job, host) : arena_strdup(a, job);
	s.rank = number(o, "rank");
	s.size = number(o, "size");
	s.local_size = number(o, "local_size");
	s.present = number(o, "present");
	s.is_guessed = cJSON_IsTrue(json_get(o, "guessed"));
	s.state = *json_text(o, "state");
	s.wchan = copy(a, o, "wchan");
	s.busy = json_get_num(o, "busy", 0);
	s.busy_below = json_get_num(o, "busy_below", 0);
	s.seconds = json_get_num(o, "seconds", 0);
	s.unread = json_copy(a, o, "unread");
	s.unread_fix = json_copy(a, o, "unread_fix");
	s.moved = cJSON_IsTrue(json_get(o, "moved"));
	s.line = json_copy(a, o, "source");
	s.inner = json_copy(a, o, "innermost_source");
	s.threads = (size_t)json_get_count(o, "threads", 0);
	s.python = (unsigned)json_get_int(o, "python", 0);
	frames_of(json_get(o, "stack"), a, &s);
	workers_of(json_get(o, "workers"), a, &s);
	stand_classify(&s);
	*ret = s;
	return true;
}
