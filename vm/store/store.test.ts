import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeEach, expect, test } from "vitest";
import { OWNER } from "../../shared/principal.ts";
import { makeFolder } from "../../test/support/folders.ts";
import { aThreadId } from "../../test/support/ids.ts";
import { openStore, type Store } from "./store.ts";
import type { NewThread } from "./threads.ts";

let store: Store;

beforeEach(() => {
  store = openStore(":memory:");
});

const thread = (threadId: string, more: Partial<NewThread> = {}): NewThread => ({
  threadId: aThreadId(threadId),
  type: "terminal",
  dir: ".",
  path: "/r",
  command: "true",
  title: "t",
  createdBy: OWNER,
  createdAt: 5,
  cols: 80,
  rows: 24,
  marker: "M=1",
  ...more,
});

test("a thread comes back as it was stored, and as it was changed", () => {
  store.threads.insert(thread("a", { command: "nasty '; DROP TABLE threads; --\n\u{1f600}" }));
  expect(store.threads.find(aThreadId("a"))).toMatchObject({
    ...thread("a"),
    command: expect.stringContaining("DROP"),
    isMade: false,
  });
  store.threads.update(aThreadId("a"), { status: "exited", isMade: true, exitCode: 3, endedAt: 9 });
  expect(store.threads.find(aThreadId("a"))).toMatchObject({
    status: "exited",
    isMade: true,
    exitCode: 3,
    endedAt: 9,
  });
  expect(store.threads.find(aThreadId("b"))).toBeUndefined();
});

test("open and ended ones are told apart, oldest first", () => {
  for (const [id, status] of [
    ["a", "running"],
    ["b", "idle"],
    ["c", "exited"],
    ["d", "killed"],
    ["e", "lost"],
  ] as const) {
    store.threads.insert(thread(id, { createdAt: 10 - (id.charCodeAt(0) % 5) }));
    store.threads.update(aThreadId(id), { status });
  }
  const ids = (which: "open" | "ended" | "all") => store.threads.list(which).map((row) => row.threadId);
  expect(ids("open").sort()).toEqual(["a", "b", "c"]);
  expect(ids("ended").sort()).toEqual(["d", "e"]);
  const times = store.threads.list("all").map((row) => row.createdAt);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(store.threads.countOpen("terminal")).toBe(3);
  expect(store.threads.countOpen("agent")).toBe(0);
});

test("the same id again replaces the thread and everything of it", () => {
  store.threads.insert(thread("a", { type: "agent" }));
  store.deliveries.set(aThreadId("a"), { offset: 3 });
  store.inputs.set(aThreadId("a"), "id", "sent");
  store.messages.setSent(aThreadId("a"), "page.0", "1");
  store.threads.insert(thread("a", { type: "agent", command: "new" }));
  expect(store.deliveries.find(aThreadId("a"))).toBeUndefined();
  expect(store.inputs.find(aThreadId("a"), "id")).toBeUndefined();
  expect(store.messages.list()).toEqual([]);
});

test("a start that was cut off while it reserved room keeps nobody from the next one", () => {
  const { path, remove } = makeFolder();
  try {
    const file = join(path, "db");
    const first = openStore(file);
    first.threads.insert(thread("a"));
    first.close();
    const db = new Database(file);
    db.exec("CREATE TABLE reserve AS SELECT zeroblob(4096) AS bytes");
    db.close();
    const second = openStore(file);
    expect(second.threads.find(aThreadId("a"))).toMatchObject(thread("a"));
    second.close();
  } finally {
    remove();
  }
});

test("a transaction that fails leaves nothing behind", () => {
  store.threads.insert(thread("a"));
  const work = () =>
    store.transaction(() => {
      store.threads.insert(thread("b"));
      store.threads.update(aThreadId("a"), { status: "exited", exitCode: 3 });
      store.deliveries.set(aThreadId("a"), { offset: 3 });
      throw new Error("no");
    });
  expect(work).toThrow("no");
  expect(store.threads.find(aThreadId("a"))).toMatchObject({ status: "running", exitCode: null });
  expect(store.threads.find(aThreadId("b"))).toBeUndefined();
  expect(store.deliveries.find(aThreadId("a"))).toBeUndefined();
});

test("a thread's name is unique over all time: in one second, after its removal, and if the clock goes back", () => {
  const names: string[] = [];
  const make = (id: string, createdAt: number, called?: string) => {
    store.threads.insert(thread(id, { createdAt, ...(called && { called }) }));
    names.push(store.threads.find(aThreadId(id))?.name ?? "");
  };
  make("a", 1_760_000_000_000);
  make("b", 1_760_000_000_900);
  store.threads.delete(aThreadId("b"));
  make("b", 1_760_000_000_000);
  make("c", 1_500_000_000_000);
  make("terminal-1760000005", 1_760_000_000_000);
  make("d", 1_760_000_005_000);
  make("e", 1_760_000_000_000, "x".repeat(64));
  expect(names).toEqual([
    ...["terminal-1760000000", "terminal-1760000001", "terminal-1760000002", "terminal-1760000003"],
    ...["terminal-1760000004", "terminal-1760000006", `${"x".repeat(48)}-1760000000`],
  ]);
  expect(store.threads.findByName("terminal-1760000001")).toBeUndefined();
});
