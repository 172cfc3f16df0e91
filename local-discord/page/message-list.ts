/** The message list: drawn once, then changed part by part, so that a live edit moves nothing else. */
import { byId, clock, compareIds, day, el, fileSize, hueOf } from "./dom.js";
import { icon } from "./icons.js";
import { renderMarkdown } from "./markdown.js";

const GROUP_MS = 7 * 60 * 1000;
const NEAR_BOTTOM_PX = 60;
const BUTTON_STYLES = { 1: "primary", 2: "secondary", 3: "success", 4: "danger", 5: "secondary" };

export class MessageList {
  #context;
  #messages = new Map();
  #rows = new Map();
  #deleted = new Set();
  #list = byId("messages");
  #scroller = byId("scroller");
  #sticks = true;

  /** `context` names people and channels and acts: see `app.js`. */
  constructor(context) {
    this.#context = context;
    this.#scroller.tabIndex = 0; // arrow keys scroll it
    this.#scroller.addEventListener("scroll", () => {
      this.#sticks = this.isAtBottom();
      if (this.#sticks) byId("jump").hidden = true;
    });
    byId("jump").addEventListener("click", () => this.toBottom());
    // What grows by itself (pictures, the composer, a turned phone) must not lose the end.
    new ResizeObserver(() => this.#sticks && this.toBottom()).observe(this.#scroller);
    document.addEventListener("selectionchange", () => this.#drawWaiting());
  }

  clear() {
    this.#messages.clear();
    this.#rows.clear();
    this.#deleted.clear();
    this.#list.replaceChildren();
    this.#sticks = true;
    byId("jump").hidden = true;
  }

  get oldestId() {
    return this.#list.firstElementChild?.dataset.id;
  }

  isAtBottom() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight < NEAR_BOTTOM_PX;
  }

  toBottom() {
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#sticks = true;
    byId("jump").hidden = true;
  }

  /** Runs `change` and keeps the view where it was: at the end, or on what is being read. */
  keepView(change) {
    const { scrollHeight, scrollTop } = this.#scroller;
    const first = this.#list.firstElementChild;
    change();
    if (this.#sticks) this.toBottom();
    else if (first !== this.#list.firstElementChild) {
      this.#scroller.scrollTop = scrollTop + (this.#scroller.scrollHeight - scrollHeight);
    }
  }

  /** New or changed messages; an older copy than the one shown changes nothing. */
  upsert(messages) {
    this.keepView(() => {
      for (const message of messages) {
        const known = this.#messages.get(message.id);
        if (this.#deleted.has(message.id) || (known && known.rev >= message.rev)) continue;
        this.#messages.set(message.id, message);
        if (known) this.#draw(message.id);
        else this.#insert(message);
      }
    });
    if (!this.#sticks && messages.some((message) => !this.#rows.get(message.id)?.nextElementSibling)) {
      byId("jump").hidden = false;
    }
  }

  remove(id) {
    this.#deleted.add(id);
    this.#messages.delete(id);
    const row = this.#rows.get(id);
    if (!row) return;
    const next = row.nextElementSibling;
    this.keepView(() => row.remove());
    this.#rows.delete(id);
    if (next) this.#drawHead(next.dataset.id);
  }

  /** Names of threads or people changed: every part is drawn anew, in the place of what it looked like before. */
  redraw() {
    this.keepView(() => {
      for (const [id, row] of this.#rows) {
        for (const part of Object.values(row.parts)) part.key = undefined;
        this.#draw(id);
      }
    });
  }

  #insert(message) {
    const row = el("li", { class: "message", "data-id": message.id });
    row.parts = {};
    this.#rows.set(message.id, row);
    let before = this.#list.lastElementChild;
    while (before && compareIds(before.dataset.id, message.id) > 0) before = before.previousElementSibling;
    if (before) before.after(row);
    else this.#list.prepend(row);
    this.#draw(message.id);
    const next = row.nextElementSibling;
    if (next) this.#drawHead(next.dataset.id);
  }

  #drawHead(id) {
    const row = this.#rows.get(id);
    if (row?.parts.head) row.parts.head.key = undefined;
    this.#draw(id);
  }

  #drawWaiting() {
    for (const [id, row] of this.#rows) if (row.isWaiting) this.#draw(id);
  }

