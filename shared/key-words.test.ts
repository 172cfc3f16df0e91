import { expect, it } from "vitest";
import { KEY_NAME } from "./key-name.ts";
import { KEY_WORDS, parseKey } from "./key-words.ts";

it.each([
  ["esc", "Escape"],
  ["ESC", "Escape"],
  ["ctrl+c", "C-c"],
  ["Ctrl + C", "C-c"],
  ["control-d", "C-d"],
  ["^C", "C-c"],
  ["^[", "C-["],
  ["^\\", "C-\\"],
  ["ctrl c", "C-c"],
  ["c-x", "C-x"],
  ["alt-b", "M-b"],
  ["Alt+B", "M-b"],
  ["meta f", "M-f"],
  ["option-left", "M-Left"],
  ["alt-enter", "M-Enter"],
  ["alt-backspace", "M-BSpace"],
  ["alt-.", "M-."],
  ["shift-up", "S-Up"],
  ["shift+tab", "BTab"],
  ["shift-a", "A"],
  ["ctrl-left", "C-Left"],
  ["ctrl-shift-right", "C-S-Right"],
  ["shift+ctrl+right", "C-S-Right"],
  ["ctrl-alt-x", "C-M-x"],
  ["ctrl-space", "C-Space"],
  ["ctrl-/", "C-_"],
  ["ctrl--", "C-_"],
  ["ctrl-minus", "C-_"],
  ["ctrl-]", "C-]"],
  ["pgdn", "NPage"],
  ["PgUp", "PPage"],
  ["page up", "PPage"],
  ["page_down", "NPage"],
  ["shift-page-up", "S-PPage"],
  ["return", "Enter"],
  ["Enter key", "Enter"],
  ["ctrl-left key", "C-Left"],
  ["del", "DC"],
  ["ins", "IC"],
  ["arrow-up", "Up"],
  ["↓", "Down"],
  ["⌃C", "C-c"],
  ["f5", "F5"],
  ["Shift+F5", "S-F5"],
  ["plus", "+"],
  ["+", "+"],
  ["-", "-"],
  ["alt-+", "M-+"],
  ["alt--", "M--"],
  ["y", "y"],
  ["Y", "Y"],
  // tmux's own
  ["C-c", "C-c"],
  ["BSpace", "BSpace"],
  ["C-M-S-Up", "C-M-S-Up"],
  ["M-B", "M-B"],
])("%s is %s", (name, tmux) => {
  expect(parseKey(name)).toBe(tmux);
  expect(KEY_NAME.test(tmux)).toBe(true);
});

it.each([
  "",
  " ",
  "ctrl",
  "ctrl-",
  "ctrl-enter",
  "shift-enter",
  "hyper-x",
  "ctrl-é",
  "é",
  "f13",
  "rm -rf",
  "__proto__",
  "constructor",
])("%s is refused by name", (name) => {
  expect(() => parseKey(name)).toThrow(`no key called ${JSON.stringify(name)}`);
});

it("each name to choose from is a key, and they are different ones", () => {
  expect(new Set(KEY_WORDS.map(parseKey)).size).toBe(KEY_WORDS.length);
});

it("a long name costs little", () => {
  for (const part of ["ctrl-", "⌃", "ctrl ", "-", " ", "a", "alt+ "]) {
    const before = process.cpuUsage();
    expect(() => parseKey(part.repeat(6_000))).toThrow("no key");
    expect(process.cpuUsage(before).user).toBeLessThan(200_000);
  }
});
