/** Downloads: one at a time, within the bound, and none in another file's place. Downloads here are Playwright's doubles. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Download } from "playwright-core";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MAX_ATTACHMENT_BYTES } from "../shared/agent/attachments.ts";
import { Downloads } from "./downloads.ts";

let folder: string;
let downloads: Downloads;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tmx-downloads-"));
  mkdirSync(join(folder, "scratch"));
  downloads = new Downloads(folder);
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

const scratch = (name: string) => join(folder, "scratch", name);
const kept = (name: string) => join(folder, "attachments", name);

function makeFile(path: string, bytes: number): void {
  writeFileSync(path, "");
  truncateSync(path, bytes);
}

/** On its way until it is told to end. */
function begin(name: string, bytes: number) {
  const file = scratch(`guid-of-${name}`);
  makeFile(file, bytes);
  let end: (error?: Error) => void = () => {};
  const arrived = new Promise<void>((resolve, reject) => {
    end = (error) => (error ? reject(error) : resolve());
  });
  arrived.catch(() => undefined);
  const seen = { isCancelled: false };
  const download = {
    suggestedFilename: () => name,
    path: () => arrived.then(() => file),
    cancel: async () => {
      seen.isCancelled = true;
      end(new Error("canceled"));
    },
    delete: async () => rmSync(file, { force: true }),
    saveAs: (to: string) => arrived.then(() => writeFileSync(to, readFileSync(file))),
  };
  return { seen, end: () => end(), taken: downloads.take(download as unknown as Download) };
}

test("a second one is refused while the first is on its way, which goes on", async () => {
  const first = begin("a.csv", 10);
  expect(await begin("b.csv", 10).taken).toBe("b.csv was not downloaded: another file is on its way.");
  first.end();
  expect(await first.taken).toEqual({ name: "a.csv", bytes: 10 });
  const third = begin("b.csv", 5);
  third.end();
  expect(await third.taken).toEqual({ name: "b.csv", bytes: 5 });
});

test("Chromium's own files below its scratch folder are no downloads; one that is too large is cancelled", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  mkdirSync(scratch("cache"));
  makeFile(scratch("cache/data_1"), MAX_ATTACHMENT_BYTES + 1);
  const small = begin("a.csv", 10);
  vi.advanceTimersByTime(1_000); // it is looked at
  expect(small.seen.isCancelled).toBe(false);
  small.end();
  expect(await small.taken).toEqual({ name: "a.csv", bytes: 10 });
  const large = begin("b.iso", MAX_ATTACHMENT_BYTES + 1);
  vi.advanceTimersByTime(1_000);
  expect(await large.taken).toMatch(/^b\.iso was not downloaded: it has more than 26,214,400 bytes\.$/);
  expect([existsSync(kept("b.iso")), existsSync(scratch("guid-of-b.iso"))]).toEqual([false, false]);
});

test("a name that is taken while the file comes is left to its owner", async () => {
  const download = begin("a.csv", 10);
  writeFileSync(kept("a.csv"), "a person's");
  download.end();
  const { name } = (await download.taken) as { name: string };
  expect(name).not.toBe("a.csv");
  expect(readFileSync(kept("a.csv"), "utf8")).toBe("a person's");
  expect(readFileSync(kept(name)).length).toBe(10);
});
