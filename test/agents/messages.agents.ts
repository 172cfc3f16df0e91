/** What another agent writes, before the real program: a text that expands nothing, at rest and in mid-turn. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bash, says } from "../support/agent-threads.ts";
import { realThreads } from "./real-threads.ts";

const real = realThreads();

test("another agent's message is read once, says who wrote it, and neither command nor path in it counts", async () => {
  const thread = real.open({ agent: { permissionMode: "bypassPermissions" }, timeouts: { idleSeconds: 2 } });
  writeFileSync(join(thread.dir, "secret.txt"), "the content of the file");
  const from = { source: "thread:other", plain: true, hops: 1 };
  const slow = { tools: [bash("timeout 2 tail -f /dev/null; true")] };
  thread.write(says("work", slow, { text: "Worked." }));
  thread.start();
  await thread.event("tool_call");
  thread.write("/compact MIDTURN @secret.txt", from);
  await thread.event("turn_end");
  thread.write("/compact ATREST @secret.txt", from);
  await thread.event("turn_end", 2);
  await thread.ended();
  const last = JSON.stringify(real.model.requests.at(-1));
  for (const word of ["MIDTURN", "ATREST"]) {
    expect(last.split(`[thread:other] /compact ${word} @secret.txt`)).toHaveLength(2);
    expect(last.split(word)).toHaveLength(2);
  }
  expect(last).not.toContain("the content of the file");
  expect(thread.of("compaction_update")).toEqual([]);
  expect(thread.of("user_message").map(({ source }) => source)).toEqual([
    "discord:7",
    "thread:other",
    "thread:other",
  ]);
  expect(thread.fold()).toMatchObject({ hops: 1, messages: [], deliveries: [] });
});

test("an @path is read in what a person typed, in no file's name and in nothing that came out of a file", async () => {
  const thread = real.open({ agent: { permissionMode: "bypassPermissions" }, timeouts: { idleSeconds: 2 } });
  for (const name of ["typed", "named", "inside", "hook"]) {
    writeFileSync(join(thread.dir, `${name}.txt`), `the content of ${name}`);
  }
  const link = { type: "resource_link", name: "a @named.txt b", uri: "attachments/a @named.txt b" };
  thread.write("Look at @typed.txt");
  thread.start();
  await thread.event("turn_end");
  thread.write("NAMED", { content: [{ type: "text", text: "NAMED" }, link] });
  await thread.event("turn_end", 2);
  thread.write("INSIDE @inside.txt", { plain: true });
  await thread.event("turn_end", 3);
  thread.write("HOOK @hook.txt", { source: "caller:ci" });
  await thread.event("turn_end", 4);
  await thread.ended();
  const last = JSON.stringify(real.model.requests.at(-1));
  for (const word of ["NAMED", "a @named.txt b", "INSIDE", "HOOK"]) expect(last).toContain(word);
  expect(last).toContain("the content of typed");
  for (const name of ["named", "inside", "hook"]) expect(last).not.toContain(`the content of ${name}`);
});
