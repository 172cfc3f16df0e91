/** The stand-in tries to get out, in each mode: what is refused, and what a person is asked about. */
import { expect, test } from "vitest";
import { openThreads } from "./support/agent-threads.ts";
import { expectNothing, intoSecrets, intoState, placeSecrets, tries } from "./support/escapes.ts";

const open = openThreads();

test.each(["default", "acceptEdits", "bypassPermissions"])(
  "in mode %s the state folder is refused, and what looks like a secret is asked about",
  async (permissionMode) => {
    const thread = open({ agent: { permissionMode }, stateDir: true });
    const place = placeSecrets(thread);
    const refused = intoState(place);
    expect(await tries(thread, refused)).toBe(0);
    expectNothing(thread, place, refused.length);
    const asked = intoSecrets(place);
    expect(await tries(thread, asked)).toBe(asked.length);
    expectNothing(thread, place, asked.length);
  },
);
