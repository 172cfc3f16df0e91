import { expect, test } from "vitest";
import { unaskedTools } from "./tools-of-ours.ts";

test("each tool is let through by its own name: none by the server's, so a new one is asked about", () => {
  expect(unaskedTools("threadmux").sort()).toEqual(
    [
      ...[
        "browser_close",
        "browser_look",
        "done",
        "job_add",
        "job_list",
        "job_remove",
        "kill_thread",
        "list_threads",
        "memory_get",
      ],
      ...[
        "memory_search",
        "memory_write",
        "message",
        "read_inputs",
        "read_transcript",
        "report",
        "send_file",
      ],
      ...["spawn_thread", "thread_status", "wait_thread"],
    ].map((name) => `mcp__threadmux__${name}`),
  );
});
