#include "lib/cluster/parcel.h"

#include "lib/cluster/agent.h"
#include "lib/core/file.h"
#include "lib/core/text.h"

#include <sodium.h>

enum { BLOCK = 512, FILE_MAX = 256 << 20, NAME_MAX_TAR = 100, MODE = 0755 };

/* One member of a POSIX tar archive (ustar). */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
	char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a tar header is one block");

struct item {
	const char *name, *data;
	size_t n;
};
typedef LIST(struct item) item_list;

static void hash(const void *data, size_t n, char ret[PARCEL_SUM])
{
	unsigned char h[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(h, data, n);
	sodium_bin2hex(ret, PARCEL_SUM, h, sizeof(h));
}

static int add(item_list *l, const char *name, const char *path, struct arena *a, struct err *e)
{
	char *data;
	size_t n;

	if (strlen(name) >= NAME_MAX_TAR)
		return err_set(e, ERR_SYS, "the name of %s is too long to be copied", path);
	if (file_read(path, FILE_MAX, a, &data, &n, e) < 0)
		return -1;
	*LIST_ADD(a, l) = (struct item){name, data, n};
	return 0;
}

static int add_plugins(item_list *l, const char *own_dir, struct arena *a, struct err *e)
{
	const char *dir = arena_printf(a, "%s/../lib/windsock", own_dir);
	AUTO_DIR DIR *d = opendir(dir);
	struct dirent *x;
	int rc = 0;

	while (d && !rc && (x = readdir(d))) {
		size_t n = strlen(x->d_name);

		if (n > 3 && streq(x->d_name + n - 3, ".so"))
			rc = add(l, arena_printf(a, "lib/windsock/%s", x->d_name),
				 arena_printf(a, "%s/%s", dir, x->d_name), a, e);
	}
	return rc;
}

static int add_libraries(item_list *l, struct arena *a, struct err *e)
{
	str_list paths = {0};

	parcel_libraries(a, &paths);
	for (size_t i = 0; i < paths.n; i++)
		if (add(l, arena_printf(a, "lib/%s", strrchr(paths.v[i], '/') + 1), paths.v[i], a,
			e) < 0)
			return -1;
	return 0;
}

static int by_name(const void *x, const void *y)
{
	return strcmp(((const struct item *)x)->name, ((const struct item *)y)->name);
}

/* As sha256sum writes and reads it. */
static void add_sums(item_list *l, struct arena *a, char ret[PARCEL_SUM])
{
	char sum[PARCEL_SUM];
	struct text t;

	text_init(&t, a);
	for (size_t i = 0; i < l->n; i++) {
		hash(l->v[i].data, l->v[i].n, sum);
		text_addf(&t, "%s  %s\n", sum, l->v[i].name);
	}
	hash(t.s, t.n, ret);
	*LIST_ADD(a, l) = (struct item){"SHA256SUMS", t.s, t.n};
}

static void put_header(unsigned char *at, const struct item *x)
{
	struct header h = {.type = '0', .magic = "ustar", .version = {'0', '0'}};
	unsigned sum = 0;

	snprintf(h.name, sizeof(h.name), "%s", x->name);
	snprintf(h.mode, sizeof(h.mode), "%07o", MODE);
	snprintf(h.uid, sizeof(h.uid), "%07o", 0);
	snprintf(h.gid, sizeof(h.gid), "%07o", 0);
	snprintf(h.size, sizeof(h.size), "%011zo", x->n);
	snprintf(h.mtime, sizeof(h.mtime), "%011o", 0);
	memset(h.sum, ' ', sizeof(h.sum)); /* counted as if it were blank */
	for (size_t i = 0; i < sizeof(h); i++)
		sum += ((unsigned char *)&h)[i];
	snprintf(h.sum, sizeof(h.sum), "%06o", sum);
	memcpy(at, &h, sizeof(h));
}

static size_t blocks(size_t n) { return (n + BLOCK - 1) / BLOCK * BLOCK; }

static void pack(const item_list *l, struct arena *a, struct parcel *ret)
{
	unsigned char *at;

	ret->n = (size_t)2 * BLOCK;
	for (size_t i = 0; i < l->n; i++)
		ret->n += BLOCK + blocks(l->v[i].n);
	ret->p = at = arena_alloc(a, ret->n); /* zeroed: two empty blocks are the end */
	for (size_t i = 0; i < l->n; i++) {
		put_header(at, &l->v[i]);
		if (l->v[i].n)
			memcpy(at + BLOCK, l->v[i].data, l->v[i].n);
		at += BLOCK + blocks(l->v[i].n);
	}
}

static int add_programs(item_list *l, const char *const *names, const char *dir, struct arena *a,
			struct err *e)
{
	const char *own = l->v[0].name;

	for (; names && *names; names++) {
		const char *to = arena_printf(a, "bin/%s", *names);

		if (!streq(to, own) && add(l, to, arena_printf(a, "%s%s", dir, *names), a, e) < 0)
			return -1;
	}
	return 0;
}

int parcel_pack(const char *const *programs, struct arena *a, struct parcel *ret, struct err *e)
{
	AUTO(arena_done) struct arena scratch = {0};
	const char *own = agent_own_path(&scratch), *name = strrchr(own, '/');
	const char *dir;
	item_list l = {0};

	name = name ? name + 1 : own;
	dir = arena_printf(&scratch, "%.*s", (int)(name - own), own);
	if (add(&l, arena_printf(&scratch, "bin/%s", name), own, &scratch, e) < 0)
		return -1;
	hash(l.v[0].data, l.v[0].n, ret->own_sum);
	if (add_programs(&l, programs, dir, &scratch, e) < 0)
		return -1;
	if (add_libraries(&l, &scratch, e) < 0 || add_plugins(&l, dir, &scratch, e) < 0)
		return -1;
	qsort(l.v, l.n, sizeof(*l.v), by_name); /* readdir() has no order */
	add_sums(&l, &scratch, ret->sum);
	pack(&l, a, ret);
	return 0;
}
