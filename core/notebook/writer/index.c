#include "core/notebook/writer/index.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "core/base/layout.h"
#include "core/base/mem.h"

#define MAGIC "cellpost notebook index 1\n"
#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"

struct index_head {
  uint64_t sequence; /* stands first: index_sequence reads it alone */
  char magic[32];
  char boot[40];
  struct fingerprint published;
  struct fingerprint spare;
  uint64_t spare_common;
  uint64_t preamble;
  uint64_t count;
  uint64_t check; /* over all that stands in front of it */
};

/* Finds damage, not malice: whoever can write here can write the notebook. */
static uint64_t check_sum(const void *bytes, size_t length, uint64_t seed) {
  uint64_t sum = seed ^ UINT64_C(0x9e3779b97f4a7c15);
  for (size_t at = 0; at < length; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    size_t left = length - at;
    memcpy(&word, (const char *)bytes + at, left < 8 ? left : 8);
    sum = (sum ^ word) * UINT64_C(0xff51afd7ed558ccd);
    sum ^= sum >> 32;
  }
  return sum;
}

static uint32_t check_of_cell(const struct table_cell *cell, size_t number) {
  return (uint32_t)check_sum(cell, offsetof(struct table_cell, check), number);
}

static uint64_t check_of_head(const struct index_head *head) {
  return check_sum(head, offsetof(struct index_head, check), 0);
}

static pthread_once_t boot_once = PTHREAD_ONCE_INIT;
static char boot_id[40]; /* empty when it cannot be known */

static void read_boot_id(void) {
  CLEANUP(mem_close_descriptor)
  int file = open(BOOT_ID_FILE, O_RDONLY | O_CLOEXEC);
  if (file < 0 || read(file, boot_id, 36) != 36)
    boot_id[0] = '\0';
}

void index_open(struct notebook *notebook) {
  pthread_once(&boot_once, read_boot_id);
  notebook->index =
      openat(notebook->directory, LAYOUT_NOTEBOOK_INDEX,
             O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  ssize_t got =
      pread(notebook->index, &notebook->sequence, sizeof notebook->sequence, 0);
  if (got != sizeof notebook->sequence)
    notebook->sequence = 0;
  if (got < 0)
    mem_close_descriptor(&notebook->index);
}

uint64_t index_sequence(const struct notebook *notebook) {
  uint64_t sequence;
  ssize_t got = pread(notebook->index, &sequence, sizeof sequence, 0);
  return got == sizeof sequence ? sequence : 0;
}

static bool read_cells(struct notebook *notebook, uint64_t count) {
  if (count > BUF_NOTEBOOK / sizeof(struct table_cell))
    return false;
  size_t length = (size_t)count * sizeof(struct table_cell);
  struct table_cell *cells = table_reserve(&notebook->table, (size_t)count);
  if (length > 0 && pread(notebook->index, cells, length,
                          sizeof(struct index_head)) != (ssize_t)length)
    return false;
  for (size_t i = 0; i < count; i++)
    if (cells[i].check != check_of_cell(&cells[i], i))
      return false;
  notebook->table.count = (size_t)count;
  return true;
}

bool index_load(struct notebook *notebook) {
  struct index_head head;
  if (pread(notebook->index, &head, sizeof head, 0) != sizeof head)
    return false;
  bool ours = memcmp(head.magic, MAGIC, sizeof MAGIC) == 0 &&
              head.check == check_of_head(&head) && boot_id[0] != '\0' &&
              memcmp(head.boot, boot_id, sizeof boot_id) == 0 &&
              fingerprint_equal(&head.published, &notebook->published);
  if (!ours || head.preamble > head.published.size ||
      !read_cells(notebook, head.count) ||
      !table_is_sound(&notebook->table, head.preamble, head.published.size)) {
    table_free(&notebook->table);
    return false;
  }
  notebook->spare = head.spare;
  notebook->spare_common = head.spare_common;
  notebook->preamble = head.preamble;
  return true;
}

static bool write_head(struct notebook *notebook) {
  struct index_head head;
  memset(&head, 0, sizeof head);
  head.sequence = notebook->sequence + 1;
  memcpy(head.magic, MAGIC, sizeof MAGIC);
  memcpy(head.boot, boot_id, sizeof boot_id);
  head.published = notebook->published;
  head.spare = notebook->spare;
  head.spare_common = notebook->spare_common;
  head.preamble = notebook->preamble;
  head.count = notebook->table.count;
  head.check = check_of_head(&head);
  if (pwrite(notebook->index, &head, sizeof head, 0) != sizeof head)
    return false;
  notebook->sequence = head.sequence;
  return true;
}

/* No index is better than a wrong one. */
static void forget(struct notebook *notebook) {
  if (ftruncate(notebook->index, 0) == 0)
    notebook->sequence = 0;
}

void index_save(struct notebook *notebook, size_t first) {
  if (notebook->index < 0)
    return;
  const struct table *table = &notebook->table;
  for (size_t i = first; i < table->count; i++)
    table->cells[i].check = check_of_cell(&table->cells[i], i);
  size_t length = (table->count - first) * sizeof(struct table_cell);
  off_t at =
      (off_t)(sizeof(struct index_head) + first * sizeof(struct table_cell));
  if ((length > 0 && pwrite(notebook->index, table->cells + first, length,
                            at) != (ssize_t)length) ||
      !write_head(notebook))
    forget(notebook);
}

void index_distrust_spare(struct notebook *notebook, size_t common) {
  notebook->spare_common = common;
  if (notebook->index >= 0 && !write_head(notebook))
    forget(notebook);
}
