#include "core/report/traceback/chain.h"

#include <stdlib.h>

#include "core/base/mem.h"

#define MOST_LINKS 64
#define MOST_FRAMES 8192
#define MOST_NOTES ((size_t)8 << 20) /* bytes */

static void link_clear(struct chain_link *link) {
  for (size_t i = 0; i < link->count; i++)
    frame_clear(&link->frames[i]);
  free(link->frames);
  free(link->name);
  free(link->message);
  buf_free(&link->notes);
}

void chain_free(struct chain *chain) {
  for (size_t i = 0; i < chain->count; i++)
    link_clear(&chain->links[i]);
  free(chain->links);
  *chain = (struct chain){0};
}

struct chain_link *chain_last(struct chain *chain) {
  return chain->count ? &chain->links[chain->count - 1] : NULL;
}

/* Arrays grow by doubling: they are full at each power of two. */
static bool is_full(size_t count) { return (count & (count - 1)) == 0; }

struct chain_link *chain_add(struct chain *chain) {
  if (chain->count == MOST_LINKS)
    link_clear(&chain->links[--chain->count]);
  else if (is_full(chain->count))
    chain->links =
        mem_grow(chain->links, 2 * chain->count + 1, sizeof *chain->links);
  struct chain_link *link = &chain->links[chain->count++];
  *link = (struct chain_link){.notes = BUF_INIT(MOST_NOTES)};
  return link;
}

struct frame *chain_add_frame(struct chain_link *link) {
  if (link->count == MOST_FRAMES)
    frame_clear(&link->frames[--link->count]);
  else if (is_full(link->count))
    link->frames =
        mem_grow(link->frames, 2 * link->count + 1, sizeof *link->frames);
  struct frame *frame = &link->frames[link->count++];
  *frame = (struct frame){.kind = FRAME_FILE};
  return frame;
}

const struct frame *chain_deepest(const struct chain *chain,
                                  const struct chain_link **ret) {
  for (size_t i = chain->count; i-- > 0;) {
    const struct chain_link *link = &chain->links[i];
    for (size_t k = link->count; k-- > 0;)
      if (frame_in_cell(&link->frames[k]) && link->frames[k].line > 0) {
        *ret = link;
        return &link->frames[k];
      }
  }
  return NULL;
}