  /** Only the parts that differ from what is shown are made anew. */
  #draw(id) {
    const message = this.#messages.get(id);
    const row = this.#rows.get(id);
    if (!message || !row) return;
    // Text that somebody is selecting stays until they are done.
    const selection = document.getSelection();
    row.isWaiting =
      selection !== null &&
      !selection.isCollapsed &&
      selection.rangeCount > 0 &&
      selection.containsNode(row, true);
    if (row.isWaiting) return;
    const isHead = this.#startsGroup(message, row);
    const isPing = message.mentions.includes(this.#context.me) || message.isEveryonePinged;
    row.className = [
      "message",
      isHead && "head",
      isPing && "ping",
      message.isEphemeral && "ephemeral",
      isSystem(message) && "system",
    ]
      .filter(Boolean)
      .join(" ");
    const parts = [
      ["day", this.#startsDay(message, row) && message.createdAt, () => dayLine(message)],
      [
        "head",
        isHead && JSON.stringify([message.author, message.replyTo, message.command]),
        () => this.#head(message),
      ],
      [
        "body",
        [message.content, message.isLoading, message.editedAt, message.type].join("\u0000"),
        () => this.#body(message),
      ],
      ["embeds", message.embeds.length > 0 && JSON.stringify(message.embeds), () => this.#embeds(message)],
      ["files", message.attachments.length > 0 && JSON.stringify(message.attachments), () => files(message)],
      [
        "controls",
        message.components.length > 0 && JSON.stringify(message.components),
        () => this.#controls(message),
      ],
      [
        "reactions",
        message.reactions.length > 0 && JSON.stringify(message.reactions),
        () => reactions(message),
      ],
      ["foot", message.isEphemeral && "ephemeral", () => this.#ephemeralFoot(message)],
      ["tools", !isSystem(message) && "tools", () => this.#tools(message)],
    ];
    let last;
    for (const [name, key, make] of parts) {
      const shown = row.parts[name];
      if (shown && shown.key === key) {
        last = shown.node ?? last;
        continue;
      }
      shown?.node?.remove();
      const node = key === false ? undefined : make();
      row.parts[name] = { key, node };
      if (!node) continue;
      if (last) last.after(node);
      else row.prepend(node);
      last = node;
    }
  }

  #startsDay(message, row) {
    const before = this.#messages.get(row.previousElementSibling?.dataset.id);
    return !before || day(before.createdAt) !== day(message.createdAt);
  }

  #startsGroup(message, row) {
    const before = this.#messages.get(row.previousElementSibling?.dataset.id);
    if (isSystem(message)) return false;
    return (
      !before ||
      isSystem(before) ||
      this.#startsDay(message, row) ||
      before.author.id !== message.author.id ||
      before.isEphemeral !== message.isEphemeral ||
      message.replyTo !== undefined ||
      message.command !== undefined ||
      message.createdAt - before.createdAt > GROUP_MS
    );
  }

  #head(message) {
    const { author, replyTo, command } = message;
    const above = replyTo
      ? el(
          "div",
          { class: "above" },
          el("span", { class: "above-line", "aria-hidden": "true" }),
          el("strong", {}, `@${replyTo.author}`),
          " ",
          el(
            "span",
            { class: "clip" },
            replyTo.content.replace(/```\w*/g, "").slice(0, 120) || "an attachment",
          ),
        )
      : command
        ? el(
            "div",
            { class: "above" },
            el("span", { class: "above-line", "aria-hidden": "true" }),
            el("strong", {}, command.user),
            command.name ? " used " : " pressed a button",
            command.name && el("span", { class: "mention" }, `/${command.name}`),
          )
        : undefined;
    return el(
      "div",
      { class: "message-head" },
      above,
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
    );
  }

  #body(message) {
    if (isSystem(message)) return this.#systemLine(message);
    const body = el("div", { class: "content" });
    if (message.isLoading) {
      body.append(
        el(
          "span",
          { class: "thinking" },
          el("span", { class: "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i")),
          ` ${message.author.name} is thinking…`,
        ),
      );
      return body;
    }
    body.append(renderMarkdown(message.content, this.#context));
    if (message.editedAt !== null && message.content !== "") {
      body.append(
        el("small", { class: "edited", title: new Date(message.editedAt).toLocaleString() }, " (edited)"),
      );
    }
    return body;
  }

  #systemLine(message) {
    const line = el("div", { class: "content" }, el("strong", {}, message.author.name));
    if (message.type === 4) line.append(" renamed the thread: ", el("strong", {}, message.content));
    else if (message.type === 18) {
      const thread = message.threadId === undefined ? undefined : this.#context.channelOf(message.threadId);
      line.append(" started a thread: ");
      if (thread) {
        const open = () => this.#context.openChannel(message.threadId);
        line.append(el("button", { type: "button", class: "thread-link", onclick: open }, thread.name, " ›"));
      } else line.append(el("s", {}, message.content), " (deleted)");
    } else if (message.type === 21)
      line.append(` started this thread from a message: ${message.replyTo?.content ?? ""}`);
    line.append(" ", el("time", { class: "time" }, clock(message.createdAt)));
    return line;
  }

  #embeds(message) {
    return el(
      "div",
      { class: "embeds" },
      message.embeds.map((embed) => {
        const card = el("div", { class: "embed" });
        if (embed.color) card.style.borderLeftColor = `#${embed.color.toString(16).padStart(6, "0")}`;
        if (embed.author) card.append(el("div", { class: "embed-author" }, embed.author.name));
        if (embed.title) card.append(this.#marked("div", "embed-title", embed.title));
        if (embed.description) card.append(this.#marked("div", "content", embed.description));
        if (embed.fields?.length) {
          card.append(
            el(
              "div",
              { class: "embed-fields" },
              embed.fields.map((field) =>
                el(
                  "div",
                  { class: field.inline ? "embed-field inline" : "embed-field" },
                  this.#marked("div", "embed-field-name", field.name),
                  this.#marked("div", "content", field.value),
                ),
              ),
            ),
          );
        }
        const foot = [embed.footer?.text, embed.timestamp && new Date(embed.timestamp).toLocaleString()];
        if (foot.some(Boolean))
          card.append(el("div", { class: "embed-foot" }, foot.filter(Boolean).join(" • ")));
        return card;
      }),
    );
  }

  #marked(tag, className, text) {
    return el(tag, { class: className }, renderMarkdown(text, this.#context));
  }

  /** Rows of buttons and selects; of the newer layout components the texts and what is inside. */
  #controls(message) {
    const draw = (component) => {
      if (component.type === 2) return this.#button(message, component);
      if (component.type === 3) return this.#select(message, component);
      if (component.type === 10) return this.#marked("div", "content", String(component.content ?? ""));
      if (component.type === 14) return el("hr");
      const inside = [...(component.components ?? []), ...(component.accessory ? [component.accessory] : [])];
      return el("div", { class: component.type === 1 ? "control-row" : "control-box" }, inside.map(draw));
    };
    return el("div", { class: "controls" }, message.components.map(draw));
  }

  #button(message, component) {
    const label = [component.emoji?.name, component.label].filter(Boolean).join(" ");
    if (component.style === 5) {
      return el(
        "a",
        {
          class: "button secondary",
          href: safeLink(component.url),
          target: "_blank",
          rel: "noopener noreferrer",
        },
        label,
        " ↗",
      );
    }
    const button = el(
      "button",
      {
        type: "button",
        class: `button ${BUTTON_STYLES[component.style] ?? "secondary"}`,
        disabled: component.disabled === true,
      },
      label,
    );
    button.addEventListener("click", () => this.#context.press(message, component.custom_id, button));
    return button;
  }

  #select(message, component) {
    const select = el(
      "select",
      {
        class: "select",
        "aria-label": component.placeholder ?? "Choose",
        disabled: component.disabled === true,
      },
      el("option", { value: "", disabled: true, selected: true }, component.placeholder ?? "Choose…"),
      (component.options ?? []).map((option) => el("option", { value: option.value }, option.label)),
    );
    select.addEventListener("change", () =>
      this.#context.press(message, component.custom_id, select, [select.value]),
    );
    return select;
  }

  #ephemeralFoot(message) {
    return el(
      "div",
      { class: "ephemeral-foot" },
      icon("eye"),
      " Only you can see this • ",
      el(
        "button",
        { type: "button", class: "link", onclick: () => this.#context.dismiss(message) },
        "Dismiss message",
      ),
    );
  }

  #tools(message) {
    if (message.isEphemeral || message.isLoading) return undefined;
    const isOwn = message.author.id === this.#context.me;
    return el(
      "div",
      { class: "tools" },
      el(
        "button",
        {
          type: "button",
          "aria-label": "Reply",
          title: "Reply",
          onclick: () => this.#context.replyTo(message),
        },
        icon("reply"),
      ),
      isOwn &&
        el(
          "button",
          {
            type: "button",
            "aria-label": "Delete message",
            title: "Delete",
            onclick: () => this.#context.remove(message),
          },
          icon("trash"),
        ),
    );
  }
}

function isSystem(message) {
  return [4, 18, 21].includes(message.type);
}

function dayLine(message) {
  return el("div", { class: "day", role: "separator" }, el("span", {}, day(message.createdAt)));
}

function files(message) {
  return el(
    "div",
    { class: "files" },
    message.attachments.map((file) => {
      const address = `/page/attachments/${file.id}/${encodeURIComponent(file.name)}`;
      if (/^image\/(png|jpeg|gif|webp)$/.test(file.contentType)) {
        return el(
          "a",
          { href: address, target: "_blank", rel: "noopener" },
          el("img", { class: "picture", src: address, alt: file.name, loading: "lazy" }),
        );
      }
      return el(
        "a",
        { class: "file", href: address, download: file.name },
        icon("file"),
        el("span", { class: "file-name" }, file.name),
        el("small", {}, fileSize(file.size)),
      );
    }),
  );
}

function reactions(message) {
  return el(
    "div",
    { class: "reactions" },
    message.reactions.map((entry) =>
      el("span", { class: "reaction" }, `${entry.emoji} ${entry.users.length}`),
    ),
  );
}

function safeLink(address) {
  return /^https?:\/\//.test(String(address)) ? address : "about:blank";
}
