import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { createLog } from "../../shared/log.ts";
import { USER_OWNER } from "../../shared/memory/owner.ts";
import { OWNER } from "../../shared/principal.ts";
import { makeFolder } from "../../test/support/folders.ts";
import { openStore, type Store } from "../store/store.ts";
import { MemoryWriter } from "./writer.ts";

let store: Store;
let writer: MemoryWriter;
let folder: string;
beforeEach(() => {
  const made = makeFolder();
  onTestFinished(made.remove);
  const stateDir = realpathSync(made.path);
  folder = join(stateDir, "memory/user");
  mkdirSync(folder, { recursive: true });
  store = openStore(":memory:");
  const log = createLog("vm", "silent");
  const parts = { stateDir, writes: store.memoryWrites, log, now: () => 1 };
  writer = new MemoryWriter({ ...parts, onChange: () => {} });
});

const file = (name: string) => join(folder, name);
const write = (writeId: string, how: "append" | "replace" | "remove", text: string | null, waits = false) =>
  writer.write({ writeId, owner: USER_OWNER, name: "a.md", how, text, by: OWNER, waits });

test("a file that is longer than could be put back is changed by nobody", () => {
  const long = `${"x".repeat(99)}\n`.repeat(2_000);
  expect(write("let-in", "replace", "short\n", true).state).toBe("waiting");
  writeFileSync(file("a.md"), long);
  const tooLong = expect.objectContaining({ code: "too_large", message: expect.stringContaining("200000") });
  expect(() => write("1", "replace", "short\n")).toThrow(tooLong);
  expect(() => write("2", "remove", null)).toThrow(tooLong);
  expect(() => write("3", "append", "more\n")).toThrow(tooLong);
  store.memoryWrites.decide("let-in", true, null);
  writer.finishAll();
  expect(store.memoryWrites.find("let-in")?.state).toBe("failed");
  expect(readFileSync(file("a.md"), "utf8")).toBe(long);
});

test("a write is undone however often it was done again, and the same undo twice does nothing more", () => {
  write("1", "append", "one\n");
  const undone = writer.undo("1", OWNER);
  expect(writer.undo("1", OWNER).writeId).toBe(undone.writeId);
  writer.undo(undone.writeId, OWNER);
  expect(readFileSync(file("a.md"), "utf8")).toBe("one\n");
  writer.undo("1", OWNER);
  expect(() => readFileSync(file("a.md"))).toThrow("ENOENT");
});

test("an undo that failed once can be tried again", () => {
  write("1", "append", "one\n");
  store.memoryWrites.insert({
    ...{
      writeId: "undo-1",
      folder: "user",
      name: "a.md",
      how: "restore",
      text: null,
      by: OWNER,
      threadId: null,
    },
    ...{ at: 1, state: "writing", before: "one\n", beforeHash: "h", afterHash: null, undoes: "1" },
  });
  store.memoryWrites.fail("undo-1");
  expect(writer.undo("1", OWNER).state).toBe("written");
  expect(() => readFileSync(file("a.md"))).toThrow("ENOENT");
});
