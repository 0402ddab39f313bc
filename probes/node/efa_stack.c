/* Which libfabric and which plug-in will be loaded, where from, and whether they go together. */
#include "lib/core/file.h"
#include "lib/host/sysroot.h"
#include "probes/node/efa.h"
#include "probes/rules/nccl.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { LINES_MAX = 4096, LIBRARY_MAX = 64 << 20 };

static void add_paths(struct arena *a, str_list *to, const char *list)
{
	while (list && *list) {
		size_t n = strcspn(list, ":");

		if (n)
			*LIST_ADD(a, to) = sysroot_path(a, arena_strndup(a, list, n));
		list += n + (list[n] == ':');
	}
}

static void add_glob(struct arena *a, str_list *to, const char *pattern)
{
	glob_t g = {0};

	if (!glob(sysroot_path(a, pattern), 0, NULL, &g))
		for (size_t i = 0; i < g.gl_pathc; i++)
			*LIST_ADD(a, to) = arena_strdup(a, g.gl_pathv[i]);
	globfree(&g);
}

/* Folders that ldconfig was told of: one for each line of its files. */
static void add_configured(struct arena *a, str_list *to)
{
	str_list files = {0};
	char line[1024];

	add_glob(a, &files, "/etc/ld.so.conf.d/*.conf");
	for (size_t i = 0; i < files.n; i++) {
		FILE *in = fopen(files.v[i], "re");

		for (int n = 0; in && n < LINES_MAX && fgets(line, sizeof(line), in); n++) {
			line[strcspn(line, "# \t\r\n")] = '\0';
			if (*line == '/')
				*LIST_ADD(a, to) = sysroot_path(a, arena_strdup(a, line));
		}
		if (in)
			(void)fclose(in);
	}
}

/* Beside NCCL in the Python that PyTorch runs in, and in its environment's lib. */
static void add_pythons(struct arena *a, str_list *to)
{
	const char *roots[] = {getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX"), "/usr/local", "/usr"};

	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		if (!roots[i] || !*roots[i])
			continue;
		add_glob(a, to,
			 arena_printf(a, "%s/lib/python3*/*-packages/nvidia/nccl/lib", roots[i]));
		if (i < 2)
			*LIST_ADD(a, to) = sysroot_path(a, arena_printf(a, "%s/lib", roots[i]));
	}
}

/* In the order in which the loader looks when NCCL asks it. */
static void folders(struct arena *a, str_list *ret)
{
	static const char *const usual[] = {"/lib/x86_64-linux-gnu",
					    "/usr/lib/x86_64-linux-gnu",
					    "/lib/aarch64-linux-gnu",
					    "/usr/lib/aarch64-linux-gnu",
					    "/usr/lib64",
					    "/usr/local/lib",
					    "/usr/lib"};

	*ret = (str_list){0};
	add_paths(a, ret, getenv("LD_LIBRARY_PATH"));
	add_pythons(a, ret);
	add_configured(a, ret);
	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		*LIST_ADD(a, ret) = sysroot_path(a, usual[i]);
}

static const char *find_in(struct arena *a, const str_list *in, const char *name)
{
	for (size_t i = 0; i < in->n; i++) {
		const char *path = arena_printf(a, "%s/%s", in->v[i], name);

		if (!access(path, R_OK))
			return path;
	}
	return NULL;
}

/* Where Amazon's installers put things, whether or not a loader looks there. */
static const char *find_installed(struct arena *a, const char *name)
{
	static const char *const places[] = {
		"/opt/amazon/ofi-nccl/lib",   "/opt/amazon/ofi-nccl/lib/*-linux-gnu",
		"/opt/amazon/ofi-nccl/lib64", "/opt/aws-ofi-nccl/lib",
		"/opt/amazon/efa/lib",	      "/opt/amazon/efa/lib64"};
	str_list found = {0};

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		add_glob(a, &found, arena_printf(a, "%s/%s", places[i], name));
	return found.n ? found.v[0] : NULL;
}

/* The word that follows @mark in a file: "1.7.4-aws" of "aws-ofi-nccl 1.7.4-aws". */
static const char *word_after(struct arena *a, const char *path, const char *mark)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *found = NULL, *at, *map;
	struct stat st;
	size_t n;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size ||
	    st.st_size > LIBRARY_MAX)
		return NULL;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return NULL;
	for (at = map, n = (size_t)st.st_size; (at = memmem(at, n, mark, strlen(mark)));) {
		size_t left, i = 0;

		at += strlen(mark);
		n = left = (size_t)(map + st.st_size - at);
		while (i < left && i < 32 &&
		       strchr("0123456789.-abcdefghijklmnopqrstuvwxyz+", at[i]) && at[i])
			i++;
		if (i && *at >= '0' && *at <= '9') {
			found = arena_strndup(a, at, i);
			break;
		}
	}
	(void)munmap((void *)(uintptr_t)map, (size_t)st.st_size);
	return found;
}

