#include "lib/cloud/https.h"

#include "lib/core/interrupt.h"
#include "lib/core/plugin.h"

int https_check_libcurl(unsigned number, const char *text, struct err *e)
{
	if (number >= 0x075600)
		return 0;
	err_set(e, ERR_ABSENT,
		"libcurl %s signs requests to AWS wrongly (before 7.86 it leaves the session token "
		"out), so none is sent",
		text);
	return err_hint(
		e, "install libcurl 7.86 or later, or let the aws command ask and judge what "
		   "it prints: aws ec2 describe-security-groups --group-ids sg-... | portcheck "
		   "--cloud --audit -");
}

bool https_is_interrupted(void) { return interrupt_pending() != 0; }

const struct https_plugin *https_load(struct arena *a, struct err *e)
{
	static const struct plugin_want want = {.name = "curl",
						.symbol = HTTPS_SYMBOL,
						.version = HTTPS_VERSION,
						.package = "libcurl4",
						.build = "libcurl4-openssl-dev"};
	const struct https_plugin *p = plugin_load(&want, a, e);
	const char *text = "";
	unsigned number;

	if (!p)
		return NULL;
	number = p->libcurl(&text);
	return https_check_libcurl(number, text, e) ? NULL : p;
}
