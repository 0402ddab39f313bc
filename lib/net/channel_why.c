#include "lib/net/channel_why.h"

#include "lib/core/units.h"

#include <errno.h>

static const char *peer_name(const struct channel *c, struct addr_text *buf)
{
	return c->peer.sa.sa_family ? addr_print_port(&c->peer, buf) : "the peer";
}

void why_lost(struct channel *c, int error, struct err *e)
{
	struct addr_text buf;
	const char *peer = peer_name(c, &buf);

	c->error = errno = error;
	if (c->connecting)
		err_sys(e, "cannot connect to %s", peer);
	else if (error)
		err_sys(e, "the connection to %s broke", peer);
	else if (c->open)
		err_set(e, ERR_SYS, "%s closed the connection", peer);
	else
		err_set(e, ERR_SYS, "%s closed the connection before it had proved itself", peer);
}

void why_late(struct channel *c, struct err *e)
{
	struct unit_buf time;
	struct addr_text buf;

	c->error = ETIMEDOUT;
	err_set(e, ERR_SYS,
		c->connecting ? "%s did not answer within %s"
			      : "%s did not prove itself within %s: it is not windsock, or hangs",
		peer_name(c, &buf), format_duration(&time, c->deadline_ns));
}

void why_of(struct channel *c, int error, const char *what, struct err *e)
{
	struct addr_text buf;

	c->error = error;
	err_set(e, ERR_SYS, "%s %s", peer_name(c, &buf), what);
}

void why_finished(struct channel *c, struct err *e)
{
	c->error = 0;
	err_set(e, ERR_NONE, "the connection was closed in order");
}

void why_refused(struct channel *c, struct err *e)
{
	const struct err said = *e;
	struct addr_text buf;

	c->error = EPROTO;
	err_set(e, ERR_SYS, "%s: %s", peer_name(c, &buf), said.msg);
	err_hint_of(e, &said);
}
