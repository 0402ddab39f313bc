#include "probes/log/path.h"

#include "probes/log/prefix.h"

#include <ctype.h>

static const struct log_who nobody = {.rank = -1, .local = -1};

/* A number and no more, up to one of @ends; -1: it is none. */
static long whole_number(const char *p, const char *ends)
{
	long v;
	const char *q = prefix_number(p, &v);

	return q && strchr(ends, *q) ? v : -1; /* of a text that ends there, too */
}

long path_attempt(const char *name)
{
	return starts_with(name, "attempt_") ? whole_number(name + strlen("attempt_"), "/") : -1;
}

static const char *next_name(const char *p)
{
	p = strchr(p, '/');
	return p ? p + 1 : NULL;
}

/* "attempt_0/3/stderr.log": the last folder of that name. */
static bool torchrun_says(const char *path, struct log_who *w)
{
	const char *found = NULL, *rank;

	for (const char *name = path; name; name = next_name(name))
		if (path_attempt(name) >= 0)
			found = name;
	rank = found ? next_name(found) : NULL;
	if (!rank || whole_number(rank, "/") < 0 || !next_name(rank))
		return false;
	w->local = (int)whole_number(rank, "/");
	w->attempts = (unsigned)path_attempt(found) + 1;
	return true;
}

/* "4711_3_log.out" */
static bool submitit_says(const char *path, struct log_who *w)
{
	const char *slash = strrchr(path, '/'), *p = slash ? slash + 1 : path;
	long job, task;

	p = prefix_number(p, &job);
	p = p && *p == '_' ? prefix_number(p + 1, &task) : NULL;
	if (!p || !starts_with(p, "_log.") || (!streq(p + 5, "out") && !streq(p + 5, "err")))
		return false;
	w->rank = (int)task;
	w->rank_by = RANK_BY_TASK;
	return true;
}

/* Is what stands before it that word of its own? */
static bool is_behind(const char *path, const char *p, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(p - path) >= n && strncasecmp(p - n, word, n) == 0;
}

/* "node_rank0" has the number of a node, "tp_rank_1" that within a group, and "lora_rank16" the
 * size of matrices. */
static bool is_of_another_kind(const char *path, const char *p)
{
	static const char *const kinds[] = {"node", "machine", "host", "group", "role",
					    "tp",   "pp",      "dp",   "ep",	"cp",
					    "mp",   "sp",      "lora", "low",	NULL};

	if (p == path || (p[-1] != '_' && p[-1] != '-'))
		return false;
	for (size_t i = 0; kinds[i]; i++)
		if (is_behind(path, p - 1, kinds[i]) &&
		    ((size_t)(p - 1 - path) == strlen(kinds[i]) ||
		     !isalnum((unsigned char)p[-2 - (ssize_t)strlen(kinds[i])])))
			return true;
	return false;
}

/* "rank8_alpha16/train.log": of a folder's name it is the end. */
static bool is_of_a_run(const char *end) { return *end != '/' && strchr(end, '/'); }

/* "rank.3/stdout", "log_rank3.txt", "local_rank_3.log"; the last word of that kind. */
static bool word_says(const char *path, struct log_who *w)
{
	bool any = false;

	for (const char *p = strcasestr(path, "rank"); p; p = strcasestr(p + 4, "rank")) {
		const char *digits = p + 4 + (p[4] && strchr("._-=", p[4]) ? 1 : 0), *end;
		long v;

		end = prefix_number(digits, &v);
		if (!end || isalnum((unsigned char)*end) || is_of_a_run(end) ||
		    (p > path && isalpha((unsigned char)p[-1])) || is_of_another_kind(path, p))
			continue;
		any = true;
		*w = nobody;
		if (is_behind(path, p, "local_") || is_behind(path, p, "local-")) {
			w->local = (int)v;
			continue;
		}
		w->rank = (int)v;
		w->rank_by = RANK_BY_MPI;
	}
	return any;
}

struct log_who path_speaker(const char *path)
{
	struct log_who w = nobody;

	if (torchrun_says(path, &w) || submitit_says(path, &w) || word_says(path, &w))
		w.by_path = true;
	return w;
}

/* A label that has a local rank and no process is that of a launcher: the path names which. */
void path_fill(struct log_line *l, const struct log_who *owner)
{
	struct log_who *w = &l->who;
	bool is_launchers = w->local >= 0 && !w->pid;

	if (!*w->host && *owner->host) {
		memcpy(w->host, owner->host, sizeof(w->host));
		w->by_path = true;
	}
	if (w->rank < 0 && owner->rank >= 0 && !is_launchers) {
		w->rank = owner->rank;
		w->rank_by = owner->rank_by;
		w->by_path = true;
	}
	if (owner->local < 0)
		return;
	w->attempts = owner->attempts;
	w->by_path |= w->local < 0 && w->rank < 0;
	if (w->local < 0)
		w->local = owner->local;
}
