#include "probes/node/same.h"

#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <sys/stat.h>

#define WHOLE_MAX (64ll << 20)
enum { BITE = 1 << 20, DEPTH_MAX = 64, DIGEST = 8, LISTED = 256 };

typedef crypto_generichash_state hash_state;

struct walk {
	hash_state hash;
	struct arena *a;
	unsigned char *buf;
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

static bool add_part(struct walk *w, hash_state *into, int fd, off_t at, off_t n)
{
	while (n > 0) {
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

static void add_any(struct walk *w, const char *path, int depth)
{
	struct stat st;
	bool read = !is_late(w) && !lstat(path, &st);
	mode_t type = read ? st.st_mode & S_IFMT : 0;

	add(w, &type, sizeof(type));
	if (S_ISLNK(type) && !depth)
		read = !stat(path, &st) && (S_ISDIR(st.st_mode) ? add_folder(w, path, depth)
								: add_file(w, path, st.st_size));
	else if (S_ISREG(type))
		read = add_file(w, path, st.st_size);
	else if (S_ISDIR(type))
		read = add_folder(w, path, depth);
	else if (S_ISLNK(type))
		read = add_link(w, path);
	if (!read && !w->unreadable)
		w->unreadable = path;
}

const char *same_digest(const char *path, uint64_t until_ns, struct arena *a, same_list *ret)
{
	struct walk w = {.a = a, .root = strlen(path), .list = ret, .until_ns = until_ns};
	const char *hex;

	*ret = (same_list){0};
	if (access(path, F_OK))
		return "missing";
	if (sodium_init() < 0)
		return NULL;
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
