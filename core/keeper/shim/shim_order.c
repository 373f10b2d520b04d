#include "core/keeper/shim/shim_order.h"

#include <stdint.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/jail/layers/jail_filter.h"

/* In front of the texts. Pointers mean nothing at the other end: each is set
 * anew there. */
struct head {
  struct shim_order order;
  uint32_t texts[3]; /* how many argv, environment and read_only have */
  uint32_t filter;   /* bytes; 0: there is none */
  bool group, read_only;
};

struct places {
  int *list[SHIM_ORDER_DESCRIPTORS];
  int count;
};

/* The places of the descriptors, always in the same order. */
static struct places descriptor_places(struct shim_order *order, int *report) {
  struct jail *jail = &order->jail;
  struct places places = {{report, &order->directory}, 2};
  int *const optional[] = {&order->attendance, &jail->workspace_owner,
                           &jail->group_directory};
  for (size_t i = 0; i < COUNT_OF(optional); i++)
    if (*optional[i] > 0)
      places.list[places.count++] = optional[i];
  for (int i = 0; i < jail->entry_count; i++)
    places.list[places.count++] = &jail->entries[i];
  return places;
}

static uint32_t list_length(char *const *list) {
  uint32_t length = 0;
  while (list != NULL && list[length] != NULL)
    length++;
  return length;
}

static void pack_text(struct buf *out, const char *text) {
  buf_append(out, text, strlen(text) + 1);
}

static void pack_list(struct buf *out, char *const *list) {
  for (; list != NULL && *list != NULL; list++)
    pack_text(out, *list);
}

static void pack_jail(struct buf *out, const struct jail *jail) {
  pack_text(out, jail->workspace == NULL ? "" : jail->workspace);
  pack_text(out, jail->run == NULL ? "" : jail->run);
  if (jail->group != NULL) {
    cgroup_describe(jail->group, out);
    buf_append(out, "", 1);
  }
  if (jail->filter != NULL)
    buf_append(out, jail->filter->program.data, jail->filter->program.length);
}

int shim_order_pack(const struct shim_order *order, int report, struct buf *out,
                    int ret[SHIM_ORDER_DESCRIPTORS]) {
  const struct jail *jail = &order->jail;
  struct head head;
  memset(&head, 0, sizeof head);
  head.order = *order;
  head.texts[0] = list_length(order->argv);
  head.texts[1] = list_length(order->environment);
  head.texts[2] = list_length(jail->read_only);
  head.read_only = jail->read_only != NULL;
  head.group = jail->group != NULL;
  if (jail->filter != NULL)
    head.filter = (uint32_t)jail->filter->program.length;
  struct places places = descriptor_places(&head.order, &report);
  for (int i = 0; i < places.count; i++)
    ret[i] = *places.list[i];
  buf_append(out, &head, sizeof head);
  pack_text(out, order->title);
  pack_text(out, order->working_directory);
  pack_list(out, order->argv);
  pack_list(out, order->environment);
  pack_list(out, jail->read_only);
  pack_jail(out, jail);
  return out->overflowed ? -1 : places.count;
}

struct reader {
  const char *at, *end;
  bool failed;
};

static const char *read_text(struct reader *reader) {
  const char *text = reader->at;
  const char *end = memchr(text, '\0', (size_t)(reader->end - text));
  reader->failed = reader->failed || end == NULL;
  if (reader->failed)
    return "";
  reader->at = end + 1;
  return text;
}

static char **read_list(struct reader *reader, uint32_t count) {
  char **list = mem_array((size_t)count + 1, sizeof *list);
  for (uint32_t i = 0; i < count; i++)
    list[i] = (char *)read_text(reader);
  return list;
}

static void read_filter(struct reader *reader, size_t length,
                        struct jail *jail) {
  reader->failed =
      reader->failed || (size_t)(reader->end - reader->at) != length;
  jail->filter = NULL;
  if (reader->failed || length == 0)
    return;
  struct jail_filter *filter = mem_new(sizeof *filter);
  filter->program = (struct buf)BUF_INIT(BUF_SMALL);
  buf_append(&filter->program, reader->at, length);
  jail->filter = filter;
}

static void read_jail(struct reader *reader, const struct head *head,
                      struct jail *jail) {
  struct cgroup *group = NULL;
  jail->workspace = read_text(reader);
  jail->run = read_text(reader);
  if (head->group && cgroup_parse(read_text(reader), &group, NULL) < 0)
    reader->failed = true;
  jail->group = group;
  read_filter(reader, head->filter, jail);
}

static int read_head(const char *bytes, size_t length, struct head *ret) {
  if (length < sizeof *ret)
    return -1;
  memcpy(ret, bytes, sizeof *ret);
  int entries = ret->order.jail.entry_count;
  return entries < 0 || entries > CGROUP_COUNT ||
                 ret->texts[0] + ret->texts[1] + ret->texts[2] > length
             ? -1
             : 0;
}

int shim_order_peek(const char *bytes, size_t length, struct jail *ret) {
  struct head head;
  if (read_head(bytes, length, &head) < 0)
    return -1;
  *ret = (struct jail){.layers = head.order.jail.layers};
  return 0;
}

int shim_order_unpack(const char *bytes, size_t length, const int *descriptors,
                      int count, struct shim_order *ret, int *report,
                      struct err *err) {
  struct head head;
  if (read_head(bytes, length, &head) < 0)
    return err_set(err, ERR_INVALID, "the order is no order");
  struct shim_order order = head.order;
  struct reader reader = {bytes + sizeof head, bytes + length, false};
  order.title = read_text(&reader);
  order.working_directory = read_text(&reader);
  order.argv = read_list(&reader, head.texts[0]);
  order.environment = read_list(&reader, head.texts[1]);
  order.jail.read_only =
      head.read_only ? read_list(&reader, head.texts[2]) : NULL;
  read_jail(&reader, &head, &order.jail);
  int own = -1;
  struct places places = descriptor_places(&order, &own);
  if (reader.failed || places.count != count)
    return err_set(err, ERR_INVALID, "the order is cut or garbled");
  for (int i = 0; i < count; i++)
    *places.list[i] = descriptors[i];
  *report = own;
  *ret = order;
  return 0;
}
