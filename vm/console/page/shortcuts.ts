/** Keys that do something where nobody types. */

export type Shortcut = "search" | "new" | "next" | "previous" | "leave" | "help";

const SHORTCUTS: ReadonlyMap<string, Shortcut> = new Map([
  ["/", "search"],
  ["n", "new"],
  ["j", "next"],
  ["k", "previous"],
  ["Escape", "leave"],
  ["?", "help"],
]);

/** @param isTyping whether the key would be written somewhere: then only Escape counts, and not in a terminal */
export function shortcutOf(
  event: Pick<KeyboardEvent, "key" | "ctrlKey" | "altKey" | "metaKey" | "isComposing">,
  isTyping: boolean,
): Shortcut | undefined {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return undefined;
  const shortcut = SHORTCUTS.get(event.key);
  return isTyping && shortcut !== "leave" ? undefined : shortcut;
}

/** Calls for each shortcut that is pressed; a key for which it says true goes no further. */
export function onShortcut(doIt: (shortcut: Shortcut, target: Element) => boolean): void {
  document.addEventListener("keydown", (event) => {
    const { target } = event;
    if (!(target instanceof Element) || target.closest(".xterm")) return;
    const shortcut = shortcutOf(event, target.matches("input:not([type=radio], [type=checkbox]), textarea"));
    if (shortcut && doIt(shortcut, target)) event.preventDefault();
  });
}
