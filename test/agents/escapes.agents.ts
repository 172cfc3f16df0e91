/** The real program tries to get out, in each mode: what is refused, and what a person is asked about. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { AgentThread } from "../support/agent-threads.ts";
import { expectNothing, intoSecrets, intoState, placeSecrets, tries } from "../support/escapes.ts";
import { type Model, startModel } from "./model.ts";
import { claudeEnvironment, claudeProgram } from "./real.ts";

let model: Model;
let thread: AgentThread;

beforeEach(async () => {
  model = await startModel();
});
afterEach(async () => {
  await thread.close();
  await model.close();
});

test.each(["default", "acceptEdits", "bypassPermissions"])(
  "in mode %s the state folder is out of reach, and what looks like a secret is asked about",
  async (permissionMode) => {
    const program = { program: claudeProgram(), args: [], env: claudeEnvironment(model) };
    thread = new AgentThread({ program, agent: { permissionMode }, stateDir: true });
    const place = placeSecrets(thread);
    const refused = intoState(place);
    expect(await tries(thread, refused)).toBe(0);
    expectNothing(thread, place, refused.length);
    const asked = intoSecrets(place);
    expect(await tries(thread, asked)).toBe(asked.length);
    expectNothing(thread, place, asked.length);
  },
);
