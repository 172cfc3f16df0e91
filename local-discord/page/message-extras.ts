/** Of a message: embeds, attachments, reactions. */
import type { SeenAttachment, SeenMessage } from "../seen.ts";
import type { Embed } from "../types.ts";
import { el, fileSize } from "./dom.ts";
import { icon } from "./icons.ts";
import { renderMarkdown } from "./markdown.ts";
import type { MessageActions } from "./message-tools.ts";
import type { Names } from "./names.ts";

export function drawEmbeds(message: SeenMessage, names: Names): HTMLElement {
  return el(
    "div",
    { class: "embeds" },
    message.embeds.map((embed) => drawEmbed(embed, names)),
  );
}

function drawEmbed(embed: Embed, names: Names): HTMLElement {
  const marked = (className: string, text: string) =>
    el("div", { class: className }, renderMarkdown(text, names));
  const time = embed.timestamp === undefined ? undefined : new Date(embed.timestamp).toLocaleString();
  const foot = [embed.footer?.text, time].filter(Boolean).join(" • ");
  const card = el(
    "div",
    { class: "embed" },
    embed.author && el("div", { class: "embed-author" }, embed.author.name),
    embed.title !== undefined && marked("embed-title", embed.title),
    embed.description !== undefined && marked("content", embed.description),
    embed.fields &&
      el(
        "div",
        { class: "embed-fields" },
        embed.fields.map((field) =>
          el(
            "div",
            { class: field.inline ? "embed-field inline" : "embed-field" },
            marked("embed-field-name", field.name),
            marked("content", field.value),
          ),
        ),
      ),
    foot !== "" && el("div", { class: "embed-foot" }, foot),
  );
  if (embed.color) card.style.borderLeftColor = `#${embed.color.toString(16).padStart(6, "0")}`;
  return card;
}

export function drawFiles(message: SeenMessage): HTMLElement {
  return el("div", { class: "files" }, message.attachments.map(drawFile));
}

function drawFile(file: SeenAttachment): HTMLElement {
  const address = file.url;
  if (/^image\/(png|jpeg|gif|webp)$/.test(file.contentType)) {
    const picture = el("img", { class: "picture", src: address, alt: file.name });
    return el("a", { href: address, target: "_blank", rel: "noopener" }, picture);
  }
  return el(
    "a",
    { class: "file", href: address, download: file.name },
    icon("file"),
    el("span", { class: "file-name" }, file.name),
    el("small", {}, fileSize(file.size)),
  );
}

/** A press adds one's own reaction, or takes it back. */
export function drawReactions(message: SeenMessage, names: Names, actions: MessageActions): HTMLElement {
  const me = names.me();
  return el(
    "div",
    { class: "reactions" },
    message.reactions.map(({ emoji, users }) => {
      const isOwn = me !== undefined && users.includes(me);
      return el(
        "button",
        {
          type: "button",
          class: isOwn ? "reaction own" : "reaction",
          title: users.map((id) => names.ofUser(id) ?? "somebody").join(", "),
          "aria-pressed": String(isOwn),
          onclick: () => actions.react(message, emoji, !isOwn),
        },
        `${emoji} ${users.length}`,
      );
    }),
  );
}
