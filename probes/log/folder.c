#include "probes/log/folder.h"

#include "lib/core/log.h"
#include "lib/core/packed.h"
#include "lib/core/quote.h"
#include "probes/log/endless.h"
#include "probes/log/path.h"
#include "probes/log/source.h"

#include <dirent.h>
#include <sys/stat.h>

/* Weights and data, which lie beside the log in a job's folder. (Not .pkl: dumps are called so.) */
const char *const folder_data_ends[] = {".pt",	".pth",	    ".ckpt",  ".safetensors", ".distcp",
					".bin", ".gguf",    ".onnx",  ".npy",	      ".npz",
					".h5",	".parquet", ".arrow", ".idx",	      NULL};

/* (Not .json: collectors write logs so, and programs dumps.) */
static const char *const code_ends[] = {
	".py",	 ".pyc", ".pyi", ".sh",	  ".c",	    ".cc",    ".cpp",  ".cu",
	".h",	 ".hpp", ".rs",	 ".go",	  ".js",    ".ts",    ".html", ".css",
	".svg",	 ".md",	 ".rst", ".tex",  ".yml",   ".yaml",  ".ini",  ".cfg",
	".toml", ".csv", ".tsv", ".diff", ".patch", ".ipynb", NULL};

/* A file that may be read, or the folder of an attempt. */
struct found {
	const char *path;
	struct timespec changed;
	bool is_empty, is_link;
	dev_t device;
	ino_t inode;
	long attempt; /* -1: of none */
	size_t run;   /* of its attempt: index into walk.runs */
};

/* A folder that has attempts. */
struct run {
	const char *path, *parent;
	long newest; /* attempt that has something; -1: none has */
	struct timespec began, ended;
	bool is_over; /* before another of its parent began */
};

struct walk {
	struct arena *a;
	struct folder *to;
	LIST(struct found) files;
	LIST(struct found) attempts;
	LIST(struct run) runs;
	size_t seen;
	bool is_kept; /* of hosts: what is hidden was asked for */
};

