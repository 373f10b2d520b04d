#include "core/store/leader.h"

#include "core/base/mem.h"
#include "core/store/database/pool.h"
#include "core/store/database/record.h"

struct leader {
  char *id;
  int64_t pid, pid_start;
};
static const struct field leader_fields[] = {
    FIELD(struct leader, id, FIELD_TEXT),
    FIELD(struct leader, pid, FIELD_INTEGER),
    FIELD(struct leader, pid_start, FIELD_INTEGER),
};
static const struct shape leader_shape = {
    leader_fields, COUNT_OF(leader_fields), sizeof(struct leader)};

static int list_leaders(struct store *store, const char *statement,
                        struct leader **ret, size_t *count, struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  return record_list(db_statement(read.db, statement), &leader_shape,
                     (void **)ret, count, err);
}

int leader_close_dead(struct store *store, const char *statement,
                      bool (*alive)(int64_t pid, int64_t pid_start),
                      int (*close)(struct store *store, const char *instance,
                                   const void *context, struct err *err),
                      const void *context, struct err *err) {
  struct leader *leaders;
  size_t count;
  if (list_leaders(store, statement, &leaders, &count, err) < 0)
    return -1;
  int total = 0;
  for (size_t i = 0; i < count && total >= 0; i++) {
    if (alive(leaders[i].pid, leaders[i].pid_start))
      continue;
    int closed = close(store, leaders[i].id, context, err);
    total = closed < 0 ? -1 : total + closed;
  }
  record_list_free(&leader_shape, leaders, count);
  return total;
}
