/* /etc/hosts and Open MPI's parameter files: any bytes, any name. */
#include "lib/host/hostname.h"
#include "probes/rules/ompi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The first line is the name that is looked for, the rest is the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	const uint8_t *eol = memchr(data, '\n', n);
	size_t name_n = eol ? (size_t)(eol - data) : n;
	const char *name = arena_strndup(&a, (const char *)data, name_n), *text, *value;
	struct name_answer answer = {0};

	n -= eol ? name_n + 1 : name_n;
	text = arena_strndup(&a, eol ? (const char *)eol + 1 : "", n);
	hosts_lookup(text, n, name, &a, &answer);
	if ((answer.source == NAME_HOSTS) != (answer.addrs.n > 0))
		abort();
	if (answer.addrs.n && !answer.canonical)
		abort();
	value = ompi_conf_get(text, n, name, &a);
	if (value && strchr(value, '\n'))
		abort();
	return 0;
}
