/** The box at the bottom: messages, replies, files, and slash commands. */
import type { SeenCommand, SeenMessage } from "../seen.ts";
import { post } from "./api.ts";
import { CommandForm } from "./command-form.ts";
import { drawComposer } from "./composer-box.ts";
import { byId, el, errorText, fileSize } from "./dom.ts";
import { icon } from "./icons.ts";
import { Listbox } from "./listbox.ts";
import type { PageChannel } from "./state.ts";

const MAX_HEIGHT_PX = 240;
const MAX_FILES = 10;

export interface ComposerContext {
  commands: () => SeenCommand[];
  /** Ids with names. */
  users: () => [string, string][];
  roles: () => [string, string][];
  channels: () => [string, string][];
  onSent: () => void;
}

export class Composer {
  readonly #context: ComposerContext;
  readonly #drafts = new Map<string, string>();
  readonly #listbox: Listbox;
  readonly #parts = drawComposer();
  #channel: PageChannel | undefined;
  #reply: SeenMessage | undefined;
  #files: readonly File[] = [];

  constructor(context: ComposerContext) {
    this.#context = context;
    const { listRoot, error, replyBar, fileBar, formPlace, box, input, picker, attach } = this.#parts;
    this.#listbox = new Listbox(listRoot);
    byId("composer").append(listRoot, error, replyBar, fileBar, formPlace, box);
    box.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#send();
    });
    attach.addEventListener("click", () => picker.click());
    input.addEventListener("input", () => this.#changed());
    input.addEventListener("keydown", (event) => this.#key(event));
    input.addEventListener("blur", () => this.#listbox.close());
    input.addEventListener("focus", () => this.#suggest());
    input.addEventListener("paste", (event) => this.#addFiles(event.clipboardData?.files));
    picker.addEventListener("change", () => {
      this.#addFiles(picker.files);
      picker.value = "";
    });
  }

  /** Each channel keeps its own unsent text. */
  setChannel(channel: PageChannel): void {
    const { input, box, error } = this.#parts;
    if (this.#channel?.id !== channel.id) {
      if (this.#channel) this.#drafts.set(this.#channel.id, input.value);
      input.value = this.#drafts.get(channel.id) ?? "";
      this.#setReply(undefined);
      this.#setFiles([]);
      this.#closeForm();
      error.textContent = "";
    }
    this.#channel = channel;
    const isClosed = channel.isArchived && channel.isLocked;
    const name = channel.isThread ? channel.name : `#${channel.name}`;
    input.placeholder = isClosed ? "This thread is closed" : `Message ${name}`;
    input.setAttribute("aria-label", `Message ${name}`);
    for (const control of box.elements) control.toggleAttribute("disabled", isClosed);
    this.#grow();
  }

  focus(): void {
    this.#parts.input.focus();
  }

  replyTo(message: SeenMessage): void {
    this.#setReply(message);
    this.focus();
  }

  #changed(): void {
    this.#parts.error.textContent = "";
    this.#grow();
    this.#suggest();
  }

  /** There are other commands than before: what is typed may be the beginning of one now. */
  commandsChanged(): void {
    if (document.activeElement === this.#parts.input) this.#suggest();
  }

  #grow(): void {
    const { input } = this.#parts;
    input.style.height = "auto";
    input.style.height = `${Math.min(input.scrollHeight, MAX_HEIGHT_PX)}px`;
  }

  /** While the text is "/" and a beginning of a name, the commands that fit are listed. */
  #suggest(): void {
    const { input } = this.#parts;
    const match = /^\/([\p{L}\p{N}_ -]*)$/u.exec(input.value);
    if (!match || !this.#channel || this.#channel.isArchived) {
      this.#listbox.close();
      return;
    }
    const typed = (match[1] ?? "").toLowerCase().replace(/\s+/g, " ");
    const fitting = this.#context.commands().filter((command) => `${command.name} `.startsWith(typed));
    this.#listbox.show(input, {
      title: "Commands",
      items: fitting.map((command) => ({
        label: `/${command.name}`,
        detail: command.description,
        choose: () => this.#openForm(command),
      })),
      note: "There is no such command; it would be sent as text.",
    });
  }

  #key(event: KeyboardEvent): void {
    if (this.#listbox.handleKey(event)) return;
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      void this.#send();
    } else if (event.key === "Escape" && this.#reply) this.#setReply(undefined);
  }

  async #send(): Promise<void> {
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
      const fields = files.map((file, index) => [`files[${index}]`, file] as const);
      await post("/page/messages", body, { files: fields });
      this.#context.onSent();
    } catch (failure) {
      // Nothing written is lost.
      if (this.#channel?.id === channelId && input.value === "") {
        input.value = content;
        this.#setFiles(files);
        this.#setReply(reply);
        this.#grow();
      }
      error.textContent = `Not sent: ${errorText(failure)}`;
    }
  }

  #openForm(command: SeenCommand): void {
    const { input, box, formPlace } = this.#parts;
    const channelId = this.#channel?.id;
    if (channelId === undefined) return;
    input.value = "";
    this.#changed();
    const leave = () => {
      this.#closeForm();
      this.focus();
    };
    const form = new CommandForm(command, {
      listbox: this.#listbox,
      channelId,
      users: this.#context.users,
      roles: this.#context.roles,
      channels: this.#context.channels,
      onCancel: leave,
      onSend: async (body, files) => {
        await post("/page/commands", { channelId, ...body }, { files });
        leave();
        this.#context.onSent();
      },
    });
    formPlace.replaceChildren(form.element);
    box.hidden = true;
    form.focus();
  }

  #closeForm(): void {
    this.#listbox.close();
    this.#parts.formPlace.replaceChildren();
    this.#parts.box.hidden = false;
  }

  #setReply(message: SeenMessage | undefined): void {
    this.#reply = message;
    const { replyBar } = this.#parts;
    replyBar.hidden = !message;
    if (!message) return;
    replyBar.replaceChildren(
      el("span", {}, "Replying to ", el("strong", {}, message.author.name)),
      closeButton("Do not reply", () => this.#setReply(undefined)),
    );
  }

  #addFiles(files: FileList | null | undefined): void {
    if (files && files.length > 0) this.#setFiles([...this.#files, ...files].slice(0, MAX_FILES));
  }

  #setFiles(files: readonly File[]): void {
    this.#files = files;
    const { fileBar } = this.#parts;
    fileBar.hidden = files.length === 0;
    fileBar.replaceChildren(
      ...files.map((file) => {
        const drop = () => this.#setFiles(this.#files.filter((entry) => entry !== file));
        const label = `${file.name} (${fileSize(file.size)}) `;
        return el("span", { class: "chip" }, label, closeButton(`Do not attach ${file.name}`, drop));
      }),
    );
  }
}

function closeButton(label: string, onclick: () => void): HTMLElement {
  return el("button", { type: "button", class: "icon-button", "aria-label": label, onclick }, icon("close"));
}
