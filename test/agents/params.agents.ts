/** The real program: what a thread asks of its model's calls reaches the model. */
import { expect, test } from "vitest";
import { says } from "../support/agent-threads.ts";
import { realThreads } from "./real-threads.ts";

const real = realThreads();

test("thinking and the most output are in each call's request", async () => {
  const thread = real.open({ agent: { params: { thinking: "low", maxOutputTokens: 9_000 } } });
  thread.write(says("go", { text: "Here." }));
  thread.start();
  await thread.event("turn_end");
  const asked = real.model.requests.filter(({ messages }) => JSON.stringify(messages).includes("go"));
  expect(asked.at(-1)).toMatchObject({ max_tokens: 9_000, output_config: { effort: "low" } });
});
