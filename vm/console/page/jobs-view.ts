/** The jobs: when each is due next, what came of it last, what it cost today, and why it did not begin. */

import { cleanLine } from "../../../shared/clean-text.ts";
import type { Job, JobRun } from "../../../shared/jobs/job.ts";
import { isClock } from "../../../shared/jobs/when.ts";
import { ApiError, listJobRuns, listJobs } from "./api.ts";
import { errorText, find, make, makeButton } from "./dom.ts";

/** The address of the jobs. */
export const JOBS = "#jobs";
const RUNS_SHOWN = 20;
const MAX_WORDS = 200;

export interface JobsViewOptions {
  onChoose: (threadId: string) => void;
  onSignedOut: () => void;
}

export class JobsView {
  readonly #options: JobsViewOptions;
  /** The jobs of which the runs are shown. */
  readonly #opened = new Set<string>();

  constructor(options: JobsViewOptions) {
    this.#options = options;
    const go = (hash: string) => () => {
      location.hash = hash;
    };
    find("#show-jobs").addEventListener("click", go(JOBS));
    find("#jobs-back").addEventListener("click", go(""));
  }

  /** Shows the jobs if the address says so. */
  follow(): void {
    find("#app").classList.toggle("has-jobs", location.hash === JOBS);
  }

  /** Asks for them anew if they are shown. */
  async refresh(): Promise<void> {
    if (location.hash !== JOBS) return;
    const problem = find("#jobs-problem");
    try {
      const all = await listJobs();
      const cards = await Promise.all(all.map((job) => this.#card(job)));
      find("#jobs-none").hidden = all.length > 0;
      const list = find("#jobs-list");
      const isSame =
        list.children.length === cards.length &&
        cards.every((card, at) => list.children[at]?.isEqualNode(card));
      if (!isSame) list.replaceChildren(...cards);
      problem.textContent = "";
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return this.#options.onSignedOut();
      problem.textContent = errorText(error);
    }
  }

  async #card(job: Job): Promise<HTMLElement> {
    const { name, state, spentTodayUsd, lastRun } = job;
    const isOpened = this.#opened.has(name);
    const cost = spentTodayUsd > 0 ? `$${spentTodayUsd.toFixed(2)} today` : "nothing today";
    const runs = isOpened ? await listJobRuns(name, RUNS_SHOWN) : [];
    const toggle = makeButton(isOpened ? "Hide its runs" : "Its runs", () => {
      if (!this.#opened.delete(name)) this.#opened.add(name);
      void this.refresh();
    });
    toggle.setAttribute("aria-expanded", String(isOpened));
    const facts: readonly (readonly [string, string])[] = [
      ["Next", nextText(job)],
      ["Last", lastRun ? runText(lastRun) : "it has not run yet"],
      ["Cost", cost],
      ["Does", doesText(job)],
    ];
    return make("li", state, [
      make("h3", "", [name, " ", make("span", "state", [state])]),
      make(
        "dl",
        "",
        facts.flatMap(([term, text]) => [make("dt", "", [term]), make("dd", "", [text])]),
      ),
      toggle,
      ...(isOpened ? [this.#runs(runs)] : []),
    ]);
  }

  #runs(runs: readonly JobRun[]): HTMLElement {
    if (runs.length === 0) return make("p", "quiet", ["No runs yet."]);
    const rows = runs.map((run) => {
      const { threadId } = run;
      const open = threadId === null ? [] : [makeButton("Thread", () => this.#options.onChoose(threadId))];
      return make("li", run.status, [make("span", "", [runText(run)]), ...open]);
    });
    return make("ol", "runs", rows);
  }
}

function nextText({ next: [first], state, why, when }: Job): string {
  if (state !== "active") return line(why ?? state);
  if (first !== undefined) return timeText(first);
  return isClock(when)
    ? "never again"
    : when.type === "event"
      ? `at ${when.events.join(", ")}`
      : "at a request";
}

function runText({ status, dueAt, claimedAt, reason, costUsd, missed }: JobRun): string {
  const parts = [
    `${timeText(dueAt ?? claimedAt)}: ${status}`,
    costUsd === null ? "" : `$${costUsd.toFixed(2)}`,
    reason === null ? "" : line(reason),
    missed === 0 ? "" : `${missed} before it were missed`,
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

function doesText({ what }: Job): string {
  const words = "prompt" in what ? what.prompt : "text" in what ? what.text : what.command;
  const directive = "prompt" in what ? what.agent?.directive : undefined;
  return line(`${what.type}${directive === undefined ? "" : ` as ${directive}`}: ${words}`);
}

function line(text: string): string {
  const clean = cleanLine(text);
  return clean.length > MAX_WORDS ? `${clean.slice(0, MAX_WORDS)}…` : clean;
}

/** `Mon, 5 Jan, 09:00`, of this machine. */
function timeText(iso: string): string {
  return new Date(iso).toLocaleString([], {
    weekday: "short",
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
  });
}
