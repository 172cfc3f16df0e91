/** How long threads and their children waited for places, and how long they would have if places changed hands in no time. */
import type { EventOf, ThreadEvent } from "../../shared/agent/events.ts";

/** A turn's time with a place, from when it wanted one. */
interface Phase {
  /** When it wanted a place, after what it depends on. */
  wantedMs: number;
  holdMs: number;
  waitedMs: number;
}

export interface Family {
  id: string;
  /** Until the child is spawned, and from its end on. */
  before: Phase;
  child: Phase;
  after: Phase;
}

const ms = ({ ts }: ThreadEvent) => Date.parse(ts);

/** @returns undefined if the parent has not spawned one child and gone on with its result */
export function familyOf(
  id: string,
  parent: readonly ThreadEvent[],
  child: readonly ThreadEvent[],
): Family | undefined {
  const find = <T extends ThreadEvent["type"]>(events: readonly ThreadEvent[], type: T) =>
    events.find((event): event is EventOf<T> & ThreadEvent => event.type === type);
  const begun = find(parent, "user_message");
  const spawned = find(parent, "thread_spawned");
  const back = find(parent, "thread_ended");
  const end = parent.findLast(({ type }) => type === "turn_end");
  const childBegun = find(child, "user_message");
  const childEnd = child.findLast(({ type }) => type === "turn_end");
  if (!begun || !spawned || !back || !end || !childBegun || !childEnd) return undefined;
  return {
    id,
    before: phaseOf(parent, ms(begun), ms(spawned)),
    child: phaseOf(child, ms(childBegun), ms(childEnd)),
    after: phaseOf(parent, ms(back), ms(end)),
  };
}

function phaseOf(events: readonly ThreadEvent[], fromMs: number, toMs: number): Phase {
  const waits = events.filter(
    (event) =>
      event.type === "step_end" &&
      event.stepId.startsWith("place-") &&
      ms(event) >= fromMs &&
      ms(event) <= toMs,
  );
  const waitedMs = waits.reduce((sum, event) => sum + (event.type === "step_end" ? event.durationMs : 0), 0);
  return { wantedMs: fromMs, waitedMs, holdMs: Math.max(0, toMs - fromMs - waitedMs) };
}

/** The waits of all, summed, if each place went to the next in the queue at once: who comes back first, else by age. */
export function idealWaitMs(families: readonly Family[], places: number): number {
  interface Job {
    family: Family;
    part: "before" | "child" | "after";
    atMs: number;
  }
  let queue: Job[] = [];
  let total = 0;
  const pending: Job[] = families.map((family) => ({ family, part: "before", atMs: family.before.wantedMs }));
  const running: { job: Job; endMs: number }[] = [];
  for (let nowMs = 0; pending.length + queue.length + running.length > 0; ) {
    nowMs = Math.min(...pending.map(({ atMs }) => atMs), ...running.map(({ endMs }) => endMs));
    for (const { job } of running.filter(({ endMs }) => endMs <= nowMs)) {
      running.splice(
        running.findIndex((one) => one.job === job),
        1,
      );
      const { family, part } = job;
      const gap = (from: Phase, to: Phase) =>
        Math.max(0, to.wantedMs - (from.wantedMs + from.waitedMs + from.holdMs));
      if (part === "before")
        pending.push({ family, part: "child", atMs: nowMs + gap(family.before, family.child) });
      if (part === "child")
        pending.push({ family, part: "after", atMs: nowMs + gap(family.child, family.after) });
    }
    for (const job of pending.filter(({ atMs }) => atMs <= nowMs)) {
      pending.splice(pending.indexOf(job), 1);
      queue.push(job);
    }
    const rank = ({ part }: Job) => (part === "after" ? 0 : 1);
    queue.sort((a, b) => rank(a) - rank(b) || a.atMs - b.atMs);
    const free = queue.slice(0, places - running.length);
    queue = queue.slice(free.length);
    for (const job of free) {
      total += nowMs - job.atMs;
      running.push({ job, endMs: nowMs + Math.max(1, job.family[job.part].holdMs) });
    }
  }
  return total;
}

export const waitedMs = ({ before, child, after }: Family) =>
  before.waitedMs + child.waitedMs + after.waitedMs;
