/** Programs that clear their screen and draw it again, several at once in one relay. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BLANK_PAGE } from "../../relay/content/pages.ts";
import { inFull } from "../support/faults.ts";
import { type Everything, startEverything } from "../support/relay.ts";

const SCRIPT = fileURLToPath(new URL("../fixtures/redraw.sh", import.meta.url));
/** A minute each in the long form. */
const FRAMES = inFull(60, 12);
const SECONDS = inFull(1, 0.25);
const KINDS = inFull(
  [
    "clear",
    "home-erase",
    "erase-home",
    "erase-below",
    "reset",
    "scrollback-first",
    "compiler",
    "scrolled",
    "animation",
    "tall-clear",
    "tall-erase",
    "tall-wide",
    "ink-tall",
    "inline",
    "inline-below",
    "inline-tall",
    "inline-tall-below",
    "moves",
    "moves-tall",
    "over",
    "region",
    "region-origin",
    "middle-tall",
    "middle-row",
    "columns",
    "bar",
  ],
  ["clear", "compiler", "tall-erase", "ink-tall", "inline-tall", "region"],
);

let all: Everything;
beforeAll(async () => {
  // How fast threads may be opened is not what is tested.
  all = await startEverything({ vm: { maxThreads: KINDS.length } });
});
afterAll(() => all.close());

test.concurrent.each(KINDS)(
  "%s is at most three messages, none of them a copy",
  async (kind) => {
    const threadId = await all.openTerminal(`bash '${SCRIPT}' ${kind} ${FRAMES} ${SECONDS}; exec cat`);
    const timeoutMs = FRAMES * SECONDS * 1_000 + 25_000;
    const shown = await all.untilShown(threadId, `after: ${kind}`, timeoutMs);
    const pages = all.discord.driver.messages(threadId).filter(({ content }) => content.startsWith("```"));
    const contents = pages.map(({ content }) => content);
    expect(pages.length).toBeLessThanOrEqual(3);
    const filled = contents.filter((content) => content !== BLANK_PAGE);
    expect(new Set(filled).size).toBe(filled.length);
    const rows = shown.trimEnd().split("\n");
    expect(rows.filter((row) => /^(service-1|row 1) /.test(row)).length).toBeLessThanOrEqual(1);
    const { screen } = await all.sidecar.client.getScreen(threadId, { format: "text" });
    const onScreen = screen
      .trimEnd()
      .split("\n")
      .map((row) => row.trimEnd());
    expect(rows.slice(-onScreen.length)).toEqual(onScreen);
  },
  FRAMES * SECONDS * 1_000 + 60_000,
);
