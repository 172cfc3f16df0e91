/** Each part of a browser is killed: it comes back at its address and says so, and nothing of it is left at its end. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { act, type Browsing, browserPids, START_MS, startBrowsing, untilState } from "../support/browsers.ts";
import { until } from "../support/wait.ts";

let browsing: Browsing;
let sidecar: Browsing["sidecar"];
let site: Browsing["site"];

beforeAll(async () => {
  browsing = await startBrowsing();
  ({ sidecar, site } = browsing);
}, START_MS);
afterAll(() => browsing?.close());

const end = (pids: readonly number[]) => {
  for (const pid of pids) process.kill(pid, "SIGKILL");
};

const KILLS: [string, () => Promise<void> | void][] = [
  ["Chromium", () => end(browserPids(sidecar, "chromium"))],
  ["its program", () => end(browserPids(sidecar, "program"))],
  ["tmux", () => end([sidecar.folders.tmuxPid()])],
];

test.each(KILLS)(
  "%s is killed: the browser is started anew at its address",
  async (_, kill) => {
    await act(sidecar, "page", { do: "open", url: site.at("/about") });
    const before = await untilState(
      sidecar,
      "page",
      "the page",
      ({ title, status }) => title === "/about" && status === "ready",
    );
    await kill();
    const after = await untilState(
      sidecar,
      "page",
      "a new start",
      ({ note, status, picture }) =>
        status === "ready" && picture > before.picture && (note?.includes("started anew") ?? false),
    );
    expect(after.url).toBe(site.at("/about"));
    expect(await sidecar.client.getThread("page")).toMatchObject({ status: "running" });
  },
  180_000,
);

test("it goes on over a restart of the sidecar, and nothing is left at its end", async () => {
  const [before] = browserPids(sidecar, "program");
  expect(before).toBeDefined();
  await sidecar.restart();
  const { title } = await act(sidecar, "page", { do: "open", url: site.at("/") });
  expect(title).toBe("/");
  expect(browserPids(sidecar, "program")).toContain(before);
  expect(await sidecar.client.killThread("page")).toMatchObject({ survivors: 0 });
  await until("its processes to end", () => browserPids(sidecar, "any").length === 0);

  // A sidecar that is killed while it removes a thread leaves this.
  const below = (path: string) => join(sidecar.stateDir, "browsers", path);
  for (const path of ["page/profile", "gone/profile", "gone/attachments"])
    mkdirSync(below(path), { recursive: true });
  await sidecar.restart();
  expect(["page", "page/profile", "gone"].map((path) => existsSync(below(path)))).toEqual([
    true,
    false,
    false,
  ]);
}, 180_000);
