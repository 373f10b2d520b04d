#include "core/store/database/query.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "embedded.h"

#define QUERY_DIRECTORY "sql/queries/"
#define QUERY_MARK "-- name: "

static struct query *queries;
static size_t query_count;

static int compare_names(const char *a, size_t a_length, const char *b,
                         size_t b_length) {
  size_t shorter = a_length < b_length ? a_length : b_length;
  int order = memcmp(a, b, shorter);
  return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_queries(const void *a, const void *b) {
  const struct query *first = a, *second = b;
  return compare_names(first->name, first->name_length, second->name,
                       second->name_length);
}

static void add_query(const char *mark, const char *end) {
  const char *name = mark + strlen(QUERY_MARK);
  size_t name_length = strcspn(name, "\n");
  const char *text = name + name_length;
  queries = mem_grow(queries, query_count + 1, sizeof *queries);
  queries[query_count++] = (struct query){.name = name,
                                          .name_length = name_length,
                                          .text = text,
                                          .text_length = (size_t)(end - text)};
}

/* The next mark that starts a line, or NULL. */
static const char *next_mark(const char *from, const char *start) {
  for (const char *mark = strstr(from, QUERY_MARK); mark != NULL;
       mark = strstr(mark + 1, QUERY_MARK))
    if (mark == start || mark[-1] == '\n')
      return mark;
  return NULL;
}

static void split_file(const char *text) {
  const char *mark = next_mark(text, text);
  while (mark != NULL) {
    const char *following = next_mark(mark + 1, text);
    add_query(mark, following != NULL ? following : mark + strlen(mark));
    mark = following;
  }
}

static void split_all(void) {
  for (const struct embedded_file *file = embedded_files; file->path; file++)
    if (strncmp(file->path, QUERY_DIRECTORY, strlen(QUERY_DIRECTORY)) == 0)
      split_file(file->text);
  qsort(queries, query_count, sizeof *queries, compare_queries);
}

const struct query *query_all(size_t *count) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, split_all);
  *count = query_count;
  return queries;
}

int query_find(const char *name) {
  size_t count;
  const struct query *all = query_all(&count);
  struct query wanted = {.name = name, .name_length = strlen(name)};
  const struct query *found =
      bsearch(&wanted, all, count, sizeof *all, compare_queries);
  return found == NULL ? -1 : (int)(found - all);
}

const char *query_file(const char *path) { return embedded_find(path)->text; }
