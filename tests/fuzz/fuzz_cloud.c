/* Metadata documents and listings: the first byte chooses the parser. */
#include "lib/host/cloud_service.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void lines(struct arena *a, const char *text)
{
	size_t n = 0, most = strlen(text);
	const char *line;

	while (metadata_line(a, &text, &line))
		if (strpbrk(line, "\r\n") || n++ > most)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = {0};
	struct cloud c = {0};
	struct metadata m = {.a = &a, .cloud = &c, .depth = READ_CARDS};
	AUTO_FREE char *text = size ? strndup((const char *)data + 1, size - 1) : NULL;
	const char *word;

	if (!size)
		return 0;
	if (data[0] == 'g')
		(void)!gcp_parse(&m, text, strlen(text));
	else if (data[0] == 'a')
		(void)!azure_parse(&m, text, strlen(text));
	else
		lines(&a, text);
	word = metadata_word(&a, text, strlen(text));
	if (word && (!*word || strpbrk(word, " \t\r\n\x7f")))
		abort();
	for (size_t i = 0; i < c.map.n; i++)
		if (!c.map.v[i].public_addr.sa.sa_family || !c.map.v[i].private_addr.sa.sa_family)
			abort();
	for (size_t i = 0; i < c.cards.n; i++)
		if (c.cards.v[i].mac && strpbrk(c.cards.v[i].mac, " \t\r\n\x7f"))
			abort();
	return 0;
}
