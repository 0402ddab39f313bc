#include "lib/host/python.h"

#include "lib/host/answers.h"
#include "lib/host/sysroot.h"

#include <glob.h>
#include <limits.h>

static void add(struct arena *a, const char *folder, str_list *ret)
{
	for (size_t i = 0; i < ret->n; i++)
		if (streq(ret->v[i], folder))
			return;
	if (sysroot_exists("%s", folder))
		*LIST_ADD(a, ret) = folder;
}

/* The newest version last in a list of names, and so first here. */
static void add_root(struct arena *a, const char *root, str_list *ret)
{
	static const char *const libs[] = {"lib", "lib64"};
	static const char *const kinds[] = {"site-packages", "dist-packages"};

	for (size_t l = 0; l < ARRAY_LEN(libs) && root && *root; l++) {
		str_list names;

		sysroot_list(a, &names, "%s/%s", root, libs[l]);
		for (size_t i = names.n; i--;) {
			if (!starts_with(names.v[i], "python3"))
				continue;
			for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
				add(a,
				    arena_printf(a, "%s/%s/%s/%s", root, libs[l], names.v[i],
						 kinds[k]),
				    ret);
		}
	}
}

static void add_listed(struct arena *a, const char *paths, str_list *ret)
{
	while (paths && *paths) {
		size_t n = strcspn(paths, ":");

		if (*paths == '/')
			add(a, arena_strndup(a, paths, n), ret);
		paths += n + (paths[n] == ':');
	}
}

/* "/opt/venv/bin/python3" -> "/opt/venv"; NULL: it is in no bin. */
static const char *root_of(struct arena *a, const char *program)
{
	const char *name = strrchr(program, '/');
	size_t n = name ? (size_t)(name - program) : 0;

	return n >= 4 && !memcmp(program + n - 4, "/bin", 4) ? arena_strndup(a, program, n - 4)
							     : NULL;
}

/* "/usr/local/bin/python3", a link to a python3 elsewhere: that; NULL: it is none. */
static const char *next_of(struct arena *a, const char *program)
{
	char to[PATH_MAX];
	ssize_t n = readlink(program, to, sizeof(to) - 1);
	const char *name = strrchr(program, '/');

	if (n <= 0)
		return NULL;
	to[n] = '\0';
	return *to == '/' ? arena_strdup(a, to)
			  : arena_printf(a, "%.*s/%s", (int)(name - program), program, to);
}

/* Its root by the name that its folder really has: that of PATH may be a link, or end in "/". */
static const char *real_root(struct arena *a, const char *program)
{
	const char *name = strrchr(program, '/');
	char real[PATH_MAX];

	if (!realpath(arena_strndup(a, program, (size_t)(name - program)), real))
		return NULL;
	return root_of(a, arena_printf(a, "%s/python3", real));
}

/*
 * An environment that is used without being activated has its python3 in front. That may be
 * a link to the environment's own, which is one to an installation that has no packages.
 */
static void add_of_path(struct arena *a, str_list *ret)
{
	enum { LINKS_MAX = 8 };
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t n = strcspn(path, ":");
		const char *program = arena_printf(a, "%.*s/python3", (int)n, path);

		path += n + (path[n] == ':');
		if (*program != '/' || access(program, X_OK))
			continue;
		add_root(a, root_of(a, program), ret);
		for (int i = 0; i < LINKS_MAX && program; i++, program = next_of(a, program))
			add_root(a, real_root(a, program), ret);
		return;
	}
}

void python_packages(struct arena *a, str_list *ret)
{
	const char *home = getenv("HOME");

	*ret = (str_list){0};
	add_listed(a, getenv("PYTHONPATH"), ret);
	add_root(a, getenv("VIRTUAL_ENV"), ret);
	add_root(a, getenv("CONDA_PREFIX"), ret);
	if (sysroot_is_real())
		add_of_path(a, ret);
	if (home && *home && folder_answers(home))
		add_root(a, arena_printf(a, "%s/.local", home), ret);
	add_root(a, "/usr/local", ret);
	add_root(a, "/usr", ret);
}

/* "torch-2.5.1+cu124.dist-info", or an ".egg-info". */
static const char *version_in(struct arena *a, const char *folder, const char *package)
{
	const char *found = NULL, *pattern = arena_printf(a, "%s/%s-*.*-info", folder, package);
	glob_t g = {0};

	if (!glob(sysroot_path(a, pattern), 0, NULL, &g) && g.gl_pathc) {
		const char *name = strrchr(g.gl_pathv[0], '/') + 1 + strlen(package) + 1;
		size_t n = strlen(name) - strlen("-info"); /* ".dist", ".egg": one part more */

		while (n && name[n] != '.')
			n--;
		found = arena_strndup(a, name, n);
	}
	globfree(&g);
	return found;
}

const char *python_version_of(struct arena *a, const char *package)
{
	const char *found = NULL;
	str_list folders;

	python_packages(a, &folders);
	for (size_t i = 0; i < folders.n && !found; i++)
		found = version_in(a, folders.v[i], package);
	return found;
}
