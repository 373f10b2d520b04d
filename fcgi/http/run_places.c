#include "fcgi/http/run_places.h"

#define RESERVE_LEAST 8

long run_places_of(long threads) {
  long quarter = threads / 4;
  long places = threads - (quarter < RESERVE_LEAST ? RESERVE_LEAST : quarter);
  return places < 1 ? 1 : places;
}

void run_places_open(struct run_places *places, long threads) {
  atomic_store(&places->most, run_places_of(threads));
  atomic_store(&places->threads, threads);
}

int run_places_take(struct run_places *places, struct err *err) {
  if (atomic_fetch_add(&places->taken, 1) < atomic_load(&places->most))
    return 0;
  atomic_fetch_sub(&places->taken, 1);
  return err_set(err, ERR_UNAVAILABLE,
                 "%ld runs go on or wait for their turn and hold every thread "
                 "that runs may have; ask again when some have ended, or raise "
                 "the key \"threads\" (now %ld) in cellpost.conf",
                 atomic_load(&places->most), atomic_load(&places->threads));
}

void run_places_give(struct run_places *places) {
  atomic_fetch_sub(&places->taken, 1);
}
