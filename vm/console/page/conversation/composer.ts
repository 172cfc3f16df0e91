/** The line to write in. What was not sent stays in it, over reloads too, and goes in once however often it is sent. */
import * as z from "zod";
import { ApiError, parseJson, sendMessage } from "../api.ts";
import { errorText, find, findIn, isSendKey } from "../dom.ts";
import { newId } from "../new-id.ts";

const draftSchema = z.object({
  text: z.string(),
  /** What was sent first under this id, while nobody knows whether it went in. */
  sent: z.object({ inputId: z.string(), text: z.string() }).optional(),
});
type Draft = z.infer<typeof draftSchema>;

const MAX_LINES_PX = 220;
const OTHER = "What you sent before had arrived. These words did not go in: press Send to add them.";
const UNSURE = "Your words are kept here. Press Send to send them again: they go in once.";

export class Composer {
  readonly #threadId: string;
  readonly #onSent: () => void;
  readonly #field: HTMLTextAreaElement;
  readonly #button: HTMLButtonElement;
  readonly #notice: HTMLElement;
  /** Stands in the empty field. */
  readonly #invites: string;
  #sent: Draft["sent"];
  #isSending = false;
  #isClosed = false;
  /** What stood in the field when another thread's composer took it over. */
  #left: string | undefined;

  constructor(
    threadId: string,
    onSent: () => void,
    { form = find<HTMLFormElement>("#compose"), invites = "Write to the agent" } = {},
  ) {
    this.#threadId = threadId;
    this.#onSent = onSent;
    this.#field = findIn(form, "textarea");
    this.#button = findIn(form, "button");
    this.#notice = findIn(form, "p");
    this.#invites = invites;
    this.#field.placeholder = invites;
    const { text, sent } = readDraft(threadId);
    this.#field.value = text;
    this.#sent = sent;
    this.#say(sent ? UNSURE : "", true);
    form.onsubmit = (event) => {
      event.preventDefault();
      void this.#send();
    };
    this.#field.oninput = () => {
      this.#keep();
      this.#fit();
    };
    this.#field.onkeydown = (event) => {
      if (!isSendKey(event)) return;
      event.preventDefault();
      void this.#send();
    };
    this.#fit();
  }

  /** @param reason why nothing can be written, or empty */
  setClosed(reason: string): void {
    this.#isClosed = reason !== "";
    this.#field.disabled = this.#isClosed;
    this.#button.disabled = this.#isClosed || this.#isSending;
    this.#field.placeholder = reason === "" ? this.#invites : reason;
  }

  focus(): void {
    this.#field.focus();
  }

  /** Field, button and notice are another thread's from here on. What is still being sent changes the draft alone. */
  leave(): void {
    this.#left = this.#field.value;
  }

  get #text(): string {
    return this.#left ?? this.#field.value;
  }

  set #text(text: string) {
    if (this.#left === undefined) this.#field.value = text;
    else this.#left = text;
  }

  async #send(): Promise<void> {
    const text = this.#text;
    if (this.#isSending || this.#isClosed || text.trim() === "") return;
    this.#isSending = true;
    this.#button.disabled = true;
    this.#sent ??= { inputId: newId(), text };
    this.#keep();
    this.#say("Sending …");
    try {
      const { duplicate } = await sendMessage(this.#threadId, text, this.#sent.inputId);
      const isOther = duplicate === true && this.#sent.text !== text;
      this.#sent = undefined;
      if (isOther) this.#say(OTHER, true);
      else this.#taken(text);
    } catch (error) {
      const isPassing = error instanceof ApiError && (error.isPassing || error.status === 401);
      if (!isPassing) this.#sent = undefined; // it was refused
      this.#say(isPassing ? `${errorText(error)} ${UNSURE}` : errorText(error), true);
    }
    this.#isSending = false;
    this.#keep();
    if (this.#left === undefined) this.#button.disabled = this.#isClosed;
  }

  #taken(text: string): void {
    this.#say("");
    // What was typed while it was on its way stays.
    if (this.#text.startsWith(text)) this.#text = this.#text.slice(text.length);
    if (this.#left !== undefined) return;
    this.#fit();
    this.#onSent();
  }

  #keep(): void {
    const draft: Draft = { text: this.#text, ...(this.#sent && { sent: this.#sent }) };
    if (draft.text === "") sessionStorage.removeItem(nameOf(this.#threadId));
    else sessionStorage.setItem(nameOf(this.#threadId), JSON.stringify(draft));
  }

  #say(text: string, isBad = false): void {
    if (this.#left !== undefined) return;
    this.#notice.textContent = text;
    this.#notice.hidden = text === "";
    this.#notice.classList.toggle("bad", isBad);
  }

  #fit(): void {
    this.#field.style.height = "auto";
    this.#field.style.height = `${Math.min(this.#field.scrollHeight + 2, MAX_LINES_PX)}px`;
  }
}

function nameOf(threadId: string): string {
  return `threadmux.draft.${threadId}`;
}

function readDraft(threadId: string): Draft {
  const draft = draftSchema.safeParse(parseJson(sessionStorage.getItem(nameOf(threadId)) ?? ""));
  return draft.success ? draft.data : { text: "" };
}
