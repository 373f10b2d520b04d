/* .notebook.index: what the process knew that wrote last. Private to the
 * writer.
 *
 * A head of fixed size and then the cells, each with a check sum. The head is
 * written last, by one write, and names the published file by its fingerprint;
 * so an index that was left behind half-way, or that belongs to a file which
 * was changed since, is not taken for true. Nor is one from before a restart of
 * the machine: after a loss of power the file's content is what has to be
 * looked at.
 *
 * All functions fail silently: without an index the next process scans. */
#ifndef CELLPOST_NOTEBOOK_WRITER_INDEX_H
#define CELLPOST_NOTEBOOK_WRITER_INDEX_H

#include "core/notebook/writer/notebook_state.h"

void index_open(struct notebook *notebook);

/* Fills the state when the index belongs to `published`. */
bool index_load(struct notebook *notebook);

/* Saves the cells from `first` on and then what stands in front of them. */
void index_save(struct notebook *notebook, size_t first);

/* Saves that no more of the spare than this can be relied on, before it is
 * written to. */
void index_distrust_spare(struct notebook *notebook, size_t common);

/* The sequence number on disk; 0 when there is none. */
uint64_t index_sequence(const struct notebook *notebook);

#endif
