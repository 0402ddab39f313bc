#ifndef PROBES_RULES_RULES_H
#define PROBES_RULES_RULES_H
/*
 * One module per foreign program (nccl, gloo, torch, openmpi, ucx): what it
 * would do on this host with the present settings, what is wrong with those
 * settings, and which setting would make it use a given interface. The list
 * of modules is made from the file names probes/rules/rules_*.c.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/host/hostname.h"
#include "lib/host/inventory.h"
#include "lib/host/rdma.h"
#include "lib/report/report.h"

/* --- where settings come from ------------------------------------------- */
struct setting {
	const char *name, *value;
	const char *origin; /* "environment", "/etc/nccl.conf:3", "~/.nccl.conf:1" */
};
typedef LIST(struct setting) setting_list;

/* A conf file, or the rest of one, that was not read. */
struct conf_trouble {
	const char *path, *why; /* "is a folder" */
	bool is_named;		/* by NCCL_CONF_FILE */
	enum {
		CONF_PASSED_OVER, /* NCCL goes on without it */
		CONF_UNSEEN,	  /* NCCL reads what is not looked at here */
		CONF_WAITS,	  /* NCCL waits for ever */
		CONF_NO_TEXT,	  /* NCCL reads it as if it were text; @why is a whole sentence */
	} nccl;
};

struct settings {
	struct arena *a;
	setting_list nccl; /* environment, then conf files, first setter first: what NCCL sees */
	LIST(struct setting) conf_lines; /* every assignment in conf files, in reading order */
	setting_list conf_junk; /* lines that set nothing: the text is the name, no value */
	LIST(struct conf_trouble) unreadable; /* conf files that exist but cannot be read */
	str_list files;			      /* conf files that were read */
};
/* Reads the environment and NCCL's conf files, with NCCL's own parser's rules. */
void settings_read(struct settings *s, struct arena *a);
/* As NCCL sees it (environment first, then conf files), or NULL. */
const struct setting *settings_nccl(const struct settings *s, const char *name);
/* Plain environment (Gloo, torch, Open MPI, UCX do not read nccl.conf), or NULL. */
const char *settings_env(const char *name);

/* --- what a program would do --------------------------------------------- */
enum outcome {
	OUTCOME_OK,
	OUTCOME_NONE,  /* nothing is left to choose from: the program's own "no interface" error */
	OUTCOME_FAILS, /* any other error */
};
const char *outcome_name(enum outcome o); /* "ok" "none" "fails" */

struct prediction {
	enum outcome outcome;
	const char *interface; /* the one that peers are told about (bootstrap); NULL when none */
	const char *address;   /* printed, with %scope for fe80 */
	str_list interfaces;   /* all that carry data, "eth0" "eth0:1" in order */
	str_list addresses;    /* beside interfaces */
	const char *rule; /* short id of the rule that chose: "automatic:not docker,lo,virbr" */
	const char *why;  /* a sentence for people */
	bool reachable;	  /* false: peers on other hosts could not reach it */
	const char *unreachable_why;
};

struct rules_input {
	struct inventory *inv;
	const struct settings *settings;
	const rdma_list *rdma;
	struct name_book *names; /* what names lead to, each asked for once; NULL: always asked */
	unsigned nccl_version;	 /* 22809 for 2.28.9; 0: the newest known */
	const char *master_addr; /* MASTER_ADDR, or NULL */
};

struct suggestion; /* probes/iface/suggest.h */

struct rules {
	const char *name;  /* "nccl": the key in data.predict */
	const char *title; /* "NCCL" */
	/* NULL where the program's choice cannot be told. */
	void (*predict)(const struct rules_input *in, struct prediction *ret);
	/* Adds findings lint.* about what is set now. */
	void (*check)(const struct rules_input *in, struct report *r);
	/* Adds this program's lines to a suggestion. */
	void (*suggest)(const struct rules_input *in, struct suggestion *s);
};
extern const struct rules *const rules_all[];
extern const size_t rules_count;
const struct rules *rules_find(const char *name);

#endif
