#ifndef PROBES_HTML_PARTS_H
#define PROBES_HTML_PARTS_H
/* The sections of the page. Each writes nothing where there is nothing to show. */
#include "lib/cluster/hostlist.h"
#include "lib/core/text.h"
#include "lib/report/json.h"
#include "probes/html/html.h"

extern const char html_style[], html_script[];

/* Text with what HTML would take for its own made harmless. */
void html_text(struct text *t, const char *s);
/* "<section id=ID><h2>TITLE</h2>" */
void html_open(struct text *t, const char *id, const char *title);
void html_fixes(struct text *t, const cJSON *fixes);
void html_badge(struct text *t, const char *status);

/* Findings that several hosts have alike are one row. */
struct html_row {
	const cJSON *f; /* the first of them */
	host_list hosts;
};
typedef LIST(struct html_row) html_rows;
void html_fold(const cJSON *doc, struct arena *a, html_rows *ret);

/* The hosts of a run and what is known of each; a run on one host is a list of one. */
struct html_node {
	const char *host;
	const cJSON *data;
	const char *status; /* the worst that is said of it: fail, error, warn, pass */
};
typedef LIST(struct html_node) html_nodes;
void html_list_nodes(const cJSON *doc, struct arena *a, html_nodes *ret);
const char *html_stage_status(const cJSON *data, const char *stage);

void html_causes(const cJSON *doc, const html_rows *rows, struct arena *a, struct text *t);
void html_findings(const html_rows *rows, struct arena *a, struct text *t);
void html_topology(const html_nodes *nodes, struct arena *a, struct text *t);
void html_node_table(const html_nodes *nodes, struct arena *a, struct text *t);
void html_heat_maps(const cJSON *doc, struct arena *a, struct text *t);
void html_curves(const cJSON *doc, struct arena *a, struct text *t);
void html_environment(const cJSON *doc, const html_nodes *nodes, struct arena *a, struct text *t);

/* ---- a chart ---- */
struct html_point {
	double x, y;
};
struct html_line {
	const char *name;
	LIST(struct html_point) points;
};
typedef LIST(struct html_line) html_lines;
struct html_chart {
	const char *title, *x, *y; /* "size", "GB/s" */
	bool log, sizes;	   /* both axes logarithmic; x in bytes */
};
void html_draw(const struct html_chart *c, const html_lines *lines, struct text *t);

#endif
