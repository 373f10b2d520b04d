#include "core/process/descendants.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/process/process.h"

#define FREEZE_ROUNDS 16 /* a fork bomb is stopped within two or three */

struct node {
  pid_t pid, parent;
  char state;
  bool below; /* a descendant of the root */
};

struct table {
  struct node *nodes; /* sorted by pid */
  size_t count, capacity;
};

static void table_free(struct table *table) { free(table->nodes); }

/* Plain realloc: on a machine without memory the killing must go on, with what
 * is known so far. */
static struct node *table_add(struct table *table) {
  if (table->count == table->capacity) {
    size_t capacity = table->capacity == 0 ? 512 : table->capacity * 2;
    void *grown = realloc(table->nodes, capacity * sizeof *table->nodes);
    if (grown == NULL)
      return NULL;
    table->nodes = grown;
    table->capacity = capacity;
  }
  return &table->nodes[table->count++];
}

static void add_node(int proc, pid_t pid, void *context) {
  char text[512];
  if (process_read(proc, pid, "stat", text, sizeof text) < 0)
    return;
  const char *rest = strrchr(text, ')');
  int parent;
  char state;
  if (rest == NULL || sscanf(rest + 1, " %c %d", &state, &parent) != 2)
    return;
  struct node *place = table_add(context);
  if (place != NULL)
    *place = (struct node){pid, (pid_t)parent, state, false};
}

static int by_pid(const void *left, const void *right) {
  const pid_t *a = left, *b = right; /* a node begins with its pid */
  return (*a > *b) - (*a < *b);
}

static int table_read(struct table *table) {
  table->count = 0;
  if (process_each(add_node, table) < 0)
    return -1;
  if (table->count != 0)
    qsort(table->nodes, table->count, sizeof *table->nodes, by_pid);
  return 0;
}

static bool parent_is_below(const struct table *table, pid_t parent) {
  const struct node *found = bsearch(&parent, table->nodes, table->count,
                                     sizeof *table->nodes, by_pid);
  return found != NULL && found->below;
}

/* Marks generation after generation; pids mostly grow with the generation, so
 * two or three passes do. */
static void mark_below(struct table *table, pid_t root, const pid_t *spare,
                       size_t spare_count) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t i = 0; i < table->count; i++) {
      struct node *node = &table->nodes[i];
      if (node->below || node->pid == root ||
          (node->parent != root && !parent_is_below(table, node->parent)))
        continue;
      if (spare != NULL && bsearch(&node->pid, spare, spare_count,
                                   sizeof *spare, by_pid) != NULL)
        continue;
      node->below = changed = true;
    }
  }
}

static bool is_ended(const struct node *node) {
  return node->state == 'Z' || node->state == 'X';
}

static bool is_frozen(const struct node *node) {
  return is_ended(node) || node->state == 'T' || node->state == 't';
}

/* Sends the signal to all below that have not ended; how many those were. */
static int signal_below(const struct table *table, int number) {
  int count = 0;
  for (size_t i = 0; i < table->count; i++) {
    if (!table->nodes[i].below || is_ended(&table->nodes[i]))
      continue;
    kill(table->nodes[i].pid, number);
    count++;
  }
  return count;
}

static bool all_frozen(const struct table *table) {
  for (size_t i = 0; i < table->count; i++)
    if (table->nodes[i].below && !is_frozen(&table->nodes[i]))
      return false;
  return true;
}

int descendants_kill(pid_t root, const pid_t *spare, size_t spare_count) {
  CLEANUP(table_free) struct table table = {0};
  for (int round = 0; round < FREEZE_ROUNDS; round++) {
    if (table_read(&table) < 0)
      return -1;
    mark_below(&table, root, spare, spare_count);
    if (all_frozen(&table))
      break;
    signal_below(&table, SIGSTOP);
  }
  return signal_below(&table, SIGKILL);
}

int descendants_list(pid_t root, pid_t **ret) {
  CLEANUP(table_free) struct table table = {0};
  if (table_read(&table) < 0)
    return -1;
  mark_below(&table, root, NULL, 0);
  pid_t *pids = mem_array(table.count + 1, sizeof *pids);
  int count = 0;
  for (size_t i = 0; i < table.count; i++)
    if (table.nodes[i].below && !is_ended(&table.nodes[i]))
      pids[count++] = table.nodes[i].pid;
  *ret = pids;
  return count;
}
