#include "probes/log/kept.h"

#include "lib/core/file.h"
#include "lib/core/text.h"

static const char title[] = "what ncclwhy --save brought, as HOST/path; of several hosts:";

static const char *mark_of(const char *folder, struct arena *a)
{
	return arena_printf(a, "%s/%s", folder, KEPT_MARK);
}

/* @path as it is below @folder; "": it is elsewhere. */
static const char *below(const char *folder, const char *path)
{
	size_t n = strlen(folder);
	bool is_in = strncmp(path, folder, n) == 0 && (path[n] == '/' || ends_with(folder, "/"));

	return is_in ? path + n + strspn(path + n, "/") : "";
}

int kept_mark(const char *folder, const str_list *shared, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	struct text t;

	text_init(&t, &a);
	text_addf(&t, "%s\n", title);
	for (size_t i = 0; i < shared->n; i++)
		if (!strchr(shared->v[i], '\n'))
			text_addf(&t, "%s\n", below(folder, shared->v[i]));
	return file_replace(mark_of(folder, &a), t.s, t.n, NULL, e);
}

bool kept_open(const char *folder, struct arena *a, struct kept *ret)
{
	enum { MOST = 64 << 20 };
	struct err unsaid = {0};
	size_t n;
	char *list;

	if (file_read(mark_of(folder, a), MOST, a, &list, &n, &unsaid) || !starts_with(list, title))
		return false;
	*ret = (struct kept){.folder = folder, .list = list};
	return true;
}

static bool is_shared(const char *list, const char *name)
{
	for (const char *p = strchr(list, '\n'); p; p = strchr(p, '\n')) {
		size_t n = strcspn(++p, "\n");

		if (n && strncmp(p, name, n) == 0 && (!name[n] || name[n] == '/'))
			return true;
	}
	return false;
}

const char *kept_host(const struct kept *k, const char *path, struct arena *a)
{
	const char *name = below(k->folder, path), *slash = strchr(name, '/');

	if (!slash || is_shared(k->list, name))
		return NULL;
	return arena_strndup(a, name, (size_t)(slash - name));
}
