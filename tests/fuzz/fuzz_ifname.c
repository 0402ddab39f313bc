/* NCCL's interface lists and NCCL_COMM_ID: any text is read within bounds and means one thing. */
#include "lib/host/sysroot.h"
#include "probes/rules/nccl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void expect(bool truth)
{
	if (!truth)
		abort();
}

/* A second reading, as the grammar is told in words: entries, ports, the first sixteen. */
static bool passes(const char *list, const char *name)
{
	bool negate = *list == '^', exact, hit = false;
	size_t count = 0;

	list += negate;
	exact = *list == '=';
	list += exact;
	while (*list && count < NCCL_MAX_IFS) {
		size_t entry = strcspn(list, ","), n = strcspn(list, ":,");

		if (n) {
			size_t shown = n < NCCL_NAME_SIZE ? n : NCCL_NAME_SIZE - 1;

			count++;
			hit |= strncmp(name, list, shown) == 0 && (!exact || !name[shown]);
		}
		list += entry + (list[entry] == ',');
	}
	return (hit || !count) != negate;
}

static void check_list(const char *list, const char *name)
{
	struct nccl_ifspec s;

	nccl_ifspec_parse(list, &s);
	expect(s.n <= NCCL_MAX_IFS && (!s.truncated || s.n == NCCL_MAX_IFS));
	for (size_t i = 0; i < s.n; i++)
		expect(s.prefix[i][0] && memchr(s.prefix[i], '\0', NCCL_NAME_SIZE));
	expect(nccl_ifspec_match(&s, name) == passes(list, name));
}

static void check_comm_id(const char *text)
{
	AUTO(arena_done) struct arena arena = {0};
	struct inventory inv = {.a = &arena};
	const struct rules_input in = {.inv = &inv};
	const char *why = NULL;
	union addr a;
	int r = nccl_comm_id_resolve(text, &in, &a, &why);

	expect((r == 0) == (why == NULL));
	expect(r || !nccl_comm_id_overrun(text, in.nccl_version));
	expect(r || a.sa.sa_family == AF_INET || a.sa.sa_family == AF_INET6);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *list = malloc(n + 1), *name;
	unsigned version;
	int64_t v;

	sysroot_set("/nonexistent"); /* no name is looked up */
	memcpy(list, data, n);
	list[n] = '\0';
	check_comm_id(list);
	(void)nccl_param_parse(list, &v);
	if (nccl_version_parse(list, &version) == 0)
		expect(version >= 1000);
	name = strchr(list, '\n');
	if (name)
		*name++ = '\0';
	check_list(list, name ? name : "eth0");
	free(list);
	return 0;
}
