/** The names that people have for keys, and what tmux calls those. Pure. */
import { AppError } from "./errors.ts";
import { KEY_NAME } from "./key-name.ts";

/** tmux's name, then those that people have. Written without blanks, `-`, `+` and `_`. */
const KEYS: readonly (readonly [tmux: string, ...names: string[]])[] = [
  ["Enter", "enter", "return", "ret", "cr", "⏎", "↵"],
  ["Escape", "escape", "esc"],
  ["Tab", "tab", "⇥"],
  ["BTab", "btab", "backtab"],
  ["Space", "space", "spacebar", "blank", "␣"],
  ["BSpace", "backspace", "bspace", "bksp", "bs", "⌫"],
  ["DC", "delete", "del", "dc", "forwarddelete", "⌦"],
  ["IC", "insert", "ins", "ic"],
  ["Up", "up", "uparrow", "arrowup", "cursorup", "↑"],
  ["Down", "down", "downarrow", "arrowdown", "cursordown", "↓"],
  ["Left", "left", "leftarrow", "arrowleft", "cursorleft", "←"],
  ["Right", "right", "rightarrow", "arrowright", "cursorright", "→"],
  ["Home", "home"],
  ["End", "end"],
  ["PPage", "pageup", "pgup", "ppage", "prior"],
  ["NPage", "pagedown", "pgdown", "pgdn", "pgdwn", "npage"],
  ["+", "plus"],
  ["-", "minus", "dash", "hyphen"],
  ["_", "underscore"],
  ["\\", "backslash"],
  ["/", "slash"],
  [".", "period", "dot"],
  [",", "comma"],
  ...Array.from({ length: 12 }, (_, i): [string, string] => [`F${i + 1}`, `f${i + 1}`]),
];
const NAMES = new Map(KEYS.flatMap(([tmux, ...names]) => names.map((name) => [name, tmux] as const)));

const MODIFIERS = new Map([
  ...["ctrl", "control", "ctl", "strg", "c", "⌃"].map((name) => [name, "C"] as const),
  ...["alt", "meta", "option", "opt", "m", "⌥"].map((name) => [name, "M"] as const),
  ...["shift", "s", "⇧"].map((name) => [name, "S"] as const),
]);

/** What a terminal sends for these is what it sends for another key. */
const SAME = new Map([
  ["S-Tab", "BTab"],
  ["C-/", "C-_"],
  ["C--", "C-_"],
  ["C-BSpace", "C-h"],
  ["C-`", "C-Space"],
]);

/** Names to choose from. */
export const KEY_WORDS: readonly string[] = [
  ..."ctrl-c ctrl-d ctrl-z enter tab shift-tab escape up down left right space backspace delete insert".split(
    " ",
  ),
  ..."home end page-up page-down ctrl-a ctrl-e ctrl-k ctrl-l ctrl-o ctrl-r ctrl-u ctrl-w ctrl-x ctrl-\\".split(
    " ",
  ),
  ..."ctrl-left ctrl-right alt-left alt-right alt-b alt-f alt-enter shift-up shift-down ctrl-space".split(
    " ",
  ),
  ...Array.from({ length: 12 }, (_, i) => `f${i + 1}`),
];

/**
 * tmux's name of a key that a person calls `esc`, `Ctrl+C`, `alt b`, `^C`, `shift-up`, `enter key` or by tmux's name.
 * @throws AppError invalid_request if a terminal has no such key.
 */
export function parseKey(name: string): string {
  const key = findKey(name);
  if (key !== undefined) return key;
  throw new AppError(
    "invalid_request",
    `A terminal has no key called ${JSON.stringify(name.slice(0, 40))}. Keys are called esc, return, pgdn, up, f5, ` +
      "ctrl-c, alt-b, shift-up or ctrl-left, or as tmux calls them. Text is typed by a message.",
  );
}

function findKey(name: string): string | undefined {
  const given = name.trim().replace(/(?<=[^\s_-])[\s_-]+key$/iu, "");
  if (KEY_NAME.test(given)) return given;
  let rest = given.replace(/^\^(?=.)/u, "ctrl-");
  const modifiers = new Set<string>();
  for (;;) {
    // The last one of "ctrl-" and "ctrl--" is a key itself.
    const [whole, word] = /^(\p{L}+|[⌃⌥⇧])(?:[\s_+-]+(?=.)|(?<=[⌃⌥⇧]))/u.exec(rest) ?? [];
    const modifier = word === undefined ? undefined : MODIFIERS.get(word.toLowerCase());
    if (whole === undefined || modifier === undefined || whole.length === rest.length) break;
    modifiers.add(modifier);
    rest = rest.slice(whole.length);
  }
  return withModifiers(modifiers, rest);
}

function withModifiers(modifiers: ReadonlySet<string>, name: string): string | undefined {
  let base = NAMES.get(name.toLowerCase().replace(/(?<=.)[\s_+-]+(?=.)/gu, "")) ?? name;
  if (/^[a-z]$/i.test(base)) {
    const isUpper = modifiers.has("S") && !modifiers.has("C");
    if (modifiers.size > 0) base = isUpper ? base.toUpperCase() : base.toLowerCase();
    if (isUpper) modifiers = new Set([...modifiers].filter((modifier) => modifier !== "S"));
  }
  const key = ["C", "M", "S"].filter((modifier) => modifiers.has(modifier)).map((modifier) => `${modifier}-`);
  const tmux = [...key, base].join("");
  const known = SAME.get(tmux) ?? tmux;
  return KEY_NAME.test(known) ? known : undefined;
}
