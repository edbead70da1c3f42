// What belongs to this browser: the key, the theme, the name under which answers are given; and what the server is.

import { myName, rememberName } from "../../live/my_name";
import { chooseTheme, theme, type Theme } from "../../live/theme";
import { About } from "./about";
import { KeyForm } from "./key_form";
import "./settings.css";

const THEMES: { value: Theme; text: string }[] = [
  { value: "system", text: "As the system" },
  { value: "light", text: "Light" },
  { value: "dark", text: "Dark" },
];

export function Settings() {
  return (
    <div class="settings stack">
      <h1>Settings</h1>
      <section class="card stack">
        <h2>You</h2>
        <label class="field">
          <span class="field-label">Your name</span>
          <input value={myName.value} autocomplete="name" onInput={(event) => rememberName(event.currentTarget.value)} />
        </label>
        <p class="soft">It is kept in this browser and recorded with your answers. A key's own name counts before it.</p>
      </section>
      <KeyForm />
      <section class="card stack" aria-labelledby="theme">
        <h2 id="theme">Theme</h2>
        <div class="row" role="radiogroup" aria-labelledby="theme">
          {THEMES.map(({ value, text }) => (
            <label class="field-check settings-theme">
              <input type="radio" name="theme" checked={theme.value === value} onChange={() => chooseTheme(value)} />
              {text}
            </label>
          ))}
        </div>
      </section>
      <About />
    </div>
  );
}
