import { expect, test } from "vitest";
import { maskArgs } from "./mask-args.ts";

test.each([
  [
    ["--api-key", "abc"],
    ["--api-key", "…"],
  ],
  [["--api-key=abc"], ["--api-key=…"]],
  [["OPENAI_API_KEY=abc"], ["OPENAI_API_KEY=…"]],
  [
    ["-H", "Authorization: Bearer abc"],
    ["-H", "Authorization: …"],
  ],
  [
    ["x", "sk-ant-REDACTED"],
    ["x", "…"],
  ],
  [["--with=ghp_0123456789abcdefghij0123456789abcdef"], ["--with=…"]],
  [
    ["--proxy", "http://me:pw@host:1/x"],
    ["--proxy", "http://me:…@host:1/x"],
  ],
  [["--password-file"], ["--password-file"]],
])("a secret is left out: %j", (args, shown) => {
  expect(maskArgs(args)).toEqual(shown);
});

test("what is none stays", () => {
  const args = [
    ...["-m", "claude-opus-5-5", "--token", "--verbose", "--settings", "/etc/threadmux/settings.json"],
    ...["--add-dir=/home/ada/repos/a-long-directory-name-2026", "http://127.0.0.1:11434/v1", "--effort=low"],
  ];
  expect(maskArgs(args)).toEqual(args);
});