static bool has_end(const char *name, const char *const *ends)
{
	for (size_t i = 0; ends[i]; i++)
		if (ends_with(name, ends[i]))
			return true;
	return false;
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

static const char *below(struct arena *a, const char *folder, const char *name)
{
	return arena_printf(a, "%s%s%s", folder, ends_with(folder, "/") ? "" : "/", name);
}

static void leave(struct walk *w, enum folder_left kind, const char *path)
{
	*LIST_ADD(w->a, &w->to->left[kind]) = path;
}

/* --- what there is ------------------------------------------------------------------------- */
/* Where it is in the walk. */
struct spot {
	size_t depth, run;
	long attempt;
};

/* "x.log.gz" beside "x.log": gunzip -k leaves both. */
static bool is_unpacked(struct walk *w, const char *path)
{
	const struct packed *by = packed_named(path);

	return by && !by->into &&
	       !access(arena_strndup(w->a, path, strlen(path) - strlen(by->end)), F_OK);
}

static void take_file(struct walk *w, const char *path, const char *name, const struct stat *st,
		      bool is_link, const struct spot *at)
{
	if (at->attempt >= 0 &&
	    starts_with(name, "filtered_std")) /* some lines of the ranks', again */
		return;
	if (is_unpacked(w, path))
		return;
	if (has_end(name, folder_data_ends) || source_is_data(path))
		leave(w, LEFT_DATA, path);
	else if (at->depth && has_end(name, code_ends))
		leave(w, LEFT_CODE, path);
	else if (w->files.n == FOLDER_FILES)
		w->to->is_cut = true;
	else
		*LIST_ADD(w->a, &w->files) = (struct found){.path = path,
							    .changed = st->st_mtim,
							    .is_empty = !st->st_size,
							    .is_link = is_link,
							    .device = st->st_dev,
							    .inode = st->st_ino,
							    .attempt = at->attempt,
							    .run = at->run};
}

/* A folder "attempt_0": what is in it is of that one. */
static void begin_attempt(struct walk *w, const char *folder, const char *path,
			  const struct stat *st, long attempt, struct spot *in)
{
	size_t i = 0;

	while (i < w->runs.n && !streq(w->runs.v[i].path, folder))
		i++;
	if (i == w->runs.n) {
		const char *slash = strrchr(folder, '/');

		*LIST_ADD(w->a, &w->runs) = (struct run){
			.path = folder,
			.parent =
				slash ? arena_strndup(w->a, folder, (size_t)(slash - folder)) : "",
			.newest = -1};
	}
	in->run = i;
	in->attempt = attempt;
	*LIST_ADD(w->a, &w->attempts) =
		(struct found){.path = path, .changed = st->st_mtim, .attempt = attempt, .run = i};
}

static int go_through(struct walk *w, const char *folder, const struct spot *at);

static void take_folder(struct walk *w, const char *folder, const char *path, const char *name,
			const struct stat *st, const struct spot *at)
{
	struct err unsaid = {.kind = ERR_NONE};
	struct spot in = *at;

	in.depth++;
	if (path_attempt(name) >= 0)
		begin_attempt(w, folder, path, st, path_attempt(name), &in);
	if (endless_refuse_folder(path, &unsaid)) /* /proc, where / is named */
		leave(w, LEFT_DATA, path);
	else if (in.depth < FOLDER_DEPTH)
		(void)go_through(w, path, &in); /* one that is closed to us has nothing to read */
	else
		w->to->is_cut = true;
}

static void take(struct walk *w, const char *folder, const char *name, const struct spot *at)
{
	const char *path = below(w->a, folder, name);
	struct stat st, target;
	bool is_link;

	if (streq(name, ".") || streq(name, "..") || lstat(path, &st))
		return;
	is_link = S_ISLNK(st.st_mode) && !at->depth && !stat(path, &target) &&
		  S_ISREG(target.st_mode);
	if (is_link)
		st = target;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return;
	if (*name == '.' && !w->is_kept)
		leave(w, LEFT_HIDDEN, path);
	else if (!at->depth && streq(name, KEPT_MARK))
		return;
	else if (S_ISREG(st.st_mode))
		take_file(w, path, name, &st, is_link, at);
	else
		take_folder(w, folder, path, name, &st, at);
}

static int go_through(struct walk *w, const char *folder, const struct spot *at)
{
	struct dirent **names = NULL;
	int n = scandir(folder, &names, NULL, versionsort); /* 2 before 10 */

	for (int i = 0; i < n; i++) {
		if (w->seen++ < FOLDER_NAMES)
			take(w, folder, names[i]->d_name, at);
		else
			w->to->is_cut = true;
		free(names[i]);
	}
	free(names);
	return n < 0 ? -1 : 0;
}

/* --- which of it --------------------------------------------------------------------------- */
static void note_times(struct walk *w)
{
	for (size_t i = 0; i < w->files.n; i++) {
		const struct found *f = &w->files.v[i];
		struct run *r = f->attempt >= 0 ? &w->runs.v[f->run] : NULL;

		if (r && !f->is_empty && f->attempt > r->newest)
			r->newest = f->attempt;
	}
	for (size_t i = 0; i < w->attempts.n; i++)
		if (w->attempts.v[i].attempt == w->runs.v[w->attempts.v[i].run].newest)
			w->runs.v[w->attempts.v[i].run].began = w->attempts.v[i].changed;
	for (size_t i = 0; i < w->files.n; i++) {
		const struct found *f = &w->files.v[i];
		struct run *r = f->attempt >= 0 ? &w->runs.v[f->run] : NULL;

		if (!r || f->attempt != r->newest)
			continue;
		if (is_before(&r->ended, &f->changed))
			r->ended = f->changed;
		if (is_before(&f->changed, &r->began)) /* the folder was copied */
			r->began = f->changed;
	}
}

/* Those of one job run at once, on its nodes; an earlier one had ended. */
static void end_runs(struct walk *w)
{
	for (size_t i = 0; i < w->runs.n; i++)
		for (size_t k = 0; k < w->runs.n; k++) {
			struct run *r = &w->runs.v[i], *later = &w->runs.v[k];

			r->is_over |= later->newest >= 0 && r->newest >= 0 &&
				      streq(r->parent, later->parent) &&
				      is_before(&r->ended, &later->began);
		}
}

/* Of one with nothing in it there is nothing to say. */
static bool is_earlier(const struct walk *w, const struct found *f)
{
	const struct run *r = f->attempt >= 0 ? &w->runs.v[f->run] : NULL;

	return r && r->newest >= 0 && (r->is_over || f->attempt < r->newest);
}

/* The same by another name, of which one is enough: its own, as that says whose it is. */
static bool is_again(const struct walk *w, size_t i)
{
	const struct found *f = &w->files.v[i];

	for (size_t k = 0; k < w->files.n; k++) {
		const struct found *o = &w->files.v[k];

		if (k != i && o->inode == f->inode && o->device == f->device &&
		    (o->is_link == f->is_link ? k < i : f->is_link))
			return true;
	}
	return false;
}

static void choose(struct walk *w)
{
	note_times(w);
	end_runs(w);
	for (size_t i = 0; i < w->attempts.n; i++)
		if (is_earlier(w, &w->attempts.v[i]))
			leave(w, LEFT_EARLIER, w->attempts.v[i].path);
	for (size_t i = 0; i < w->files.n; i++)
		if (!is_earlier(w, &w->files.v[i]) && !is_again(w, i))
			*LIST_ADD(w->a, &w->to->files) = w->files.v[i].path;
}

int folder_files(const char *path, struct arena *a, struct folder *ret, struct err *e)
{
	static const struct spot top = {.attempt = -1};
	struct walk w = {.a = a, .to = ret};
	size_t before = ret->files.n;
	struct kept kept;
	struct stat st;

	if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
		*LIST_ADD(a, &ret->files) = path; /* who opens it says what is wrong with it */
		return 0;
	}
	if (endless_refuse_folder(path, e))
		return -1;
	w.is_kept = kept_open(path, a, &kept);
	if (w.is_kept)
		*LIST_ADD(a, &ret->kept) = kept;
	if (go_through(&w, path, &top))
		return source_refused(path, e);
	choose(&w);
	if (ret->files.n > before)
		return 0;
	return err_set(e, ERR_SYS, "no file in %s can be read as a log", path);
}

