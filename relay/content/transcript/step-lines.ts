/** The lines of an activity that stand for a call or a step, by its id: a turn may have very many. */
import type { StepLine } from "./activity-lines.ts";
import type { Activity } from "./entries.ts";

export class StepLines {
  /** Those of turns that go on. */
  readonly #open = new Map<string, { line: StepLine; activity: Activity }>();

  add(line: StepLine, activity: Activity): void {
    this.#open.set(line.id, { line, activity });
  }

  find(id: string): StepLine | undefined {
    return this.#open.get(id)?.line;
  }

  /** @returns false if there is no line for it */
  end(id: string, state: "done" | "failed", outcome: () => string): boolean {
    const step = this.#open.get(id);
    step?.activity.lines.end(step.line, state, outcome());
    return step !== undefined;
  }

  /** It was worth a line only while it ran. */
  drop(id: string): void {
    const step = this.#open.get(id);
    step?.activity.lines.delete(step.line);
    this.#open.delete(id);
  }

  /** What has no result when its turn ends gets none, also if one is told later: its message may be sealed by then. */
  settle(): void {
    for (const { line, activity } of this.#open.values()) {
      if (line.id.startsWith("step:")) activity.lines.delete(line);
      if (line.state === "running") activity.lines.end(line, "failed", "no result");
      line.id = "";
    }
    this.#open.clear();
  }
}

export function stepLine(id: string, title: string, ts: string): StepLine {
  return { kind: "step", id, title, state: "running", startedAt: Date.parse(ts), outcome: "" };
}
