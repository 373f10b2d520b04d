// Fills the cells near the view and empties those far from it.
const NEAR = "100% 0px";
const FAR = "400% 0px";

export function windowOf() {
  const views = new Map();
  const near = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) if (entry.isIntersecting) views.get(entry.target)?.fill();
    },
    { rootMargin: NEAR },
  );
  const far = new IntersectionObserver(
    (entries) => {
      for (const entry of entries)
        if (!entry.isIntersecting && !entry.target.contains(document.activeElement)) views.get(entry.target)?.empty();
    },
    { rootMargin: FAR },
  );
  return {
    add(view) {
      views.set(view.element, view);
      near.observe(view.element);
      far.observe(view.element);
    },
    remove(view) {
      views.delete(view.element);
      near.unobserve(view.element);
      far.unobserve(view.element);
    },
  };
}
