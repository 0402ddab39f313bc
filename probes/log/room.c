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

/* A number, or the end of what has none: where a row's figures begin. */
static bool is_figure(const char *p)
{
	bool is_over = false;

	return size_of(p, &is_over) >= 0;
}

/* The first word is a user's, as in xfs_quota's report, whose grace stands in brackets. */
static bool is_of_user(const char *row)
{
	const char *p = said_spaces(row);
	size_t n = strcspn(p, " \t");

	return isalpha((unsigned char)*p) && !memchr(p, '/', n) && !memchr(p, ':', n) &&
	       is_figure(said_next(p)) && strchr(p, '[');
}

/* Behind the names of a row: of file systems, hosts, and "USR"; NULL: it is no row. */
static const char *figures_of(const char *p)
{
	static const char *const kinds[] = {"USR", "GRP", "FILESET", NULL};
	const char *q = p;

	for (; *q && !is_figure(q); q = said_next(q)) {
		size_t n = strcspn(q, " \t");

		if (!memchr(q, '/', n) && !memchr(q, ':', n) && !said_any(q, n, kinds) &&
		    !said_any(said_next(q), strcspn(said_next(q), " \t"), kinds) && !is_of_user(p))
			return NULL;
	}
	return q;
}

/* Used, what is allowed for a while, and what is allowed at all: of blocks, which come first. The
 * star says that more is used than for a while, which may go on until its time is over. */
static bool is_used_up(const char *p)
{
	double v[3];
	bool is_over = false;
	char grace[16];
	size_t n = 0;

	for (; n < ARRAY_LEN(v) && is_figure(p); p = said_next(p))
		v[n++] = size_of(p, &is_over);
	if (n < ARRAY_LEN(v))
		return false;
	said_word(grace, sizeof(grace), is_figure(p) ? said_next(p) : p, " \t");
	return (v[2] > 0 && v[0] >= v[2]) || streq(grace, "expired") ||
	       (is_over && streq(grace, "none"));
}

bool room_row(struct why_stream *s, const struct log_line *l)
{
	const char *p = said_spaces(l->text), *figures = figures_of(p);
	bool is_rule = *p == '-' && !p[strspn(p, "- \t\r")];

	if (figures && is_used_up(figures))
		why_fire(s, "LIM-018", l);
	return (figures && *p) || is_rule;
}

/* --- what could not be written ------------------------------------------------------------ */
/* Is @user a part of a path there? */
static bool has_user(const struct cause *e, const char *user)
{
	for (size_t i = 0; i < e->record->events.n; i++)
		for (const char *p = e->record->events.v[i].text; (p = strchr(p, '/')); p++)
			if (starts_with(p + 1, user) && p[1 + strlen(user)] == '/')
				return true;
	return false;
}

/* What shows why @e could not write: not a quota of somebody else. */
static const struct log_event *shown_for(const struct cause *c, const struct cause *e)
{
	for (size_t i = 0; i < c->record->events.n; i++) {
		const struct log_event *event = &c->record->events.v[i];
		char user[64];

		said_word(user, sizeof(user), said_spaces(event->text), " \t");
		if (!is_of_user(event->text) || has_user(e, user))
			return event;
	}
	return NULL;
}

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
		const struct log_event *at = c ? shown_for(c, e) : NULL;

		if (!at)
			continue;
		c->first = at;
		explain_reason(c, e, e->weight + MORE + FIRST,
			       "so the checkpoint could not be written");
		is_told = true;
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

/* A daemon's own files: its spool, the job's credentials; or what it says. */
static const struct log_event *of_daemon(const struct cause *disk)
{
	static const char *const words[] = {"slurmd", "slurmctld", "/var/spool/slurm",
					    "cred_state"};
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
	explain_reason(disk, e, explain_above(e, MORE, MOST),
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

/* The path of what could not be written, "'/scratch/ckpt/x.pt'"; "": the line names none. */
static void path_of(const char *text, char *ret, size_t size)
{
	const char *p = text;

	while ((p = strchr(p, '/')) && (p == text || !strchr(" '\"(=", p[-1])))
		p++;
	said_word(ret, size, p ? p : "", " '\":,)\t\r");
}

static bool is_below(const char *path, const char *mount)
{
	size_t n = strlen(mount);

	return streq(mount, "/") || (starts_with(path, mount) && (!path[n] || path[n] == '/'));
}

/* The full file system of @host on which @path is: the longest mount point; of no path, the first.
 */
static const struct log_event *row_of(struct arena *a, const struct cause *df, const char *host,
				      const char *path, const char **ret_mount)
{
	const struct log_event *best = NULL;

	for (size_t i = 0; df && i < df->record->events.n; i++) {
		const struct log_event *row = &df->record->events.v[i];
		const char *mount = mount_of(a, row);

		if (!mount || !log_hosts_fit(row->who.host, host) ||
		    (*path && !is_below(path, mount)) ||
		    (best && (!*path || strlen(mount) <= strlen(*ret_mount))))
			continue;
		best = row;
		*ret_mount = mount;
	}
	return best;
}

/* Which of the file systems it is, where somebody shows them. */
static void which(struct arena *a, struct cause *disk, const struct cause *df, const char *node)
{
	const char *host = *disk->first->who.host ? disk->first->who.host : node;
	const struct log_event *row;
	const char *mount, *said;
	char path[256];

	path_of(disk->first->text, path, sizeof(path));
	row = row_of(a, df, host ? host : "", path, &mount);
	if (!row)
		return;
	host = *row->who.host ? row->who.host : host;
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
