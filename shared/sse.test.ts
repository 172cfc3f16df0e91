import { expect, test } from "vitest";
import { SseParser } from "./sse.ts";

test("messages are the same, however the stream is cut", () => {
  const stream =
    "retry: 5\n\n: hello\n\nid: 7\n\nid: 8\nevent: a\ndata: {\ndata: }\n\ndata:x\r\n\r\nid: 9\ndata: lost";
  const expected = [
    { id: "7", type: "", data: "" },
    { id: "8", type: "a", data: "{\n}" },
    { id: "8", type: "", data: "x" },
  ];
  for (let size = 1; size <= stream.length; size++) {
    const parser = new SseParser();
    const messages = [];
    for (let at = 0; at < stream.length; at += size)
      messages.push(...parser.push(stream.slice(at, at + size)));
    expect(messages).toEqual(expected);
  }
});

test("a line without an end is refused", () => {
  expect(() => new SseParser().push("x".repeat(2 * 1024 * 1024))).toThrow("has no end");
});
