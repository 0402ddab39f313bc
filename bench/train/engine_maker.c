/*
 * By what an engine computes. Other processors, versions and settings add up in another
 * order, and nothing is wrong with that: what they make is not compared bit by bit.
 */
#include "bench/train/engine_load.h"
#include "bench/train/random.h"

#include <link.h>
#include <stdlib.h>
#include <sys/stat.h>

static uint64_t hash_text(uint64_t hash, const char *s, size_t n)
{
	return random_mix(hash ^ hash_bytes(s, n));
}

/* Where several begin so, in any order. */
static bool begins_with_any(const char *s, const char *const *starts)
{
	while (*starts && !starts_with(s, *starts))
		starts++;
	return *starts;
}

static uint64_t of_settings(void)
{
	static const char *const starts[] = {"DNNL_",	     "ONEDNN_",		  "OMP_",
					     "NVIDIA_TF32_", "CUBLAS_WORKSPACE_", NULL};
	uint64_t sum = 0;

	for (char **v = environ; *v; v++)
		if (begins_with_any(*v, starts))
			sum += hash_text(0, *v, strlen(*v));
	return sum;
}

/* Of the instructions, those that computing may use. */
static uint64_t of_flags(char *list)
{
	static const char *const starts[] = {"avx", "amx", "fma", "f16c", "asimd", "sve", NULL};
	uint64_t sum = 0;

	for (char *rest = list, *s; (s = strsep(&rest, " \t:\n"));)
		if (begins_with_any(s, starts))
			sum += hash_text(0, s, strlen(s));
	return sum;
}

/* The first one: what differs within a machine differs on both sides. */
static uint64_t of_processor(void)
{
	static const char *const starts[] = {"vendor_id",  "cpu family", "model",	"stepping",
					     "cache size", "CPU part",	 "CPU variant", NULL},
				 *const flags[] = {"flags", "Features", NULL};
	FILE *in = fopen("/proc/cpuinfo", "re");
	uint64_t sum = 0;
	size_t room = 0;
	char *line = NULL;

	while (in && getline(&line, &room, in) > 1) {
		if (begins_with_any(line, starts))
			sum += hash_text(0, line, strlen(line));
		if (begins_with_any(line, flags))
			sum += of_flags(line);
	}
	free(line);
	if (in)
		(void)fclose(in);
	return sum;
}

static int add_library(struct dl_phdr_info *o, size_t size UNUSED, void *arg)
{
	uint64_t *hash = arg;
	struct stat st;

	if (o->dlpi_name && strstr(o->dlpi_name, "libdnnl") && !stat(o->dlpi_name, &st))
		*hash = random_mix(*hash ^ (uint64_t)st.st_size);
	return 0;
}

static uint64_t of_libraries(void)
{
	uint64_t hash = 0;

	(void)dl_iterate_phdr(add_library, &hash);
	return hash;
}

/* "NVIDIA H200 (GPU 3), ... cuDNN 9.10.2 (/usr/lib/...)": but for what is in parentheses. */
static uint64_t of_gpu(const char *text)
{
	uint64_t hash = 0;
	int depth = 0;

	for (const char *s = text; *s; s++) {
		depth += *s == '(';
		if (!depth)
			hash = random_mix(hash ^ (unsigned char)*s);
		depth -= *s == ')' && depth;
	}
	return hash;
}

uint64_t engine_maker(const struct engine_loaded *l)
{
	if (!l || !l->engine)
		return 0; /* all ranks take the same loops */
	if (l->engine->device)
		return random_mix(of_gpu(l->text ?: "") ^ of_settings());
	return random_mix(of_processor() ^ random_mix(of_libraries() ^ of_settings()));
}
