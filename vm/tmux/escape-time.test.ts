import { expect, onTestFinished, test } from "vitest";
import { until } from "../../test/support/wait.ts";
import { EscapeTime } from "./escape-time.ts";

/** A tmux that answers when it is told to, and refuses while `isAway`. */
function make() {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const tmux = { set: [] as string[], isAway: false, refused: 0 };
  const escapeTime = new EscapeTime({
    signal: stop.signal,
    run: async (commands) => {
      await new Promise(setImmediate);
      if (tmux.isAway) {
        tmux.refused += 1;
        throw new Error("away");
      }
      tmux.set.push(...commands.map((command) => command.split(" ").at(-1) ?? ""));
    },
  });
  return { tmux, escapeTime };
}

test("it is long while anybody holds it", async () => {
  const { tmux, escapeTime } = make();
  await Promise.all([escapeTime.hold(), escapeTime.hold()]);
  expect(tmux.set).toEqual(["5000"]);
  await escapeTime.release();
  expect(tmux.set).toEqual(["5000"]);
  await escapeTime.release();
  expect(tmux.set).toEqual(["5000", "10"]);
});

test("whoever holds it while it is let go has it long", async () => {
  const { tmux, escapeTime } = make();
  await escapeTime.hold();
  const released = escapeTime.release();
  await escapeTime.hold();
  await released;
  expect(tmux.set).toEqual(["5000", "10", "5000"]);
});

test("a tmux that is away is asked until it answers, and then for what is wanted by then", async () => {
  const { tmux, escapeTime } = make();
  tmux.isAway = true;
  const held = escapeTime.hold();
  await until("it to be asked", () => tmux.refused > 0);
  const released = escapeTime.release();
  tmux.isAway = false;
  await Promise.all([held, released]);
  // Whether the first attempt was carried out is not known.
  await until("it to be short", () => tmux.set.at(-1) === "10");
  expect(tmux.set).not.toContain("5000");
});

test("another server gets what is wanted; one that was never held gets nothing", async () => {
  const { tmux, escapeTime } = make();
  escapeTime.renew();
  await escapeTime.hold();
  escapeTime.renew();
  await until("it to be long again", () => tmux.set.length === 2);
  expect(tmux.set).toEqual(["5000", "5000"]);
});
