#include "lib/report/line.h"

#include <string.h>

const char *line_skip_quoted(const char *p)
{
	const char *end;

	if (*p == '\\' && p[1])
		return p + 2;
	if (*p == '\'') {
		end = strchr(p + 1, '\'');
		return end ? end + 1 : p + strlen(p);
	}
	for (end = p + 1; *end && *end != '"'; end++)
		end += *end == '\\' && end[1];
	return *end ? end + 1 : end;
}

const char *line_remark(const char *line)
{
	for (const char *p = line; *p;)
		if (strchr("'\"\\", *p))
			p = line_skip_quoted(p);
		else if (*p == '#' && (p == line || p[-1] == ' '))
			return p;
		else
			p++;
	return line + strlen(line);
}