/* --- what is said -------------------------------------------------------------------------- */
void folder_say(const struct folder *f, const char *reader)
{
	/* of one, and of several */
	static const char *const words[LEFT_EARLIER][2] = {
		{"file of weights or data", "files of weights or data"},
		{"file of code or settings below", "files of code or settings below"},
		{"hidden file or folder", "hidden files and folders"}};
	AUTO(arena_done) struct arena a = {0};
	const str_list *earlier = &f->left[LEFT_EARLIER];
	const char *last;

	for (size_t i = 0; i < LEFT_EARLIER; i++)
		if (f->left[i].n)
			log_say("left out %zu %s, such as %s", f->left[i].n,
				words[i][f->left[i].n > 1], f->left[i].v[0]);
	last = earlier->n ? shell_quote(&a, earlier->v[earlier->n - 1]) : NULL;
	if (last)
		log_say("left out %zu earlier attempt%s of torchrun; %s%s%s", earlier->n,
			earlier->n == 1 ? "" : "s",
			reader ? "to read it: " : "it is read where it is named: ",
			reader ? arena_printf(&a, "%s ", reader) : "", last);
	if (f->is_cut)
		log_warn("there are more files than %d, or deeper ones than %d folders: name the "
			 "folders that matter",
			 FOLDER_FILES, FOLDER_DEPTH);
}
