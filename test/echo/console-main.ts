/** The console's page with the echo: bundled in place of its own main.ts. */
import { startConsole } from "../../vm/console/page/console.ts";
import type { ConsoleKind } from "../../vm/console/page/kinds/kind.ts";
import { CONSOLE_KINDS, type ConsoleKinds } from "../../vm/console/page/kinds/kinds.ts";

const echo: ConsoleKind = {
  ...CONSOLE_KINDS.terminal,
  openPanel: ({ threadId }) => {
    const panel = document.querySelector("#room-view");
    if (panel) panel.textContent = `🦜 ${threadId}`;
    return { close: () => panel?.replaceChildren() };
  },
  hasPane: false,
  making: {
    choice: "An echo",
    commandLabel: "First words",
    isAddress: false,
    hasDirectory: false,
    hasWorktree: false,
    hasEngine: false,
  },
  ends: "The echo is heard no more.",
};
const kinds: ConsoleKinds & { echo: ConsoleKind } = { ...CONSOLE_KINDS, echo };
startConsole(kinds);
