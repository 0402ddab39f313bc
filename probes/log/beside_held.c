/* GPU memory that ran out because a process that is none of the job's holds most of it, as torch
 * itself says it ("Process 77 has 17.9 GiB memory in use") or a row of nvidia-smi. What a judge
 * knows to type of this log goes first. */
#include "probes/log/explain.h"

#include "lib/core/text.h"
#include "probes/log/said.h"

#include <ctype.h>

enum {
	MORE = 5,   /* than memory that merely ran out */
	FAINT = 46, /* its own may be as much */
	LEAST = 1,  /* GiB: less than that is a desktop's */
};

struct holder {
	long pid;
	double gib, own; /* what it holds; what the process that failed has itself, 0: not said */
	long gpu;	 /* -1: not said */
	char name[64];	 /* "": not said */
	const struct log_event *e; /* where memory ran out */
};

static double in_gib(const char *p)
{
	enum { MIB = 1024 };
	char *end;
	double v = strtod(p, &end);

	return starts_with(end + strspn(end, " "), "MiB") ? v / MIB : v;
}

/* The job's own ranks tell their numbers, and torchrun those that it ends. */
static bool is_of_job(const struct why *w, const struct cause *c, long pid)
{
	for (size_t i = 0; i < c->record->events.n; i++)
		if (said_in(c->record->events.v[i].text, "Sending process ", 0) == pid)
			return true;
	for (size_t i = 0; i < w->actors.v.n; i++)
		if (w->actors.v.v[i].who.pid == pid)
			return true;
	for (unsigned i = 0; i < w->exits.n; i++)
		if (w->exits.v[i].pid == pid || w->exits.v[i].agent == pid)
			return true;
	return false;
}

/* Some process of the job has told its number, so that others can be told from them: where all
 * ranks took GPU 0 it is one of them that holds it. */
static bool knows_job(const struct why *w)
{
	for (size_t i = 0; i < w->actors.v.n; i++)
		if (w->actors.v.v[i].who.pid > 0)
			return true;
	return w->exits.n;
}

/* Of those that torch lists, the one that holds most; false: none is another's. */
static bool listed(const struct why *w, const struct cause *c, const struct log_event *e,
		   struct holder *ret)
{
	const char *gpu = strstr(e->text, "GPU "), *own = strstr(e->text, "this process has ");

	*ret = (struct holder){.e = e, .gpu = gpu ? strtol(gpu + strlen("GPU "), NULL, 10) : -1};
	ret->own = own ? in_gib(own + strlen("this process has ")) : 0;
	for (const char *p = e->text; (p = strstr(p, "Process ")); p++) {
		char *end;
		long pid = strtol(p + strlen("Process "), &end, 10);
		double gib = starts_with(end, " has ") ? in_gib(end + strlen(" has ")) : 0;

		if (gib > ret->gib && !is_of_job(w, c, pid)) {
			ret->gib = gib;
			ret->pid = pid;
		}
	}
	return ret->gib > 0;
}

/* "|    0   N/A  N/A      1622      C   /usr/local/bin/ollama     18334MiB |" */
static bool read_row(const char *text, struct holder *ret)
{
	const char *type = strstr(text, " C "), *p = strchr(text, '|'), *name, *end;
	size_t n;

	*ret = (struct holder){.gpu = -1};
	if (!type)
		type = strstr(text, " C+G ");
	if (!type || !p || p > type)
		return false;
	ret->gpu = strtol(p + 1, NULL, 10);
	for (p = type; p > text && p[-1] == ' ';)
		p--;
	while (p > text && isdigit((unsigned char)p[-1]))
		p--;
	ret->pid = strtol(p, NULL, 10);
	name = type + strcspn(type + 1, " ") + 1;
	name += strspn(name, " ");
	n = strcspn(name, " ");
	end = memrchr(name, '/', n);
	if (end) {
		n -= (size_t)(end + 1 - name);
		name = end + 1;
	}
	(void)snprintf(ret->name, sizeof(ret->name), "%.*s", (int)n, name);
	end = strstr(type, "MiB");
	while (end && end > type && isdigit((unsigned char)end[-1]))
		end--;
	ret->gib = end ? in_gib(end) : 0;
	return ret->pid > 0 && ret->gib > 0;
}

static bool is_python(const char *name)
{
	return starts_with(name, "python") || streq(name, "...");
}

/* What rows of nvidia-smi know of it; without torch's list the largest program that is no Python's,
 * which may be a rank. */
static void look_up(const struct why *w, const struct cause *c, struct holder *h)
{
	const long known = h->pid;

	for (size_t i = 0; i < c->record->events.n; i++) {
		struct holder row;

		if (!read_row(c->record->events.v[i].text, &row))
			continue;
		if (known ? row.pid == known
			  : row.gib > h->gib && !is_python(row.name) && !is_of_job(w, c, row.pid) &&
				    (h->gpu < 0 || row.gpu == h->gpu)) {
			(void)snprintf(h->name, sizeof(h->name), "%s", row.name);
			h->gib = row.gib;
			h->pid = row.pid;
			h->gpu = h->gpu < 0 ? row.gpu : h->gpu;
		}
	}
}

static struct holder holder_of(const struct why *w, const struct cause *c, const struct cause *oom)
{
	struct holder best = {.gpu = -1, .e = oom->first}, h;

	for (size_t i = 0; i < oom->record->events.n; i++)
		if (listed(w, c, &oom->record->events.v[i], &h) && h.gib > best.gib)
			best = h;
	if (!best.pid)
		(void)listed(w, c, oom->first, &best);
	look_up(w, c, &best);
	return best;
}

static const char *cure_of(struct arena *a, const struct holder *h, const char *host)
{
	const char *where = explain_word(a, host) ? arena_printf(a, " on %s", host) : "";

	if (explain_word(a, h->name) && !is_python(h->name))
		return arena_printf(
			a,
			"sudo systemctl stop %s   # process %ld%s, which holds %.1f GiB; "
			"where it is no service: kill %ld",
			h->name, h->pid, where, h->gib, h->pid);
	return arena_printf(
		a,
		"kill %ld   # the process that holds %.1f GiB%s; kill -9 where it stays, "
		"and first look whose it is: ps -o user,lstart,cmd -p %ld",
		h->pid, h->gib, where, h->pid);
}

void beside_held(const struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const used_up[] = {"GPU-017", "GPU-009", "GPU-033"};
	struct cause *c = explain_find(x, "GPU-150"), *oom = NULL;
	const char *said;
	struct holder h;

	if (!c)
		return;
	c->weight = 0;
	for (size_t i = 0; i < ARRAY_LEN(used_up) && !oom; i++)
		oom = explain_find(x, used_up[i]);
	if (!oom || oom->is_over || !oom->first)
		return;
	h = holder_of(w, c, oom);
	if (!h.pid || h.gib < LEAST)
		return;
	c->cure = cure_of(a, &h, h.e->who.host);
	said = arena_printf(a, "process %ld%s%s%s holds %.1f GiB%s", h.pid, *h.name ? " (" : "",
			    h.name, *h.name ? ")" : "", h.gib,
			    h.gpu >= 0 ? arena_printf(a, " of GPU %ld", h.gpu) : "");
	if ((*h.name && !is_python(h.name)) || (h.own * 1.5 < h.gib && (h.gpu > 0 || knows_job(w))))
		explain_instead(c, oom, h.e, oom->weight + MORE, said);
	else
		explain_suspect(c, FAINT, said);
}
