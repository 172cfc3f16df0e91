import { expect, test } from "vitest";
import { knownThreadId } from "../../shared/ids.ts";
import { openStore } from "../store/store.ts";
import { AgentMemory, type AgentMemoryOptions } from "./agent-memory.ts";

test("of an engine that names no calls, the same write of one turn is one write", async () => {
  const ids: string[] = [];
  let begun = 1;
  const memory = new AgentMemory({
    store: openStore(":memory:"),
    folders: { state: "/s", findConfig: () => ({ dir: "/r", launch: {}, agent: {} }) },
    agents: { foldNow: async () => ({ totals: { begun } }) },
    memoryWriter: {
      write: ({ writeId }: { writeId: string }) => {
        ids.push(writeId);
        return { state: "written", threadId: null };
      },
    },
    now: () => 1,
  } as unknown as AgentMemoryOptions);
  const write = () =>
    memory.write(knownThreadId.parse("a"), undefined, { path: "dir/a.md", how: "append", text: "x" });
  await write();
  await write();
  begun = 2;
  await write();
  expect(ids[1]).toBe(ids[0]);
  expect(ids[2]).not.toBe(ids[0]);
});
