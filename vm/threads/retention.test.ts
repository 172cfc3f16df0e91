import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { KeyedQueue } from "../../shared/lifecycle.ts";
import { OWNER } from "../../shared/principal.ts";
import { aThreadId } from "../../test/support/ids.ts";
import { openStore } from "../store/store.ts";
import { Retention, type RetentionOptions } from "./retention.ts";

const PLACE = { dir: ".", path: "/r", command: "true", title: "t", cols: 80, rows: 24 };

test("a thread that was made anew under an old one's id, while that waited to go, stays", async () => {
  const store = openStore(":memory:");
  onTestFinished(() => store.close());
  const insertEnded = (marker: string) => {
    store.threads.insert({
      threadId: id,
      type: "terminal",
      createdBy: OWNER,
      createdAt: 5,
      ...PLACE,
      marker,
    });
    store.threads.update(id, { isMade: true, status: "killed", endedAt: 10 });
  };
  const id = aThreadId("a");
  insertEnded("M=1");
  const queue = new KeyedQueue();
  const removed: string[] = [];
  const retention = new Retention({
    ...{ store, queue, logRetentionHours: 1, log: pino({ level: "silent" }), now: () => 4_000_000 },
    threads: { remove: () => removed.push(store.threads.find(id)?.marker ?? "") },
  } as unknown as RetentionOptions);

  const remade = queue.run(id, async () => {
    store.threads.delete(id);
    insertEnded("M=2");
  });
  await Promise.all([remade, retention.removeOld()]);
  expect(removed).toEqual([]);
  await retention.removeOld();
  expect(removed).toEqual(["M=2"]);
});
