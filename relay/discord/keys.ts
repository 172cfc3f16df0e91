/** Names that people have for keys, and tmux's. */
const KEYS: readonly (readonly [name: string, tmux: string])[] = [
  ["ctrl-c", "C-c"],
  ["ctrl-d", "C-d"],
  ["ctrl-z", "C-z"],
  ["enter", "Enter"],
  ["tab", "Tab"],
  ["shift-tab", "BTab"],
  ["escape", "Escape"],
  ["up", "Up"],
  ["down", "Down"],
  ["left", "Left"],
  ["right", "Right"],
  ["space", "Space"],
  ["backspace", "BSpace"],
  ["delete", "DC"],
  ["home", "Home"],
  ["end", "End"],
  ["page-up", "PPage"],
  ["page-down", "NPage"],
  ["ctrl-a", "C-a"],
  ["ctrl-e", "C-e"],
  ["ctrl-k", "C-k"],
  ["ctrl-l", "C-l"],
  ["ctrl-o", "C-o"],
  ["ctrl-r", "C-r"],
  ["ctrl-u", "C-u"],
  ["ctrl-w", "C-w"],
  ["ctrl-x", "C-x"],
  ["ctrl-\\", "C-\\"],
  ...Array.from({ length: 12 }, (_, i) => [`f${i + 1}`, `F${i + 1}`] as const),
];

/** Names that begin with, then names that contain what was typed. */
export function completeKey(typed: string): string[] {
  const wanted = typed.toLowerCase();
  const names = KEYS.map(([name]) => name);
  return [
    ...new Set([...names.filter((n) => n.startsWith(wanted)), ...names.filter((n) => n.includes(wanted))]),
  ];
}

/** tmux's name of a key; what is not in the list may be tmux's name already, which the sidecar checks. */
export function toTmuxKey(name: string): string {
  const wanted = name
    .trim()
    .toLowerCase()
    .replace(/^control-|^\^(?=.)/, "ctrl-");
  const known = KEYS.find(([key]) => key === wanted)?.[1];
  if (known !== undefined) return known;
  const letter = /^ctrl-([a-z])$/.exec(wanted)?.[1];
  return letter === undefined ? name.trim() : `C-${letter}`;
}
