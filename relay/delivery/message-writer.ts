/**
 * Writes messages of one thread. What Discord will never take as it is, it writes in other forms, one a call, so that
 * each of them waits for its time: the thread goes on, and people read why.
 */

import type { DiscordId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { Page } from "../content/content.ts";
import type { DiscordApi, OutgoingFile } from "../discord/api.ts";
import { toComponents } from "../discord/buttons.ts";
import { findRejection } from "../discord/refusals.ts";
import type { Ledger } from "./ledger.ts";
import { type Form, formsOf, inForm } from "./message-forms.ts";
import { isThere, outgoing, type Post } from "./outgoing.ts";
import { shownBy } from "./plan.ts";

/** A page that changes all the time, and is refused each time, is tried so often. */
const REST_MS = 10_000;
/** How many messages are remembered that Discord has refused in some form. */
const MAX_REJECTED = 100;

export interface MessageWriterOptions {
  threadId: DiscordId;
  ledger: Pick<Ledger, "send" | "noteEdit" | "forget">;
  api: Pick<DiscordApi, "edit" | "deleteMessage">;
  /** An attachment of the thread; undefined if it is gone. */
  readFile?: (name: string) => Promise<OutgoingFile | undefined>;
  log: Log;
  now: () => number;
}

interface Rejected {
  readonly shows: string;
  /** In which it is tried next, or stands there. */
  readonly form: Form;
  /** Discord's words. */
  readonly why: string;
  /** Since when its message shows this form; undefined if it does not. */
  readonly at?: number;
  /** Discord took nothing at all there: perhaps the message was never what it refused. */
  readonly isUnsure?: true | undefined;
}

export class MessageWriter {
  readonly #options: MessageWriterOptions;
  /** Messages that Discord has refused in some form, by key. */
  readonly #rejected = new Map<string, Rejected>();

  constructor(options: MessageWriterOptions) {
    this.#options = options;
  }

  /** Not before this time the page's message is edited again. */
  restsUntil({ key, isSealed }: Page): number {
    const { at } = this.#rejected.get(key) ?? {};
    return isSealed || at === undefined ? 0 : at + REST_MS;
  }

  /** @returns false if it has to be sent once more. @throws what is no matter of this message */
  async send(key: string, post: Post): Promise<boolean> {
    const { ledger, readFile } = this.#options;
    const { form, why, isUnsure } = this.#stateOf(key, post);
    const formed = inForm(post, form, why);
    const own = formed.post.file === undefined ? undefined : await readFile?.(formed.post.file);
    const file = formed.file ?? own;
    try {
      const isSent = await ledger.send(
        key,
        { ...outgoing(formed.post), ...(file && { file }) },
        shownBy(post),
      );
      if (isSent) this.#sent(key, post, { form, why, isUnsure });
      return isSent;
    } catch (error) {
      if (this.#goOn(key, post, form, error)) return false;
      // A sentence of ours is no worse than any other: whatever Discord has against it, it has against the thread.
      if (findRejection(error) !== undefined)
        this.#note(key, { shows: shownBy(post), form, why, isUnsure: true });
      throw error;
    }
  }

  #sent(key: string, post: Post, { isUnsure, ...state }: Pick<Rejected, "form" | "why" | "isUnsure">): void {
    this.#stands(key, post, state);
    if (!isUnsure) return;
    // A page is tried once more as it is, by an edit.
    this.#rejected.delete(key);
    this.#options.ledger.noteEdit(key, undefined);
  }

  /** @returns false if the message is gone. @throws what is no matter of this message */
  async edit(id: string, page: Page): Promise<boolean> {
    const { ledger, api, threadId, log, readFile } = this.#options;
    const { key } = page;
    const { form, why } = this.#stateOf(key, page);
    const { post, file: standIn } = inForm(page, form, why);
    const own = post.renewsFile && post.file !== undefined ? await readFile?.(post.file) : undefined;
    const file = standIn ?? own;
    // Until there is an answer it may show either.
    ledger.noteEdit(key, undefined);
    // What an earlier form brought goes with its words, also one of an earlier process.
    const isRewritten = post.text !== "" && post.file === undefined;
    const edit = {
      ...(post.text === "" ? {} : { content: post.text }),
      components: toComponents(post.buttons, post.selects),
      ...(file ? { files: [file] } : isRewritten ? { files: [] } : {}),
    };
    try {
      if (!(await isThere(api.edit(threadId, id, edit)))) return false;
    } catch (error) {
      if (this.#goOn(key, page, form, error)) return true;
      if (findRejection(error) === undefined) throw error;
      log.error({ err: error, key }, "Discord takes no change of a message; it stays as it is");
    }
    ledger.noteEdit(key, shownBy(page));
    this.#stands(key, page, { form, why });
    return true;
  }

  async delete(key: string, id: string): Promise<void> {
    const { ledger, api, threadId, log } = this.#options;
    try {
      await isThere(api.deleteMessage(threadId, id));
    } catch (error) {
      if (findRejection(error) === undefined) throw error;
      log.error({ err: error, key }, "Discord does not delete a message; it stays");
    }
    ledger.forget(key);
  }

  /** Its message is there, and shows it in this form. */
  #stands(key: string, post: Post, { form, why }: Pick<Rejected, "form" | "why">): void {
    if (form === "whole") this.#rejected.delete(key);
    else this.#note(key, { shows: shownBy(post), form, why, at: this.#options.now() });
  }

  #stateOf(key: string, post: Post): Pick<Rejected, "form" | "why" | "isUnsure"> {
    const known = this.#rejected.get(key);
    return known?.shows === shownBy(post) ? known : { form: "whole", why: "" };
  }

  /** @returns whether there is another form to try it in. */
  #goOn(key: string, post: Post, form: Form, error: unknown): boolean {
    const forms = formsOf(post);
    const next = forms[forms.indexOf(form) + 1];
    const known = this.#stateOf(key, post);
    const why = findRejection(error, { hasFile: form === "controls" || form === "file" });
    if (why === undefined || next === undefined) return false;
    this.#options.log.warn(
      { err: error, key, form: next },
      "Discord does not take a message; it gets another form",
    );
    this.#note(key, { shows: shownBy(post), form: next, why: known.why || why });
    return true;
  }

  #note(key: string, rejected: Rejected): void {
    this.#rejected.delete(key);
    this.#rejected.set(key, rejected);
    const [oldest] = this.#rejected.keys();
    if (this.#rejected.size > MAX_REJECTED && oldest !== undefined) this.#rejected.delete(oldest);
  }
}
