#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/jupyter/kernelspec.h"

/* A directory that holds a kernel.json, under the name by which it is found. */
struct candidate {
  char *name;
  char *directory;
};

struct search {
  struct candidate *candidates;
  size_t count;
};

static void search_free(struct search *search) {
  for (size_t i = 0; i < search->count; i++) {
    free(search->candidates[i].name);
    free(search->candidates[i].directory);
  }
  free(search->candidates);
  *search = (struct search){0};
}

/* The name in lower case, or NULL when no kernelspec may be called so. */
static char *normal_name(const char *text) {
  CLEANUP(mem_free_pointer) char *name = mem_copy_text(text);
  for (char *at = name; *at != '\0'; at++) {
    if (*at >= 'A' && *at <= 'Z')
      *at = (char)(*at - 'A' + 'a');
    if (!(*at >= 'a' && *at <= 'z') && !(*at >= '0' && *at <= '9') &&
        strchr("._-", *at) == NULL)
      return NULL;
  }
  if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
    return NULL;
  return MEM_STEAL(name);
}

static const struct candidate *search_look_up(const struct search *search,
                                              const char *name) {
  for (size_t i = 0; i < search->count; i++)
    if (strcmp(search->candidates[i].name, name) == 0)
      return &search->candidates[i];
  return NULL;
}

static void search_add(struct search *search, const char *parent,
                       const char *entry) {
  CLEANUP(mem_free_pointer) char *name = normal_name(entry);
  if (name == NULL || search_look_up(search, name) != NULL)
    return;
  CLEANUP(mem_free_pointer)
  char *file = mem_format("%s/%s/kernel.json", parent, entry);
  struct stat status;
  if (stat(file, &status) != 0 || !S_ISREG(status.st_mode))
    return;
  search->candidates = mem_grow(search->candidates, search->count + 1,
                                sizeof *search->candidates);
  search->candidates[search->count++] = (struct candidate){
      .name = MEM_STEAL(name),
      .directory = mem_format("%s/%s", parent, entry),
  };
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static void search_directory(struct search *search, const char *directory) {
  CLEANUP(mem_free_pointer)
  char *absolute =
      *directory == '/' ? mem_copy_text(directory) : realpath(directory, NULL);
  struct dirent **entries = NULL;
  int count =
      absolute == NULL ? -1 : scandir(absolute, &entries, NULL, by_name);
  for (int i = 0; i < count; i++) {
    search_add(search, absolute, entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
}

/* Each directory of a colon-separated list, with `suffix` behind it. */
static void search_list(struct search *search, const char *list,
                        const char *suffix) {
  while (list != NULL && *list != '\0') {
    size_t length = strcspn(list, ":");
    CLEANUP(mem_free_pointer)
    char *directory = mem_format("%.*s%s", (int)length, list, suffix);
    if (length != 0)
      search_directory(search, directory);
    list += length + (list[length] == ':');
  }
}

static void search_home(struct search *search, const char *beneath) {
  const char *home = getenv("HOME");
  if (home == NULL || *home == '\0')
    return;
  CLEANUP(mem_free_pointer) char *directory = mem_format("%s%s", home, beneath);
  search_directory(search, directory);
}

static void search_everywhere(struct search *search, const char *extra) {
  search_list(search, extra, "");
  search_list(search, getenv("JUPYTER_PATH"), "/kernels");
  const char *data = getenv("JUPYTER_DATA_DIR");
  if (data != NULL && *data != '\0') {
    CLEANUP(mem_free_pointer) char *kernels = mem_format("%s/kernels", data);
    search_directory(search, kernels);
  } else {
    search_home(search, "/.local/share/jupyter/kernels");
  }
  search_directory(search, "/usr/local/share/jupyter/kernels");
  search_directory(search, "/usr/share/jupyter/kernels");
  search_home(search, "/.ipython/kernels");
}

/* Not fs_read_file: kernelspecs are installed by the administrator, who may
 * use symbolic links (`jupyter kernelspec install --symlink`). */
static int load(const struct candidate *candidate, struct kernelspec **ret,
                struct err *err) {
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/kernel.json", candidate->directory);
  CLEANUP(mem_close_descriptor)
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  if (file < 0)
    return err_errno(err, ERR_IO, errno, "cannot read %s", path);
  if (fs_read_all(file, &text, err) < 0)
    return err_wrap(err, "%s", path);
  return kernelspec_parse(buf_string(&text), text.length, candidate->name,
                          candidate->directory, ret, err);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(((const struct candidate *)a)->name,
                ((const struct candidate *)b)->name);
}

static void search_sort(struct search *search) {
  if (search->count != 0)
    qsort(search->candidates, search->count, sizeof *search->candidates,
          compare_names);
}

static int not_found(struct search *search, const char *name, struct err *err) {
  search_sort(search);
  CLEANUP(buf_free) struct buf names = BUF_INIT(BUF_SMALL);
  for (size_t i = 0; i < search->count; i++)
    buf_format(&names, "%s%s", i == 0 ? "" : ", ", search->candidates[i].name);
  char text[FS_PRINTABLE];
  return err_set(err, ERR_NOT_FOUND, "no kernelspec \"%s\" here; there %s: %s",
                 fs_printable(name, text), search->count == 1 ? "is" : "are",
                 search->count == 0 ? "none" : buf_string(&names));
}

int kernelspec_find(const char *extra, const char *name,
                    struct kernelspec **ret, struct err *err) {
  CLEANUP(search_free) struct search search = {0};
  search_everywhere(&search, extra);
  CLEANUP(mem_free_pointer) char *normal = normal_name(name);
  const struct candidate *candidate =
      normal == NULL ? NULL : search_look_up(&search, normal);
  if (candidate == NULL)
    return not_found(&search, name, err);
  return load(candidate, ret, err);
}

int kernelspec_list(const char *extra, struct kernelspec ***ret, size_t *count,
                    struct err *err) {
  (void)err; /* what cannot be read is not there */
  CLEANUP(search_free) struct search search = {0};
  search_everywhere(&search, extra);
  search_sort(&search);
  struct kernelspec **list = mem_array(search.count, sizeof(*list));
  size_t found = 0;
  for (size_t i = 0; i < search.count; i++)
    found += load(&search.candidates[i], &list[found], NULL) == 0;
  *ret = list;
  *count = found;
  return 0;
}
