#ifndef LIB_REPORT_LINE_H
#define LIB_REPORT_LINE_H
/* The parts of a line for a shell, as far as our fixes need them. */

/* Behind what is quoted from @p, a quote or a backslash, on. */
const char *line_skip_quoted(const char *p);
/* Its "# remark", which may have apostrophes; the end of the line where it has none. */
const char *line_remark(const char *line);

#endif
