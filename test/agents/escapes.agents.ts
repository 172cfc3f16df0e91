/** The real program tries to get out, in each mode: what is refused, and what a person is asked about. */
import { expect, test } from "vitest";
import { expectNothing, intoSecrets, intoState, placeSecrets, tries } from "../support/escapes.ts";
import { realThreads } from "./real-threads.ts";

const real = realThreads();

test.each(["default", "acceptEdits", "bypassPermissions"])(
  "in mode %s the state folder is out of reach, and what looks like a secret is asked about",
  async (permissionMode) => {
    const thread = real.open({ agent: { permissionMode }, stateDir: true });
    const place = placeSecrets(thread);
    const refused = intoState(place);
    expect(await tries(thread, refused)).toBe(0);
    expectNothing(thread, place, refused.length);
    const asked = intoSecrets(place);
    expect(await tries(thread, asked)).toBe(asked.length);
    expectNothing(thread, place, asked.length);
  },
);
