#include "lib/host/port_range.h"

#include "lib/host/sysroot.h"

enum { DEFAULT_FIRST = 32768, DEFAULT_LAST = 60999 };

struct port_range port_range_of(unsigned first, unsigned last)
{
	if (!first || first > last || last > UINT16_MAX)
		return (struct port_range){DEFAULT_FIRST, DEFAULT_LAST, false};
	return (struct port_range){(uint16_t)first, (uint16_t)last, true};
}

struct port_range port_range_read(struct arena *a)
{
	const char *line = sysroot_line(a, "/proc/sys/net/ipv4/ip_local_port_range");
	unsigned first = 0, last = 0;

	if (line)
		(void)sscanf(line, "%u %u", &first, &last);
	return port_range_of(first, last);
}
