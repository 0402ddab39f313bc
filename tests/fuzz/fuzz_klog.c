/* Any bytes as the kernel's log: what is kept of it can be read, all of it, and has an action. */
#include "lib/host/klog.h"
#include "probes/node/xid.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void expect(bool truth)
{
	if (!truth)
		abort();
}

/* As a place in a message and in a command: short, and of its line. */
static void check_place(const char *line, const char *where)
{
	size_t n = strnlen(where, 16);

	expect(n && n < 16 && strstr(line, where));
}

static void check_line(const char *line)
{
	char where[16];
	bool flag;
	int code;

	if (xid_parse(line, where, &code)) {
		struct xid x;

		check_place(line, where);
		expect(code >= 0 && code <= 1000000);
		expect(xid_read(code, line, &x) == (x.meaning != NULL) || code == 154);
		expect(x.first <= code && code <= x.last && x.action <= XID_REBOOT);
	}
	if (sxid_parse(line, where, &code, &flag))
		check_place(line, where);
	if (aer_parse(line, where, &flag))
		check_place(line, where);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const words[] = {"Xid (", "PCIe Bus Error", "NVRM:"};
	AUTO(arena_done) struct arena a = {0};
	char *text = arena_strndup(&a, (const char *)data, n);
	klog_list lines = {0};

	/* a line that is whole, and one that goes on in the next read */
	klog_sift(&a, text, n, words, ARRAY_LEN(words), &lines);
	for (size_t i = 0; i < lines.n; i++) {
		expect(lines.v[i].text && !strchr(lines.v[i].text, '\n'));
		check_line(lines.v[i].text);
	}
	expect(lines.n <= KLOG_MAX);
	check_line(arena_strndup(&a, (const char *)data, n));
	return 0;
}
