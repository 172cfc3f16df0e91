/** The buttons that show one source of a stream alone: its inputs, and what the agent said to it. */
import type { ThreadEvent } from "../../../../shared/agent/events.ts";
import { listJobs } from "../api.ts";
import { find, makeButton } from "../dom.ts";
import { SOURCE_KINDS, type SourceKind, sourceKindOf } from "./sources.ts";

const LABELS: Record<SourceKind, string> = {
  people: "People",
  jobs: "Jobs",
  hooks: "Hooks",
  threads: "Threads",
};

export class SourceFilter {
  readonly #onChange: () => void;
  /** Jobs that begin with a request from outside, by their names. */
  #hooks: ReadonlySet<string> = new Set();
  #isStream = false;
  #chosen: SourceKind | undefined;

  /** @param onChange something else is to be shown */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
    find("#sources").hidden = true;
  }

  /** Notices by its events that the agent hears several sources. */
  read(events: readonly ThreadEvent[]): void {
    if (this.#isStream) return;
    this.#isStream = events.some(
      (event) =>
        event.type === "voice_message" || (event.type === "user_message" && event.handle !== undefined),
    );
    if (!this.#isStream) return;
    this.#draw();
    void this.#learnHooks();
  }

  close(): void {
    find("#sources").hidden = true;
    find("#sources").replaceChildren();
  }

  readonly isShown = (event: ThreadEvent): boolean =>
    this.#chosen === undefined || this.sourceOf(event) === this.#chosen;

  readonly sourceOf = (event: ThreadEvent): SourceKind | undefined =>
    this.#isStream ? sourceKindOf(event, (job) => this.#hooks.has(job)) : undefined;

  #draw(): void {
    const choices = [undefined, ...SOURCE_KINDS];
    const buttons = choices.map((kind) => {
      const button = makeButton(kind === undefined ? "All" : LABELS[kind], () => this.#choose(kind));
      button.setAttribute("aria-pressed", String(kind === this.#chosen));
      if (kind !== undefined) button.dataset["source"] = kind;
      return button;
    });
    find("#sources").replaceChildren(...buttons);
    find("#sources").hidden = false;
  }

  #choose(kind: SourceKind | undefined): void {
    this.#chosen = kind;
    for (const button of find("#sources").querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button.dataset["source"] === kind));
    this.#onChange();
  }

  async #learnHooks(): Promise<void> {
    try {
      const jobs = await listJobs();
      this.#hooks = new Set(jobs.flatMap(({ name, when }) => (when.type === "webhook" ? [name] : [])));
    } catch {
      return; // the news are read over the same line: what is wrong is said there
    }
    if (this.#hooks.size > 0) this.#onChange();
  }
}
