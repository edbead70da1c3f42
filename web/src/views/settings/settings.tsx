// What belongs to this browser: the key, the theme, the name under which answers are given.

import { myName, rememberName } from "../../live/my_name";
import { chooseTheme, theme, type Theme } from "../../live/theme";
import { KeyForm } from "./key_form";

const THEMES: { value: Theme; text: string }[] = [
  { value: "system", text: "As the system" },
  { value: "light", text: "Light" },
  { value: "dark", text: "Dark" },
];

export function Settings() {
  return (
    <div class="stack">
      <h1>Settings</h1>
      <KeyForm />
      <section class="card stack">
        <h2>You</h2>
        <label class="field">
          <span class="field-label">Your name</span>
          <input value={myName.value} autocomplete="name" onInput={(event) => rememberName(event.currentTarget.value)} />
          <span class="field-about">Recorded with your answers. The name of a key stands before it.</span>
        </label>
      </section>
      <fieldset class="card stack">
        <legend class="field-label">Theme</legend>
        {THEMES.map(({ value, text }) => (
          <label class="field-check">
            <input type="radio" name="theme" checked={theme.value === value} onChange={() => chooseTheme(value)} />
            {text}
          </label>
        ))}
      </fieldset>
    </div>
  );
}
