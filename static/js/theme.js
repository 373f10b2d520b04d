// Before the first paint: the theme that the reader chose, if any.
(() => {
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be closed to pages: then the system's theme it is.
  }
})();
