/** What can be done with a message: the buttons at its corner, its menu, and what stands below an ephemeral one. */
import type { SeenCommand, SeenMessage } from "../seen.ts";
import { type Child, el } from "./dom.ts";
import { type IconName, icon } from "./icons.ts";
import type { Names } from "./names.ts";

/** What a press on a part of a message does. */
export interface MessageActions {
  /** Uses a button or a list; `controls` are switched off until it was answered. */
  operate: (
    message: SeenMessage,
    customId: string,
    controls: readonly (HTMLButtonElement | HTMLSelectElement | HTMLInputElement)[],
    values?: readonly string[],
  ) => void;
  dismiss: (message: SeenMessage) => void;
  replyTo: (message: SeenMessage) => void;
  remove: (message: SeenMessage) => void;
  edit: (message: SeenMessage) => void;
  react: (message: SeenMessage, emoji: string, isAdded: boolean) => void;
  goTo: (messageId: string) => void;
  messageCommands: () => SeenCommand[];
  runMessageCommand: (message: SeenMessage, name: string) => void;
}

const QUICK_REACTIONS = ["👍", "👎", "✅", "❌", "👀"];

/** @param current the message as it is when something is pressed */
export function drawTools(current: () => SeenMessage, names: Names, actions: MessageActions): HTMLElement {
  const more = tool("More", "more", () => openMenu(more, current(), names, actions));
  more.setAttribute("aria-haspopup", "menu");
  more.setAttribute("aria-expanded", "false");
  return el(
    "div",
    { class: "tools" },
    tool("Reply", "reply", () => actions.replyTo(current())),
    more,
  );
}

export function drawEphemeralFoot(message: SeenMessage, actions: MessageActions): HTMLElement {
  const dismiss = () => actions.dismiss(message);
  return el(
    "div",
    { class: "ephemeral-foot" },
    icon("eye"),
    " Only you can see this • ",
    el("button", { type: "button", class: "link", onclick: dismiss }, "Dismiss message"),
  );
}

function tool(label: string, mark: IconName, onclick: () => void): HTMLButtonElement {
  return el("button", { type: "button", "aria-label": label, title: label, onclick }, icon(mark));
}

/** A menu like the one behind a right click in Discord; the bot's message commands stand in it by their names. */
function openMenu(opener: HTMLElement, message: SeenMessage, names: Names, actions: MessageActions): void {
  const menu = el("dialog", { class: "menu", "aria-label": "Message menu" });
  const entry = (label: Child, act: () => void, className = "menu-entry") =>
    el(
      "button",
      {
        type: "button",
        role: "menuitem",
        class: className,
        onclick: () => {
          menu.close();
          act();
        },
      },
      label,
    );
  const isOwn = message.author.id === names.me();
  const commands = actions.messageCommands();
  const reaction = (emoji: string) => {
    const button = entry(emoji, () => actions.react(message, emoji, true), "menu-emoji");
    button.setAttribute("aria-label", `React with ${emoji}`);
    return button;
  };
  menu.append(
    el("div", { class: "menu-emojis" }, QUICK_REACTIONS.map(reaction)),
    entry("Reply", () => actions.replyTo(message)),
    entry("Copy text", () => void navigator.clipboard.writeText(message.content)),
  );
  if (isOwn) {
    menu.append(entry("Edit message", () => actions.edit(message)));
    menu.append(entry("Delete message", () => actions.remove(message), "menu-entry risky"));
  }
  if (commands.length > 0) menu.append(el("div", { class: "menu-title" }, "Apps"));
  for (const { name } of commands) {
    menu.append(entry(name, () => actions.runMessageCommand(message, name)));
  }
  showMenu(menu, opener);
}

/** A modal dialog: Escape and a press beside it close it, and the focus goes back to where it was. */
function showMenu(menu: HTMLDialogElement, opener: HTMLElement): void {
  menu.addEventListener("click", (event) => {
    if (event.target === menu) menu.close();
  });
  menu.addEventListener("close", () => {
    menu.remove();
    opener.setAttribute("aria-expanded", "false");
  });
  document.body.append(menu);
  opener.setAttribute("aria-expanded", "true");
  const { right, bottom } = opener.getBoundingClientRect();
  menu.showModal();
  const { width, height } = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(8, Math.min(right - width, innerWidth - width - 8))}px`;
  menu.style.top = `${Math.max(8, Math.min(bottom + 4, innerHeight - height - 8))}px`;
}