/* "Version: 1.18.1amzn1.0" of libfabric.pc beside the library. */
static const char *fabric_version(struct arena *a, const char *library)
{
	const char *pc = arena_printf(a, "%s/pkgconfig/libfabric.pc", file_folder(library, a));
	FILE *in = fopen(pc, "re");
	const char *found = NULL;
	char line[256];

	while (in && !found && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\r\n")] = '\0';
		if (starts_with(line, "Version: "))
			found = arena_strdup(a, line + strlen("Version: "));
	}
	if (in)
		(void)fclose(in);
	return found;
}

static void outside_root(struct efa *e, const char **path)
{
	const char *root = sysroot_path(e->v->a, "");

	if (*path && *root && starts_with(*path, root))
		*path += strlen(root); /* as the machine itself calls it */
}

static void elsewhere(struct efa *e, struct finding *f, const char *what, const char *place)
{
	outside_root(e, &place);
	finding_set(f, efa_grave(e), "%s is at %s, where PyTorch does not look: NCCL uses TCP",
		    what, place);
	finding_expect(f, "a folder of LD_LIBRARY_PATH or of ldconfig");
	finding_fix(f, "export LD_LIBRARY_PATH=%s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
		    file_folder(place, e->v->a));
}

static void fabric(struct efa *e, const str_list *path)
{
	struct arena *a = e->v->a;
	struct finding *f = efa_note(e, "efa.libfabric", "libfabric");
	const char *installed = find_installed(a, "libfabric.so.1");

	e->fabric = find_in(a, path, "libfabric.so.1");
	/* the plug-in of Amazon's installer carries the way to its libfabric */
	if (!e->fabric && installed && e->plugin)
		e->fabric = installed;
	if (e->fabric) {
		e->fabric_version = fabric_version(a, e->fabric);
		outside_root(e, &e->fabric);
		finding_set(f, ST_PASS, "%s%s%s", e->fabric, e->fabric_version ? ", " : "",
			    e->fabric_version ? e->fabric_version : "");
	} else if (installed) {
		elsewhere(e, f, "it", installed);
	} else {
		finding_set(f, efa_grave(e), "is not installed: nothing can use EFA");
		finding_expect(f, "the EFA installer's");
		finding_fix(f,
			    "curl -O "
			    "https://efa-installer.amazonaws.com/aws-efa-installer-latest.tar.gz "
			    "&& tar xf aws-efa-installer-latest.tar.gz && cd aws-efa-installer && "
			    "sudo ./efa_installer.sh -y");
	}
}

/* As NCCL forms the name: NCCL_NET_PLUGIN is a file, or what stands in libnccl-net-X.so. */
static void plugin(struct efa *e, const str_list *path)
{
	const char *set = getenv("NCCL_NET_PLUGIN"), *installed;
	struct arena *a = e->v->a;
	bool named = set && *set && !streq(set, "none");
	const char *name = named ? arena_printf(a, "libnccl-net-%s.so", set) : "libnccl-net.so";
	struct finding *f;

	if (set && streq(set, "none"))
		return; /* a setting, and said as one */
	f = efa_note(e, "efa.plugin", "aws-ofi-nccl");
	if (named && strchr(set, '/') && !access(sysroot_path(a, set), R_OK))
		e->plugin = sysroot_path(a, set);
	else
		e->plugin = find_in(a, path, name) ?: named ? find_in(a, path, set ?: "") : NULL;
	installed = find_installed(a, name) ?: find_installed(a, "libnccl-net-ofi.so");
	if (e->plugin) {
		e->plugin_version = word_after(a, e->plugin, "aws-ofi-nccl ");
		outside_root(e, &e->plugin);
		if (e->plugin_version)
			finding_set(f, ST_PASS, "%s, %s", e->plugin, e->plugin_version);
		else
			finding_set(f, ST_INFO,
				    "%s is another network plug-in, or one without a version",
				    e->plugin);
	} else if (installed && !strstr(installed, name)) {
		outside_root(e, &installed);
		finding_set(f, efa_grave(e),
			    "is at %s, a name that NCCL looks for only when it is told", installed);
		finding_expect(f, "NCCL_NET_PLUGIN=ofi");
		finding_fix(f, "export NCCL_NET_PLUGIN=%s", installed);
	} else if (installed) {
		elsewhere(e, f, "it", installed);
	} else {
		finding_set(f, efa_grave(e),
			    "is not installed: NCCL uses TCP beside the EFA adapters");
		finding_expect(f, "%s where PyTorch looks", name);
		finding_fix(f, "sudo apt-get install libnccl-ofi   # the EFA installer's package; "
			       "conda install -c conda-forge aws-ofi-nccl");
	}
}

