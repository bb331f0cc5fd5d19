// The reader's choice between the light and the dark theme. A page that may keep nothing, such as a sealed report, asks anew.
(() => {
  const NEXT = { auto: "light", light: "dark", dark: "auto" };
  const KEY = "ltm-theme";

  function readTheme() {
    try {
      const theme = localStorage.getItem(KEY);
      return theme in NEXT ? theme : "auto";
    } catch {
      return "auto";
    }
  }

  function keepTheme(theme) {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // The choice holds until the page is closed.
    }
  }

  function applyTheme(theme) {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }

  function addThemeButton() {
    let theme = readTheme();
    const button = document.createElement("button");
    button.type = "button";
    button.className = "theme";
    button.textContent = "Theme: " + theme;
    button.addEventListener("click", () => {
      theme = NEXT[theme];
      button.textContent = "Theme: " + theme;
      applyTheme(theme);
      keepTheme(theme);
    });
    document.querySelector("header nav").append(button);
  }

  applyTheme(readTheme());
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", addThemeButton);
  else addThemeButton();
})();
