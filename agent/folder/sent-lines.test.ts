/** Receipts outlive the runner: whatever byte its death cuts the file at, no true answer looks forged. */
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { engineSentPath } from "../../shared/agent/paths.ts";
import { makeFolder } from "../../test/support/folders.ts";
import { type Receipt, SentLines } from "./sent-lines.ts";

const { path: folder, remove } = makeFolder();
afterAll(remove);

const file = engineSentPath(folder, 1);
const receipts: Receipt[] = [
  { kind: "answer", id: "a", body: "yes" },
  { kind: "request", id: "ping", body: "" },
  { kind: "answer", id: "b", body: "no" },
];

function whole(): Buffer {
  const lines = SentLines.begin(folder, 1);
  for (const receipt of receipts) lines.note(receipt);
  lines.close();
  return readFileSync(file);
}

test("cut at any byte, the file knows each whole line, and takes the cut one when it is sent again", () => {
  const bytes = whole();
  for (let length = 0; length <= bytes.length; length++) {
    writeFileSync(file, bytes.subarray(0, length));
    const next = SentLines.find(folder, 1);
    if (!next) throw new Error("the file is there");
    // A line is sent once its note is whole: the engine can't have a line whose note is cut.
    const known = bytes.subarray(0, length).toString().split("\n").length - 1;
    expect(receipts.map((receipt) => next.takes(receipt))).toEqual(receipts.map((_, index) => index < known));
    for (const receipt of receipts.slice(known)) next.note(receipt);
    next.close();
    expect(readFileSync(file)).toEqual(bytes);
  }
});

test("each request has one reply, whoever of the runners sent it; an answer may be echoed twice", () => {
  whole();
  const next = SentLines.find(folder, 1);
  const [answer, ping] = [receipts[0]!, receipts[1]!];
  next?.note(ping);
  expect([1, 2, 3].map(() => next?.takes(ping))).toEqual([true, true, false]);
  expect([1, 2].map(() => next?.takes(answer))).toEqual([true, true]);
  expect(next?.takes({ ...answer, body: "other" })).toBe(false);
  next?.close();
});
