/** Of a message: who wrote it, when, through what, and its text. */
import type { SeenMessage } from "../seen.ts";
import { clock, el, hueOf } from "./dom.ts";
import { icon } from "./icons.ts";
import { renderMarkdown } from "./markdown.ts";
import type { MessageActions } from "./message-tools.ts";
import type { Names } from "./names.ts";

const EXCERPT_CHARACTERS = 120;

export function drawHead(message: SeenMessage, names: Names, actions: MessageActions): HTMLElement {
  const { author } = message;
  return el(
    "div",
    { class: "message-head" },
    drawAbove(message, actions),
    el(
      "span",
      { class: `avatar hue-${hueOf(author.id)}`, "aria-hidden": "true" },
      author.name.slice(0, 1).toUpperCase(),
    ),
    el("strong", { class: `author${author.isBot ? " bot" : ""}` }, author.name),
    author.isBot && el("span", { class: "app-tag" }, "APP"),
    el(
      "time",
      {
        class: "time",
        datetime: new Date(message.createdAt).toISOString(),
        title: new Date(message.createdAt).toLocaleString(),
      },
      clock(message.createdAt),
    ),
    drawBell(message, names),
  );
}

/** Whether it notified anybody, which a phone would have shown. */
function drawBell(message: SeenMessage, names: Names): HTMLElement | undefined {
  if (message.isSilent) return bell("bell-off", "Sent silently: it notified nobody");
  if (message.notified.length === 0) return undefined;
  const people = message.notified.map((id) => names.ofUser(id) ?? "somebody").join(", ");
  return bell("bell", `It notified ${people}`);
}

function bell(name: "bell" | "bell-off", label: string): HTMLElement {
  return el(
    "span",
    { class: `notified ${name}`, role: "img", "aria-label": label, title: label },
    icon(name),
  );
}

/** What it answers: a message, or the use of a command or component. */
function drawAbove(message: SeenMessage, actions: MessageActions): HTMLElement | undefined {
  const { replyTo, interaction } = message;
  if (message.isReplyToDeleted) return above(el("em", {}, "The message that it replied to was deleted"));
  if (replyTo) {
    const excerpt = replyTo.content
      .replace(/```\w*/g, "")
      .replace(/\s+/g, " ")
      .slice(0, EXCERPT_CHARACTERS);
    return el(
      "button",
      {
        type: "button",
        class: "above",
        title: "Go to that message",
        onclick: () => actions.goTo(replyTo.id),
      },
      el("strong", {}, `@${replyTo.author}`),
      el("span", { class: "clip" }, excerpt || "an attachment"),
    );
  }
  if (!interaction) return undefined;
  const { user, name, kind } = interaction;
  const who = el("strong", {}, user);
  switch (kind) {
    case "slash command":
      return above(who, " used ", el("span", { class: "mention" }, `/${name}`));
    case "message command":
      return above(who, " used ", el("span", { class: "mention" }, name ?? ""));
    case "component":
      return above(who, " used a button or list");
    case "form":
      return above(who, " sent a form");
  }
}

function above(...children: (Node | string)[]): HTMLElement {
  return el("div", { class: "above" }, children);
}

export function drawBody(message: SeenMessage, names: Names): HTMLElement {
  if (message.isLoading) {
    const dots = el("span", { class: "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i"));
    const thinking = el("span", { class: "thinking" }, dots, ` ${message.author.name} is thinking…`);
    return el("div", { class: "content" }, thinking);
  }
  const line = drawSystemLine(message, names);
  if (line) return line;
  const body = el("div", { class: "content" });
  body.append(renderMarkdown(message.content, names));
  if (message.editedAt !== null && message.content !== "") {
    body.append(
      el("small", { class: "edited", title: new Date(message.editedAt).toLocaleString() }, " (edited)"),
    );
  }
  return body;
}

/** What the client says in its own words; `undefined` of a message that somebody wrote. */
function drawSystemLine(message: SeenMessage, names: Names): HTMLElement | undefined {
  const line = el("div", { class: "content" }, el("strong", {}, message.author.name));
  if (message.type === 4) line.append(" renamed the thread: ", el("strong", {}, message.content));
  else if (message.type === 18) line.append(" started a thread: ", threadLink(message, names));
  else if (message.type === 21) {
    line.append(` started this thread from a message: ${message.replyTo?.content ?? ""}`);
  } else return undefined;
  line.append(" ", el("time", { class: "time" }, clock(message.createdAt)));
  return line;
}

function threadLink({ threadId, content }: SeenMessage, names: Names): Node {
  const thread = threadId === undefined ? undefined : names.findChannel(threadId);
  if (threadId === undefined || !thread) {
    return el("span", {}, el("s", {}, content), " (deleted)");
  }
  const open = () => names.openChannel(threadId);
  return el("button", { type: "button", class: "thread-link", onclick: open }, thread.name, " ›");
}
