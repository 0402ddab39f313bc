#ifndef PROBES_HTML_PARTS_H
#define PROBES_HTML_PARTS_H
/* The sections of the page. Each writes nothing where there is nothing to show. */
#include "lib/cluster/hostlist.h"
#include "lib/core/text.h"
#include "lib/report/chart.h"
#include "lib/report/json.h"
#include "probes/html/html.h"

extern const char html_style[], html_script[];

/* What a square of the map of who reaches whom means: for its key, and for the script. */
#define HTML_REACHED "every port answers"
#define HTML_IN_PART "some ports do not"
#define HTML_UNREACHED "none answers"
#define HTML_UNTESTED "not tested"

/* "<section id=ID><h2>TITLE</h2>" */
void html_open(struct text *t, const char *id, const char *title);
/* A table that scrolls in its own box, for the keyboard too; html_table_end() closes it. */
void html_table(struct text *t, const char *label, bool tall);
void html_table_end(struct text *t);
/* Of a finding. @one: these are the words of this host, others have their own; NULL: of all. */
void html_fixes(struct text *t, const cJSON *f, const char *one);
void html_badge(struct text *t, const char *status);

/* The run itself, for programs. */
void html_embed(const cJSON *doc, struct text *t);

/* Findings that several hosts have alike are one row; so are many that differ in numbers. */
struct html_row {
	const cJSON *f;	  /* the first of them */
	const char *said; /* what all of them say */
	bool range;	  /* in other numbers each */
	bool own_fix;	  /* what each has to type is not the same */
	size_t at;	  /* in the order of the document */
	host_list hosts;
};
typedef LIST(struct html_row) html_rows;
void html_fold(const cJSON *doc, struct arena *a, html_rows *ret);

/* The hosts of a run, or of its ranks, and what is known of each; a run on one host is a list
 * of one. */
struct html_node {
	const char *host;
	const cJSON *data;
	const char *status;  /* the worst that is said of it: fail, error, warn, pass */
	const char *address; /* of its first rank, where the run is one of ranks; or NULL */
	int ranks;
};
typedef LIST(struct html_node) html_nodes;
void html_list_nodes(const cJSON *doc, struct arena *a, html_nodes *ret);
const char *html_stage_status(const cJSON *data, const char *stage);

void html_causes(const cJSON *doc, const html_rows *rows, struct arena *a, struct text *t);
void html_findings(const html_rows *rows, struct arena *a, struct text *t);
void html_topology(const html_nodes *nodes, struct arena *a, struct text *t);
void html_node_table(const cJSON *doc, const html_nodes *nodes, struct arena *a, struct text *t);
void html_heat_maps(const cJSON *doc, struct arena *a, struct text *t);
/* What was measured between pairs; false: nothing was. */
bool html_pairs(const cJSON *doc, struct arena *a, struct text *t);
void html_curves(const cJSON *doc, struct arena *a, struct text *t);
void html_environment(const cJSON *doc, const html_nodes *nodes, struct arena *a, struct text *t);

/* ---- each to each, as squares ---- */
enum { HTML_HEAT = 8 }; /* colours of a heat map: nothing, then from best to worst */
struct html_grid {
	size_t n;
	unsigned char *v; /* n * n colours; 0: nothing */
	const char *const *classes;
	size_t nclasses;
	const char *const *hosts; /* n names, for those of few; NULL: none */
};
/* As they may stand beside it: without what all begin and end with where one is long, and none much
 * longer than 16 letters. "..." stands for what is left out. */
const char *const *html_short_names(const char *const *names, size_t n, struct arena *a);
size_t html_grid_count(const struct html_grid *g, unsigned colour);
/* @map: by which name the script finds the words for a square, to be said where the arrow
 * keys and the pointer are; NULL: it is a picture only. */
void html_grid_draw(const struct html_grid *g, const char *label, const char *map, struct text *t);
void html_grid_key(const struct html_grid *g, const char *const *names, struct text *t);
/* Squares of many hosts each, where there are many; the number of squares on a side. */
size_t html_grid_coarsen(double *v, size_t n, bool more_is_better);
struct html_scale {
	const char *unit;
	bool more_is_better;
	double harmless; /* up to this nothing is in the worst colours, whatever the others have */
};
/* Colours for positive numbers (others: none) on a logarithmic scale, and the HTML_HEAT names
 * for the key; false: there is no number. */
bool html_grid_heat(struct html_grid *g, const double *v, const struct html_scale *scale,
		    struct arena *a, const char **ret_names);
/* The same for shares of something lost, from 0 to 1. */
void html_grid_shares(struct html_grid *g, const double *v, const char **ret_names);

/* ---- a chart ---- */
void html_draw(const struct chart *c, const chart_lines *lines, struct text *t);

#endif
