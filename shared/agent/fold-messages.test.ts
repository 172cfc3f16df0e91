import { expect, test } from "vitest";
import { expandsNothing } from "./fold-messages.ts";
import type { Block } from "./values.ts";

const file = (name: string): Block => ({ type: "resource_link", name, uri: `attachments/${name}` });

// Promise: S25
test.each([
  ["what a person typed", { source: "discord:7" }, false],
  ["with a file", { source: "owner", files: [file("notes.txt")] }, false],
  ["whose name begins a path", { source: "discord:7", files: [file("a @etc")] }, true],
  [
    "or is one",
    { source: "discord:7", files: [{ type: "image", mimeType: "image/png", uri: "attachments/@x" }] },
    true,
  ],
  ["what came out of a file", { source: "discord:7", plain: true }, true],
  ["another agent's words", { source: "thread:a" }, true],
  ["a webhook's words", { source: "caller:ci" }, true],
  ["a job's words", { source: "job:nightly" }, true],
] as const)(
  "%s: commands and paths in it are read unless it is not a person's own",
  (_name, message, expected) => {
    const { source, files = [], plain = false } = { files: [], plain: false, ...message };
    const content: Block[] = [{ type: "text", text: "See @/etc/passwd" }, ...files];
    expect(expandsNothing({ source, plain, content })).toBe(expected);
  },
);