/* "# EFA installer version: 1.30.0" */
static void installer(struct efa *e)
{
	const char *line = sysroot_line(e->v->a, "/opt/amazon/efa_installed_packages");
	const char *at = line ? strstr(line, "installer version: ") : NULL;

	if (at) {
		at += strlen("installer version: ");
		e->installer = arena_strndup(e->v->a, at, strcspn(at, " \t"));
	}
}

/* In a recorded tree: "nvidia_nccl_cu12-2.20.5.dist-info" of its Python. */
static unsigned recorded_nccl(struct arena *a)
{
	unsigned major, minor, patch;
	const char *dash;
	str_list found = {0};

	add_glob(a, &found, "/usr/local/lib/python3*/*-packages/nvidia_nccl_cu*-*.dist-info");
	dash = found.n ? strstr(found.v[0], "nvidia_nccl_cu") : NULL;
	dash = dash ? strchr(dash, '-') : NULL;
	return dash && sscanf(dash, "-%u.%u.%u", &major, &minor, &patch) == 3
		       ? major * 10000 + minor * 100 + patch
		       : 0;
}

static unsigned own_nccl(struct arena *a)
{
	return sysroot_is_real() ? nccl_installed() : recorded_nccl(a);
}

/* aws/aws-ofi-nccl#584: its maintainers; awslabs/awsome-distributed-ai#278. */
static bool is_memops_pair(const struct efa *e)
{
	const char *set = getenv("FI_EFA_SET_CUDA_SYNC_MEMOPS");

	return e->nccl >= 21900 && !(set && streq(set, "0")) &&
	       (efa_compare(e->installer, 1, 29) < 0 ||
		(!e->installer && efa_compare(e->fabric_version, 1, 19) < 0));
}

/* aws/aws-ofi-nccl#333: from then on the plug-in refuses. */
static bool is_refused_pair(const struct efa *e)
{
	return efa_compare(e->plugin_version, 1, 9) >= 0 && e->plugin_version &&
	       efa_compare(e->fabric_version, 1, 18) < 0;
}

static void pairs(struct efa *e)
{
	struct finding *f;

	if (is_memops_pair(e)) {
		f = efa_note(e, "efa.pair",
			     arena_printf(e->v->a, "NCCL %u.%u with %s %s", e->nccl / 10000,
					  e->nccl / 100 % 100,
					  e->installer ? "EFA installer" : "libfabric",
					  e->installer ? e->installer : e->fabric_version));
		finding_set(f, ST_FAIL,
			    "do not go together: registering GPU memory fails with \"Invalid "
			    "argument\"");
		finding_expect(f, "EFA installer 1.29 or later with NCCL 2.19 or later");
		finding_fix(f, "export FI_EFA_SET_CUDA_SYNC_MEMOPS=0   # until the EFA installer "
			       "is 1.29 or later");
	} else if (is_refused_pair(e)) {
		f = efa_note(e, "efa.pair",
			     arena_printf(e->v->a, "aws-ofi-nccl %s with libfabric %s",
					  e->plugin_version, e->fabric_version));
		finding_set(f, ST_FAIL,
			    "do not go together: the plug-in refuses, and NCCL uses TCP");
		finding_expect(f, "libfabric 1.18 or later");
		finding_fix(f, "sudo ./efa_installer.sh -y   # of a current EFA installer; or "
			       "aws-ofi-nccl 1.7.4");
	} else if (e->plugin_version && e->fabric_version) {
		finding_set(efa_note(e, "efa.pair",
				     arena_printf(e->v->a, "aws-ofi-nccl %s with libfabric %s",
						  e->plugin_version, e->fabric_version)),
			    ST_PASS, "no trouble is known of this pair");
	}
}

void efa_stack(struct efa *e)
{
	str_list path;

	folders(e->v->a, &path);
	installer(e);
	plugin(e, &path);
	fabric(e, &path);
	e->nccl = own_nccl(e->v->a);
	pairs(e);
}
