/** What a thread is told of the limits that it reached; test/terminals/budgets.test.ts has the kernel. */
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { emptyFold } from "../../shared/agent/fold.ts";
import type { Resource } from "../../shared/budget.ts";
import { OWNER } from "../../shared/principal.ts";
import { aThreadId } from "../../test/support/ids.ts";
import type { BudgetGroups } from "../processes/budget-groups.ts";
import type { Taken } from "../processes/controllers.ts";
import { openStore, type Store } from "../store/store.ts";
import { Budgets } from "./budgets.ts";

const threadId = aThreadId("a");
const marker = "M=1";
let store: Store;
let taken: Partial<Record<Resource, Taken>>;
let now: number;
let told: string[];

beforeEach(() => {
  store = openStore(":memory:");
  const command = { dir: ".", path: "/r", command: "go", title: "t", cols: 80, rows: 24, marker };
  store.threads.insert({ threadId, type: "agent", createdBy: OWNER, createdAt: 5, ...command });
  store.threads.update(threadId, { isMade: true });
  store.agents.insert({ threadId, number: 1, status: "idle", fold: emptyFold() });
  store.budgets.insert(threadId, { memory: 1024 ** 3 });
  [taken, now, told] = [{}, 1_000_000, []];
});
afterEach(() => store.close());

/** As a sidecar that has just started has them. The kernel's counts are `taken`. */
function open(): Budgets {
  const groups = { problems: {}, make: () => ({ paths: [], refused: {} }), read: () => taken };
  const budgets = new Budgets({
    ...{ store, usual: {}, lookMs: 3_600_000, now: () => now },
    groups: groups as unknown as BudgetGroups,
    log: pino({ level: "silent" }),
  });
  budgets.start((_, sentence) => void told.push(/has ended (.*) of it/.exec(sentence)?.[1] ?? sentence));
  budgets.close();
  return budgets;
}

test("the first hits in new control groups are told, in a sentence of their own", () => {
  const look = (hits: number, budgets = open()) => {
    taken = { memory: { used: 5, hits } };
    now += 60_000;
    budgets.look();
    return told.splice(0);
  };
  const budgets = open();
  taken = { memory: { used: 5, hits: 0 } };
  budgets.groupsOf({ threadId, marker });
  expect(look(1, budgets)).toEqual(["a process"]);
  expect(look(1)).toEqual([]);
  // The machine has started anew, or the agent's processes have: as many hits as before it are others.
  taken = { memory: { used: 0, hits: 0 } };
  open().groupsOf({ threadId, marker });
  expect(look(1)).toEqual(["2 processes"]);
  expect(look(3)).toEqual(["4 processes"]);
  // A runner that takes over living processes has their groups.
  open().groupsOf({ threadId, marker });
  expect(look(3)).toEqual([]);
  taken = { memory: { used: 0, hits: 0 } };
  open().groupsOf({ threadId, marker });
  expect(look(2)).toEqual(["6 processes"]);
});
