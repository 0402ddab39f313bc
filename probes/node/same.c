#include "probes/node/same.h"

#include "lib/core/aside.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <sys/stat.h>

#define WHOLE_MAX (64ll << 20)
enum { BITE = 1 << 20, DEPTH_MAX = 64, DIGEST = 8, LISTED = 256 };
static const uint64_t SILENCE_NS = 10 * NS_PER_S;

typedef crypto_generichash_state hash_state;

struct walk {
	hash_state hash;
	struct arena *a;
	unsigned char *buf;
	int to;		    /* who waits for it */
	size_t files, root; /* root: bytes of the path that it began with */
	same_list *list;
	const char *unreadable;
	uint64_t until_ns; /* 0: as long as it takes */
	bool late;
};

/* What is large is not to cost the run all that it has found out. */
static bool is_late(struct walk *w)
{
	w->late = w->late || interrupt_pending() || (w->until_ns && now_ns() >= w->until_ns);
	return w->late;
}

static void add_to(hash_state *hash, const void *p, size_t n)
{
	uint64_t length = n; /* "ab","c" is not "a","bc" */

	crypto_generichash_update(hash, (const unsigned char *)&length, sizeof(length));
	crypto_generichash_update(hash, p, n);
}

static void add(struct walk *w, const void *p, size_t n) { add_to(&w->hash, p, n); }

static const char *in_hex(struct arena *a, hash_state *hash)
{
	unsigned char digest[crypto_generichash_BYTES];
	char hex[2 * DIGEST + 1];

	crypto_generichash_final(hash, digest, sizeof(digest));
	sodium_bin2hex(hex, sizeof(hex), digest, DIGEST);
	return arena_strdup(a, hex);
}

/* What is said aside begins with one of these: what is looked at now, nothing but that it goes
 * on, a file's digest and name, and the end. */
enum { AT = '@', ALIVE = '.', OF_FILE = 'f', WHOLE = 'w' };

static void say(int to, char what, const char *text)
{
	char record[2 * PATH_MAX];
	int n = snprintf(record, sizeof(record), "%c%s", what, text);

	aside_say(to, record, n < (int)sizeof(record) ? (size_t)n + 1 : sizeof(record));
}

static bool add_part(struct walk *w, hash_state *into, int fd, off_t at, off_t n)
{
	while (n > 0) {
		say(w->to, ALIVE, "");
		ssize_t got = is_late(w) ? 0 : pread(fd, w->buf, n < BITE ? (size_t)n : BITE, at);

		if (got <= 0)
			return false;
		add_to(into, w->buf, (size_t)got);
		at += got;
		n -= got;
	}
	return true;
}

static bool add_contents(struct walk *w, hash_state *into, int fd, off_t size)
{
	if (fd < 0)
		return false;
	if (size <= WHOLE_MAX)
		return add_part(w, into, fd, 0, size);
	return add_part(w, into, fd, 0, BITE) && add_part(w, into, fd, size - BITE, BITE);
}

static bool add_file(struct walk *w, const char *path, off_t size)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	hash_state own;
	const char *hex;
	bool read;

	w->files++;
	crypto_generichash_init(&own, NULL, 0, crypto_generichash_BYTES);
	add_to(&own, &size, sizeof(size));
	read = add_contents(w, &own, fd, size);
	hex = in_hex(w->a, &own);
	add(w, hex, strlen(hex));
	if (w->list->n < LISTED)
		*LIST_ADD(w->a, w->list) =
			(struct same_file){path + w->root + strspn(path + w->root, "/"), hex};
	return read;
}

static bool add_link(struct walk *w, const char *path)
{
	char to[PATH_MAX];
	ssize_t n = readlink(path, to, sizeof(to));

	if (n >= 0)
		add(w, to, (size_t)n);
	return n >= 0;
}

/* Not by the user's language: hosts may have different ones. */
static int by_name(const struct dirent **x, const struct dirent **y)
{
	return strcmp((*x)->d_name, (*y)->d_name);
}

/* What is compiled here and what git knows of the files here hold their times. */
static bool is_left_out(const char *name)
{
	return streq(name, ".") || streq(name, "..") || streq(name, "__pycache__") ||
	       streq(name, ".git");
}

static void add_any(struct walk *w, const char *path, int depth);

