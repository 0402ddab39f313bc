#include "bench/train/product.h"

#include "bench/ranks/hosts.h"
#include "lib/core/file.h"
#include "lib/core/quote.h"
#include "lib/core/text.h"
#include "lib/report/chart.h"
#include "lib/report/json.h"

#include <math.h>

/* --- the picture -------------------------------------------------------------------- */

/* Behind its last step. */
static void draw(chart_lines *all, const char *name, const cJSON *list, const char *y,
		 struct arena *a)
{
	struct chart_line *l = LIST_ADD(a, all);

	l->name = name;
	for (const cJSON *o = list ? list->child : NULL; o; o = o->next)
		*LIST_ADD(a, &l->points) = (struct chart_point){json_get_num(o, "step", 0) + 1,
								json_get_num(o, y, NAN)};
}

static const char *title_of(const cJSON *data, struct arena *a)
{
	int ranks = cJSON_GetArraySize(json_get(json_get(data, "world"), "ranks"));

	return arena_printf(a, "ddpsmoke: loss of %s on %d rank%s",
			    json_get_str(json_get(data, "model"), "name") ?: "the model", ranks,
			    ranks == 1 ? "" : "s");
}

int product_plot(const cJSON *data, const char *path, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	struct chart_panel p = {{"", "step", "loss", .whole = true}, {0}};
	const char *svg;

	draw(&p.lines, "training", json_get(data, "steps"), "loss", &a);
	draw(&p.lines, "validation", json_get(data, "epochs"), "validation_loss", &a);
	svg = chart_svg(title_of(data, &a), &p, 1, &a);
	return file_replace(path, svg, strlen(svg), &(struct file_replace_opts){0}, e);
}

/* --- the command --------------------------------------------------------------------- */

const char *const product_launchers[] = {"torchrun", "accelerate", "srun", NULL};

struct nodes {
	int n, ranks;	/* hosts; ranks in all */
	int most;	/* ranks of one host */
	bool is_even;	/* as many on each */
	bool is_cyclic; /* rank 1 is on the second, not beside rank 0 */
	bool is_away;	/* a card carried it: also where it is one host, that is to be named */
	bool on_cpu;
	const char *hosts;  /* "node0,node1" */
	const char *first;  /* rank 0's address */
	const char *card;   /* interface that carried it; NULL: loopback */
	const char **cards; /* by host, as it calls its own: rank 0's, where it did not say */
	int port;	    /* that is free on rank 0's host */
};

static struct nodes count(const cJSON *data, struct arena *a)
{
	const cJSON *world = json_get(data, "world"), *list = json_get(world, "ranks");
	struct nodes n = {.ranks = cJSON_GetArraySize(list),
			  .card = json_get_str(world, "interface"),
			  .port = json_get_int(world, "free_port", 29500)};
	size_t room = ((size_t)n.ranks + 1) * sizeof(char *), i = 0, listed = 0;
	const char **names = arena_alloc(a, room), **addresses = arena_alloc(a, room),
		   **at = arena_alloc(a, room), **cards = arena_alloc(a, room);
	const cJSON *o;
	struct hosts h;

	cJSON_ArrayForEach (o, list) {
		n.first = n.first ? n.first : json_get_str(o, "address");
		n.on_cpu = streq(json_get_str(o, "device") ?: "cpu", "cpu");
		names[i] = json_get_str(o, "host") ?: "?";
		cards[i] = json_get_str(o, "interface");
		addresses[i++] = json_text(o, "address");
	}
	hosts_at(names, addresses, i, a, &h, at);
	n.cards = arena_alloc(a, room);
	for (size_t k = 0; k < i; k++) {
		n.is_cyclic |= k && h.of[k] < h.of[k - 1]; /* back to one that had its ranks */
		if (h.of[k] != listed)
			continue;
		n.cards[listed] = cards[k] ?: n.card;
		n.hosts = listed++ ? arena_printf(a, "%s,%s", n.hosts, at[k]) : at[k];
	}
	n.n = (int)h.n;
	n.most = (int)h.most;
	n.is_even = h.least == h.most;
	n.is_away = n.n > 1 || n.card;
	return n;
}

/* Slurm sorts its nodes: rank 0 is on the first of these, wherever it was here, and each node has
 * an interface of its own. Of one node any address of its own will do. */
