import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { makeFolder } from "../test/support/folders.ts";
import { Waker } from "./waker.ts";

test("a change ends the wait; a folder that can't be watched is looked at after a while", async () => {
  const folder = makeFolder();
  const waker = new Waker(folder.path);
  const waiting = waker.wait(600_000);
  writeFileSync(join(folder.path, "inbox.jsonl"), "");
  await waiting;
  waker.close();
  folder.remove();
  const blind = new Waker(folder.path);
  await blind.wait(1);
  blind.wake();
  await blind.wait(600_000);
  blind.close();
});
