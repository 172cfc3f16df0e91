/** What keys send, without a browser. */

/** Keys that a phone's keyboard lacks, in the order in which they are shown. */
export const SCREEN_KEYS = [
  { label: "Esc", name: "Escape", bytes: "\x1b" },
  { label: "Tab", name: "Tab", bytes: "\t" },
  { label: "Ctrl", name: "Ctrl, for the next key", bytes: "" },
  { label: "←", name: "Left", bytes: "\x1b[D" },
  { label: "↓", name: "Down", bytes: "\x1b[B" },
  { label: "↑", name: "Up", bytes: "\x1b[A" },
  { label: "→", name: "Right", bytes: "\x1b[C" },
  { label: "^C", name: "Ctrl-C", bytes: "\x03" },
  { label: "PgUp", name: "Page up", bytes: "\x1b[5~" },
  { label: "PgDn", name: "Page down", bytes: "\x1b[6~" },
  { label: "|", name: "Pipe", bytes: "|" },
  { label: "/", name: "Slash", bytes: "/" },
  { label: "-", name: "Hyphen", bytes: "-" },
  { label: "~", name: "Tilde", bytes: "~" },
] as const;

/** Ctrl held down with one more key; what has no such code goes as it is. */
export function withCtrl(bytes: string): string {
  const [start, letter = ""] = [bytes.slice(0, 2), bytes.slice(2)];
  if (start === "\x1b[" && /^[A-D]$/.test(letter)) return `\x1b[1;5${letter}`;
  if (bytes === " ") return "\0";
  if (!/^[@-_a-z?]$/.test(bytes)) return bytes;
  return bytes === "?" ? "\x7f" : String.fromCharCode(bytes.toUpperCase().charCodeAt(0) & 0x1f);
}