static void add_srun(struct text *t, const struct nodes *n)
{
	bool many = n->n > 1;

	if (many)
		text_addf(t, "export MASTER_PORT=%d\n", n->port);
	else
		text_addf(t, "export MASTER_ADDR=%s MASTER_PORT=%d\n", n->first, n->port);
	text_addf(t, "srun --nodes %d --ntasks %d --ntasks-per-node %d%s%s%s sh -c \\\n  '", n->n,
		  n->ranks, n->most, n->is_cyclic ? " -m cyclic" : "",
		  n->is_away ? " --nodelist " : "", n->is_away ? n->hosts : "");
	if (many)
		text_add(t, "export MASTER_ADDR=$(scontrol show hostnames "
			    "\"$SLURM_STEP_NODELIST\" | head -n 1)\n   ");
	if (many && n->card)
		text_add(t, "eval \"$(ifprobe --suggest)\"\n   ");
	text_add(t, "RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID exec "
		    "python3 train.py'\n");
}

static void add_accelerate(struct text *t, const struct nodes *n)
{
	bool many = n->n > 1;

	text_addf(t,
		  "%saccelerate launch %s--num_machines %d --num_processes "
		  "%d%s%s%s train.py\n",
		  n->on_cpu && n->ranks > 1 ? "ACCELERATE_USE_CPU=true " : "",
		  n->ranks > 1 ? "--multi_gpu " /* only then it starts several */
		  : n->on_cpu  ? "--cpu "
			       : "",
		  n->n, n->n * n->most, many ? " --machine_rank $NODE --main_process_ip " : "",
		  many ? n->first : "",
		  many ? arena_printf(t->a, " --main_process_port %d", n->port) : "");
}

static void add_torchrun(struct text *t, const struct nodes *n)
{
	if (n->n > 1) /* with "_": torch before 2.0 knows no "-" there */
		text_addf(t,
			  "torchrun --nnodes %d --nproc_per_node %d --node_rank $NODE "
			  "--master_addr %s --master_port %d train.py\n",
			  n->n, n->most, n->first, n->port);
	else
		text_addf(t, "torchrun --standalone --nproc_per_node %d train.py\n", n->ranks);
}

static const char *settings(struct arena *a, const char *card)
{
	/* zsh looks for a command behind ==, too */
	return arena_printf(a, "export NCCL_SOCKET_IFNAME=%s GLOO_SOCKET_IFNAME=%s",
			    shell_quote(a, arena_printf(a, "=%s", card)), shell_quote(a, card));
}

/* "0|2", the hosts that call their card as the one at @first does; NULL: an earlier one does. */
static const char *with_card_of(struct arena *a, const struct nodes *n, int first)
{
	const char *all = NULL;

	for (int i = 0; i < n->n; i++) {
		if (!streq(n->cards[i], n->cards[first]))
			continue;
		if (i < first)
			return NULL;
		all = all ? arena_printf(a, "%s|%d", all, i) : arena_printf(a, "%d", i);
	}
	return all;
}

/* What is pasted on each host must be right on it. Gloo knows no list, and names of hosts may be
 * alike: what tells them apart is the number that each is given anyway. */
static void add_interface(struct text *t, const struct nodes *n)
{
	bool alike = true;

	for (int i = 1; i < n->n; i++)
		alike &= streq(n->cards[i], n->cards[0]);
	if (alike) {
		text_addf(t, "%s\n", settings(t->a, n->cards[0]));
		return;
	}
	text_add(t, "case $NODE in\n");
	for (int i = 0; i < n->n; i++) {
		const char *which = with_card_of(t->a, n, i);

		if (which)
			text_addf(t, "%s) %s ;;\n", which, settings(t->a, n->cards[i]));
	}
	text_add(t, "esac\n");
}

/* srun starts them there, as many as there were, and says itself what each needs. */
static void add_where(struct text *t, const struct nodes *n)
{
	if (n->n > 1 && !n->is_even)
		text_addf(t, "# the hosts had unlike numbers of ranks; this starts %d on each\n",
			  n->most);
	if (n->n > 1)
		text_addf(t, "# on each of %s, with NODE=0 to %d in this order\n", n->hosts,
			  n->n - 1);
	else if (n->is_away)
		text_addf(t, "# on %s\n", n->hosts);
	if (n->n > 1 && n->card)
		add_interface(t, n);
}

const char *product_emit(const cJSON *data, const char *launcher, struct arena *a)
{
	struct nodes n = count(data, a);
	struct text t;

	text_init(&t, a);
	if (!n.ranks || !n.first)
		return "";
	if (!streq(launcher, "srun"))
		add_where(&t, &n);
	if (streq(launcher, "srun"))
		add_srun(&t, &n);
	else if (streq(launcher, "accelerate"))
		add_accelerate(&t, &n);
	else
		add_torchrun(&t, &n);
	return t.s;
}