static bool add_folder(struct walk *w, const char *path, int depth)
{
	struct dirent **names;
	int n = depth < DEPTH_MAX ? scandir(path, &names, NULL, by_name) : -1;

	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;

		if (!is_left_out(name)) {
			add(w, name, strlen(name));
			if (!is_late(w))
				add_any(w, arena_printf(w->a, "%s/%s", path, name), depth + 1);
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return n >= 0;
}

/* Where the path itself is a link, what it leads to is meant: each host may have it elsewhere. */
static bool look(const char *path, int depth, struct stat *ret)
{
	return !(depth ? lstat(path, ret) : stat(path, ret));
}

static void add_any(struct walk *w, const char *path, int depth)
{
	struct stat st;
	bool read;
	mode_t type;

	say(w->to, AT, path);
	read = !is_late(w) && look(path, depth, &st);
	type = read ? st.st_mode & S_IFMT : 0;
	add(w, &type, sizeof(type));
	if (S_ISREG(type))
		read = add_file(w, path, st.st_size);
	else if (S_ISDIR(type))
		read = add_folder(w, path, depth);
	else if (S_ISLNK(type))
		read = add_link(w, path);
	if (!read && !w->unreadable)
		w->unreadable = path;
}

/* ---- in the child ---- */

static const char *digest(const char *path, uint64_t until_ns, int to, struct arena *a,
			  same_list *ret)
{
	struct walk w = {.a = a, .root = strlen(path), .list = ret, .until_ns = until_ns, .to = to};
	const char *hex;

	say(to, AT, path);
	if (access(path, F_OK))
		return "missing";
	w.buf = arena_alloc(a, BITE);
	crypto_generichash_init(&w.hash, NULL, 0, crypto_generichash_BYTES);
	add_any(&w, path, 0);
	hex = in_hex(a, &w.hash);
	if (w.late)
		return SAME_LATE;
	if (w.unreadable)
		return arena_printf(a, "unreadable (%s)", w.unreadable);
	return arena_printf(a, "%s, %zu file%s", hex, w.files, w.files == 1 ? "" : "s");
}

struct reading {
	const char *path;
	uint64_t until_ns;
	struct arena *a;
	same_list *list;
	char at[PATH_MAX]; /* what it looks at */
	const char *whole;
};

static void read_it(int to, void *arg)
{
	struct reading *r = arg;
	const char *whole = digest(r->path, r->until_ns, to, r->a, r->list);

	for (size_t i = 0; i < r->list->n; i++)
		say(to, OF_FILE,
		    arena_printf(r->a, "%s %s", r->list->v[i].contents, r->list->v[i].name));
	say(to, WHOLE, whole);
}

/* ---- here ---- */

static void take(void *arg, const void *record, size_t n)
{
	const char *text = record, *blank;
	struct reading *r = arg;

	if (n < 2)
		return;
	switch (*text++) {
	case AT:
		(void)snprintf(r->at, sizeof(r->at), "%.*s", (int)n - 2, text);
		break;
	case OF_FILE:
		text = arena_strndup(r->a, text, n - 2);
		blank = strchr(text, ' ');
		if (blank)
			*LIST_ADD(r->a, r->list) = (struct same_file){
				blank + 1, arena_strndup(r->a, text, (size_t)(blank - text))};
		break;
	case WHOLE:
		r->whole = arena_strndup(r->a, text, n - 2);
		break;
	}
}

const char *same_digest(const char *path, uint64_t until_ns, struct arena *a, same_list *ret)
{
	struct reading r = {.path = path, .until_ns = until_ns, .a = a, .list = ret};
	uint64_t now = now_ns(), left = until_ns > now ? until_ns - now : 0;
	const struct aside aside = {.work = read_it,
				    .take = take,
				    .arg = &r,
				    .deadline_ns =
					    until_ns && left < SILENCE_NS ? left : SILENCE_NS};
	struct unit_buf b;
	enum aside_end end;

	*ret = (same_list){0};
	(void)snprintf(r.at, sizeof(r.at), "%s", path);
	if (sodium_init() < 0)
		return NULL;
	end = aside_run(&aside);
	if (r.whole)
		return r.whole;
	*ret = (same_list){0};
	if (end == ASIDE_INTERRUPTED || (until_ns && now_ns() >= until_ns))
		return SAME_LATE;
	return end == ASIDE_SILENT ? arena_printf(a, "unreadable (%s: no answer for %s)", r.at,
						  format_duration(&b, SILENCE_NS))
				   : NULL;
}
