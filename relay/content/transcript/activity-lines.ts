/** The lines of an activity. A turn may have very many, so counts are kept, and no message needs a look at all lines. */

/** One line of an activity message. */
export type ActivityLine =
  | { kind: "narration"; text: string }
  | { kind: "remark"; text: string }
  | {
      kind: "step";
      /** The id of the call or step; empty once its turn has ended. */
      id: string;
      /** The tool that is called; undefined if it is no call. */
      name?: string;
      title: string;
      state: "running" | "done" | "failed";
      /** When it began, in milliseconds since 1970. */
      startedAt: number;
      /** Its outcome in words, such as `+12 −3` or `exit 1 · 2 s`. */
      outcome: string;
    };

export type StepLine = ActivityLine & { kind: "step" };

export class ActivityLines {
  readonly #there = new Set<ActivityLine>();
  /** In order, with some that are not there any more. */
  readonly #order: ActivityLine[] = [];
  readonly #counts = { steps: 0, running: 0, modelCalls: 0 };

  get count(): number {
    return this.#there.size;
  }

  get stepCount(): number {
    return this.#counts.steps;
  }

  get isRunning(): boolean {
    return this.#counts.running > 0;
  }

  /** When the first line's step began, if all of them are calls of the model. */
  get thinksSince(): number | undefined {
    if (this.#counts.modelCalls < this.#there.size) return undefined;
    const [first] = this.#there;
    return first?.kind === "step" ? first.startedAt : undefined;
  }

  add(line: ActivityLine): void {
    this.#there.add(line);
    this.#order.push(line);
    if (line.kind === "step") this.#sum(line, 1);
  }

  delete(line: StepLine): void {
    if (this.#there.delete(line)) this.#sum(line, -1);
  }

  end(line: StepLine, state: "done" | "failed", outcome: string): void {
    if (line.state === "running" && this.#there.has(line)) this.#counts.running -= 1;
    Object.assign(line, { state, outcome });
  }

  /** The last `count` lines, the newest first. */
  newest(count: number): ActivityLine[] {
    const found: ActivityLine[] = [];
    while (found.length < count) {
      const line = this.#order.pop();
      if (!line) break;
      if (this.#there.has(line)) found.push(line);
    }
    for (const line of found.toReversed()) this.#order.push(line);
    return found;
  }

  #sum(line: StepLine, one: 1 | -1): void {
    this.#counts.steps += one;
    if (line.state === "running") this.#counts.running += one;
    if (line.id.startsWith("step:")) this.#counts.modelCalls += one;
  }
}
