// The theme: that of the system, or the one chosen here.
import { useState } from 'preact/hooks';

const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];
const KEPT = 'countersign-console-theme';

/** Shows the theme that was chosen before. */
export function applyTheme(theme: Theme = readTheme()): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function readTheme(): Theme {
  const kept = localStorage.getItem(KEPT);
  return THEMES.find((theme) => theme === kept) ?? 'system';
}

export function ThemePicker() {
  const [theme, setTheme] = useState(readTheme);
  return (
    <select
      aria-label="Theme"
      class="quiet"
      value={theme}
      onChange={({ currentTarget: { value } }) => {
        const chosen = THEMES.find((name) => name === value) ?? 'system';
        localStorage.setItem(KEPT, chosen);
        applyTheme(chosen);
        setTheme(chosen);
      }}
    >
      {THEMES.map((name) => (
        <option key={name} value={name}>
          {name} theme
        </option>
      ))}
    </select>
  );
}
