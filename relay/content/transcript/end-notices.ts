/** What is told of an agent thread below all its pages, each once: that it was ended, or why it can't go on. */
import type { TranscriptReply } from "../../../shared/agent/api.ts";
import { DONE_BUTTON, GO_ON_BUTTON } from "../buttons.ts";
import type { Notice } from "../content.ts";
import { clipMarkdown, inline } from "./inline.ts";
import { MAX_MESSAGE_UNITS } from "./split.ts";

export const KILLED: Notice = {
  key: "killed",
  text: "⏹ This thread was ended.",
  buttons: DONE_BUTTON,
  isSilent: true,
};

export class EndNotices {
  readonly #starter: string | undefined;
  readonly #told = new Set<string>();
  #isKilled = false;
  #isSilent = false;
  #problem: string | null = null;

  /** @param starter the Discord user who started the thread. */
  constructor(starter: string | undefined) {
    this.#starter = starter;
  }

  get isKilled(): boolean {
    return this.#isKilled;
  }

  accept({ status, problem }: Pick<TranscriptReply, "status" | "problem">): void {
    this.#isKilled = status === "killed";
    this.#problem = problem;
  }

  /** True while somebody ends the thread, who tells it themselves. */
  setSilent(isSilent: boolean): void {
    this.#isSilent = isSilent;
  }

  /** @param seq the event that comes next: a problem is told once for each place at which the thread got stuck. */
  list(seq: number): readonly Notice[] {
    const killed = this.#isSilent ? [] : [KILLED];
    const notices = this.#isKilled ? killed : this.#problemNotice(seq);
    return notices.filter(({ key }) => !this.#told.has(key));
  }

  told({ key }: Notice): void {
    this.#told.add(key);
  }

  #problemNotice(seq: number): Notice[] {
    if (this.#problem === null) return [];
    const whom = this.#starter === undefined ? "" : `<@${this.#starter}> `;
    const words = `${whom}⚠️ **The agent can't go on.** ${inline(this.#problem, 1_000)}`;
    const text = clipMarkdown(words.trim(), MAX_MESSAGE_UNITS);
    const notice: Notice = { key: `p${seq}`, text, buttons: GO_ON_BUTTON, isSilent: false };
    return [this.#starter === undefined ? notice : { ...notice, mention: this.#starter }];
  }
}
