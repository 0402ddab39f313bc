#include "probes/log/room.h"

#include "lib/core/text.h"
#include "probes/log/said.h"

#include <ctype.h>

enum {
	MORE = 5, /* than what it explains */
	MOST = 98,
	FIRST = 8, /* what the earliest gets */
};

/* --- tables of quotas --------------------------------------------------------------------- */
void room_begin(struct why *w UNUSED, struct why_stream *s, const struct log_line *l)
{
	sequel_begin(s, SEQUEL_QUOTA, l);
}

/* "9.5T", "10737418240", "10T*"; *ret_over: with the star of what is too much. -1: no number. */
static double size_of(const char *p, bool *ret_over)
{
	static const char units[] = "kmgtp";
	char *end;
	double n = strtod(p, &end);
	const char *unit;

	if (!isdigit((unsigned char)*p))
		return -1;
	unit = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
	for (const char *u = units; unit && u <= unit; u++)
		n *= 1024;
	end += strspn(end, "kKmMgGtTpPiB");
	*ret_over |= *end == '*';
	return *end && !strchr(" \t*\r", *end) ? -1 : n;
}

/* Used, what is allowed for a while, and what is allowed at all: of blocks, which come first. */
static bool is_used_up(const char *p)
{
	double v[3];
	bool is_over = false;
	size_t n = 0;

	for (; *p && n < ARRAY_LEN(v); p = said_next(p)) {
		v[n] = size_of(p, &is_over);
		if (v[n] < 0 && n)
			return false;
		n += v[n] >= 0;
	}
	return n == ARRAY_LEN(v) && (is_over || (v[2] > 0 && v[0] >= v[2]));
}

bool room_row(struct why_stream *s, const struct log_line *l)
{
	const char *p = said_spaces(l->text);

	if (strpbrk(p, "$#@=") && !strchr(p, '*'))
		return false;
	if (is_used_up(p))
		why_fire(s, "LIM-018", l);
	return true;
}

/* --- what could not be written ------------------------------------------------------------ */
/* torch does not know why its file could not be written; another rank, a later call, or who looked
 * at the file system, may say it. */
static void checkpoint(struct explanation *x)
{
	static const char *const full[] = {"LIM-004", "LIM-007"};
	static const char *const shown[] = {"LIM-018", "LIM-019"};
	const struct cause *e = explain_find(x, "PT-047");
	bool is_told = false;

	if (!e || e->is_over)
		return;
	for (size_t i = 0; i < ARRAY_LEN(full); i++) {
		struct cause *c = explain_find(x, full[i]);

		if (c && !c->is_over)
			explain_reason(c, e, c->weight + FIRST,
				       "so the checkpoint could not be written");
		is_told |= c && !c->is_over;
	}
	for (size_t i = 0; i < ARRAY_LEN(shown) && !is_told; i++) {
		struct cause *c = explain_find(x, shown[i]);

		explain_reason(c, e, e->weight + MORE + FIRST,
			       "so the checkpoint could not be written");
		is_told = c != NULL;
	}
}

/* "Task launch for StepId=1.0 failed on node hgx07", "on node(s)=hgx07". */
static const char *node_of(struct arena *a, const struct cause *c)
{
	static const char *const keys[] = {"on node(s)=", " on node ", " on host "};
	char host[64] = "";

	for (size_t i = 0; i < c->record->events.n * ARRAY_LEN(keys) && !*host; i++) {
		const char *text = c->record->events.v[i / ARRAY_LEN(keys)].text;
		const char *key = keys[i % ARRAY_LEN(keys)], *p = strstr(text, key);

		if (p)
			said_word(host, sizeof(host), p + strlen(key), " :,;.\t\r");
	}
	return explain_word(a, arena_strdup(a, host));
}

/* A daemon's own files: its spool, the job's credentials, what a prolog writes. */
static const struct log_event *of_daemon(const struct cause *disk)
{
	static const char *const words[] = {"slurm", "cred_state", "rolog", "/var/spool"};
	const struct log_event *e = NULL;

	for (size_t i = 0; i < ARRAY_LEN(words) && !e; i++)
		e = explain_event(disk, words[i]);
	return e;
}

/* A node's daemon starts nothing where it cannot write. */
static const char *launch(struct arena *a, struct explanation *x, struct cause *disk)
{
	static const char *const effects[] = {"SLM-007", "SLM-016", "SLM-038", NULL};
	const struct cause *e = explain_surest(x, effects, 0);
	const struct log_event *at = of_daemon(disk);
	const char *node = e ? node_of(a, e) : NULL;

	if (!e || !at)
		return NULL;
	disk->first = at;
	explain_reason(disk, e, e->weight + MORE < MOST ? e->weight + MORE : MOST,
		       arena_printf(a, "so slurmd%s%s started nothing", node ? " of " : "",
				    node ? node : ""));
	return node;
}

/* The mount point at the end of a row of df. */
static const char *mount_of(struct arena *a, const struct log_event *e)
{
	const char *p = strstr(e->text, " 100% /");
	char path[200];

	said_word(path, sizeof(path), p ? p + strlen(" 100% ") : "", " \t\r[");
	return explain_word(a, arena_strdup(a, path));
}

/* Which of the file systems it is, where somebody shows them. */
static void which(struct arena *a, struct cause *disk, const struct cause *df, const char *node)
{
	const struct log_event *row = df ? &df->record->events.v[0] : NULL;
	const char *mount = row ? mount_of(a, row) : NULL;
	const char *host = row && *row->who.host ? row->who.host : node;
	const char *said;

	if (!host && *disk->first->who.host)
		host = disk->first->who.host;
	if (!mount)
		return;
	said = arena_printf(a, "df shows %s%s%s full", mount, host ? " of " : "", host ? host : "");
	disk->because = disk->because ? arena_printf(a, "%s, %s", said, disk->because) : said;
	disk->cure = arena_printf(a,
				  "sudo du -xh -d 2 %s | sort -h | tail -20   # on %s: what fills "
				  "it; remove old logs, core dumps, images and caches",
				  mount, host ? host : "that host");
}

void room_judge(struct arena *a, struct explanation *x)
{
	static const char *const shown[] = {"LIM-018", "LIM-019"};
	struct cause *disk;

	for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
		struct cause *c = explain_find(x, shown[i]);

		if (c) /* a disk may be full that nobody writes to */
			c->weight = 0;
	}
	checkpoint(x);
	disk = explain_find(x, "LIM-004");
	if (disk && !disk->is_over && disk->first)
		which(a, disk, explain_find(x, "LIM-019"), launch(a, x, disk));
}
