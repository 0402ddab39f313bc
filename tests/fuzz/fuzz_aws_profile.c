/* AWS's INI files, and the JSON that its services lend keys with: the first byte chooses. */
#include "lib/cloud/credentials.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *s)
{
	for (; *s; s++)
		if (*s <= ' ' || *s >= 0x7f)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = {0};
	struct credentials c = {.from = "x"};
	struct profile p = {0};
	struct err e = {0};
	char *text;

	if (!size)
		return 0;
	text = arena_strndup(&a, (const char *)data + 1, size - 1);
	if (data[0] == 'j') {
		if (!credentials_parse_json(text, size - 1, &c, &e) && (!*c.key_id || !*c.secret))
			abort();
	} else {
		profile_parse(text, "dev", data[0] == 'c', &a, &p);
		if (credentials_set(&c, p.key_id, p.secret, p.token, &e) && *c.secret)
			abort();
	}
	check(c.key_id);
	check(c.secret);
	check(c.token);
	return 0;
}
