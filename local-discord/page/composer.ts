/** The box at the bottom: messages, replies, files, and slash commands. */
import { post } from "./api.js";
import { CommandForm } from "./command-form.js";
import { byId, el, fileSize } from "./dom.js";
import { icon } from "./icons.js";
import { Listbox } from "./listbox.js";

const MAX_HEIGHT_PX = 240;

export class Composer {
  #context;
  #channel;
  #drafts = new Map();
  #reply;
  #files = [];
  #form;
  #listbox;
  #parts;

  /** `context`: `{ commands(), users(), channels(), onSent() }` */
  constructor(context) {
    this.#context = context;
    const listRoot = el("div", { id: "suggestions", class: "listbox", hidden: true });
    this.#listbox = new Listbox(listRoot);
    const input = el("textarea", {
      id: "composer-input",
      rows: "1",
      role: "combobox",
      "aria-expanded": "false",
      "aria-autocomplete": "list",
      "aria-haspopup": "listbox",
      enterkeyhint: "send",
      maxlength: "4000",
    });
    const picker = el("input", {
      type: "file",
      multiple: true,
      class: "visually-hidden",
      tabindex: "-1",
      "aria-hidden": "true",
    });
    this.#parts = {
      input,
      picker,
      replyBar: el("div", { class: "reply-bar", hidden: true }),
      fileBar: el("div", { class: "file-bar", hidden: true }),
      error: el("p", { class: "form-error", role: "alert" }),
      box: el(
        "form",
        { class: "composer-box" },
        el(
          "button",
          {
            type: "button",
            class: "icon-button",
            "aria-label": "Attach files",
            title: "Attach files",
            onclick: () => picker.click(),
          },
          icon("attach"),
        ),
        picker,
        input,
        el(
          "button",
          { type: "submit", class: "icon-button send", "aria-label": "Send", title: "Send" },
          icon("send"),
        ),
      ),
      formPlace: el("div", {}),
    };
    const { replyBar, fileBar, error, box, formPlace } = this.#parts;
    byId("composer").append(listRoot, error, replyBar, fileBar, formPlace, box);

    box.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#send();
    });
    input.addEventListener("input", () => this.#changed());
    input.addEventListener("keydown", (event) => this.#key(event));
    input.addEventListener("blur", () => this.#listbox.close());
    input.addEventListener("focus", () => this.#suggest());
    input.addEventListener("paste", (event) => this.#addFiles(event.clipboardData?.files ?? []));
    picker.addEventListener("change", () => {
      this.#addFiles(picker.files);
      picker.value = "";
    });
  }

  /** Each channel keeps its own unsent text. */
  setChannel(channel) {
    const { input, box } = this.#parts;
    if (this.#channel?.id !== channel.id) {
      if (this.#channel) this.#drafts.set(this.#channel.id, input.value);
      input.value = this.#drafts.get(channel.id) ?? "";
      this.#setReply(undefined);
      this.#setFiles([]);
      this.#closeForm();
      this.#parts.error.textContent = "";
    }
    this.#channel = channel;
    const isClosed = channel.isArchived && channel.isLocked;
    const name = channel.isThread ? channel.name : `#${channel.name}`;
    input.placeholder = isClosed ? "This thread is closed" : `Message ${name}`;
    input.setAttribute("aria-label", `Message ${name}`);
    for (const control of box.elements) control.disabled = isClosed;
    this.#grow();
  }

  focus() {
    this.#parts.input.focus();
  }

  replyTo(message) {
    this.#setReply(message);
    this.focus();
  }

  #changed() {
    this.#parts.error.textContent = "";
    this.#grow();
    this.#suggest();
  }

  #grow() {
    const { input } = this.#parts;
    input.style.height = "auto";
    input.style.height = `${Math.min(input.scrollHeight, MAX_HEIGHT_PX)}px`;
  }

  /** While the text is "/" and a beginning of a name, the commands that fit are listed. */
  #suggest() {
    const { input } = this.#parts;
    const match = /^\/([\w -]*)$/.exec(input.value);
    if (!match || !this.#channel || this.#channel.isArchived) {
      this.#listbox.close();
      return;
    }
    const typed = match[1].toLowerCase();
    const fitting = this.#context.commands().filter((command) => command.name.startsWith(typed.trimEnd()));
    this.#listbox.show(input, {
      title: "Commands",
      items: fitting.map((command) => ({
        label: `/${command.name}`,
        detail: command.description,
        value: command,
      })),
      note: "There is no such command; it would be sent as text.",
      onChoose: ({ value }) => this.#openForm(value),
    });
  }

  #key(event) {
    if (this.#listbox.handleKey(event)) return;
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      void this.#send();
    } else if (event.key === "Escape" && this.#reply) this.#setReply(undefined);
  }

  async #send() {
    const { input, error } = this.#parts;
    const content = input.value;
    const files = this.#files;
    const reply = this.#reply;
    const channelId = this.#channel?.id;
    if ((content.trim() === "" && files.length === 0) || channelId === undefined) return;
    input.value = "";
    this.#setFiles([]);
    this.#setReply(undefined);
    this.#changed();
    try {
      const body = { channelId, content, replyTo: reply?.id };
      await post("/page/messages", body, { files: files.map((file, index) => [`files[${index}]`, file]) });
      this.#context.onSent();
    } catch (failure) {
      // Nothing written is lost.
      if (this.#channel?.id === channelId && input.value === "") {
        input.value = content;
        this.#setFiles(files);
        this.#setReply(reply);
        this.#grow();
      }
      error.textContent = `Not sent: ${failure.message}`;
    }
  }

  #openForm(command) {
    const { input, box, formPlace } = this.#parts;
    input.value = "";
    this.#changed();
    this.#form = new CommandForm(command, {
      listbox: this.#listbox,
      channelId: () => this.#channel.id,
      users: () => this.#context.users(),
      channels: () => this.#context.channels(),
      onCancel: () => {
        this.#closeForm();
        this.focus();
      },
      onSend: async (body, files) => {
        await post("/page/commands", { channelId: this.#channel.id, ...body }, { files });
        this.#closeForm();
        this.focus();
        this.#context.onSent();
      },
    });
    formPlace.replaceChildren(this.#form.element);
    box.hidden = true;
    this.#form.focus();
  }

  #closeForm() {
    this.#listbox.close();
    this.#form = undefined;
    this.#parts.formPlace.replaceChildren();
    this.#parts.box.hidden = false;
  }

  #setReply(message) {
    this.#reply = message;
    const { replyBar } = this.#parts;
    replyBar.hidden = !message;
    if (!message) return;
    replyBar.replaceChildren(
      el("span", {}, "Replying to ", el("strong", {}, message.author.name)),
      el(
        "button",
        {
          type: "button",
          class: "icon-button",
          "aria-label": "Do not reply",
          onclick: () => this.#setReply(undefined),
        },
        icon("close"),
      ),
    );
  }

  #addFiles(files) {
    if (files.length > 0) this.#setFiles([...this.#files, ...files].slice(0, 10));
  }

  #setFiles(files) {
    this.#files = files;
    const { fileBar } = this.#parts;
    fileBar.hidden = files.length === 0;
    fileBar.replaceChildren(
      ...files.map((file) =>
        el(
          "span",
          { class: "chip" },
          `${file.name} (${fileSize(file.size)}) `,
          el(
            "button",
            {
              type: "button",
              class: "icon-button",
              "aria-label": `Do not attach ${file.name}`,
              onclick: () => this.#setFiles(this.#files.filter((entry) => entry !== file)),
            },
            icon("close"),
          ),
        ),
      ),
    );
  }
}
