/** A browser does once what people write to it, or they hear that it may not have: whatever ends in the middle. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { AppError } from "../../shared/errors.ts";
import { act, browserPids, inputsOnTheirWay, openBrowser, START_MS } from "../support/browsers.ts";
import { signal } from "../support/processes.ts";
import { type SpawnedSidecar, spawnSidecar } from "../support/sidecar.ts";
import { type Site, startSite } from "../support/site.ts";
import { refusal } from "../support/threads.ts";
import { until, untilValue } from "../support/wait.ts";

let sidecar: SpawnedSidecar;
let site: Site;

beforeAll(async () => {
  site = await startSite();
  sidecar = await spawnSidecar({ BROWSER_HOSTS: site.host });
  await openBrowser(sidecar, "page", site.at("/"));
}, START_MS);
afterAll(async () => {
  await sidecar?.close();
  await site?.close();
});

/** Number 3 of the shop is its search field. */
const search = (inputId: string) =>
  sidecar.client.sendInput("page", { text: `3 ${inputId}`, enter: true, inputId });
const found = (inputId: string) =>
  site.asked.filter((path) => path.startsWith(`/search?q=${inputId}&`)).length;
const program = () => until("the browser's program to run", () => browserPids(sidecar, "program")[0]);

/** As the relay does: again and again while it is `unavailable`. */
async function sendPatiently(inputId: string): Promise<void> {
  await untilValue(
    "the input to be taken",
    () =>
      search(inputId).catch((error: unknown) => {
        if (error instanceof AppError && error.code === "unavailable") return undefined;
        throw error;
      }),
    (reply) => reply !== undefined,
    { timeoutMs: START_MS },
  );
}

/** A slow search, which is on its way while its page comes. */
async function beginSearch(inputId: string) {
  await act(sidecar, "page", { do: "open", url: site.at("/") });
  const cut = refusal(search(inputId));
  await until("the search to be on its way", () => found(inputId) === 1);
  expect(inputsOnTheirWay(sidecar)).toContain(inputId);
  return { cut };
}

test(
  "it is sent while the browser is started anew: it is done once, when the browser is there",
  async () => {
    await act(sidecar, "page", { do: "open", url: site.at("/") });
    signal(await program(), "SIGKILL");
    await sendPatiently("anew");
    await until("the page that was searched", () => found("anew") === 1);
    await sendPatiently("anew"); // the relay was killed before it noted the answer
    await act(sidecar, "page", { do: "open", url: site.at("/") });
    expect(found("anew")).toBe(1);
  },
  START_MS,
);

test(
  "it is sent while the browser stands still: it is not taken, and done once when the browser goes on",
  async () => {
    const pid = await program();
    signal(pid, "SIGSTOP");
    expect(await refusal(search("still"))).toMatchObject({ code: "unavailable" });
    expect(inputsOnTheirWay(sidecar)).toEqual([]);
    signal(pid, "SIGCONT");
    await act(sidecar, "page", { do: "open", url: site.at("/") });
    await sendPatiently("still");
    await until("the page that was searched", () => found("still") === 1);
  },
  START_MS,
);

test(
  "the sidecar ends before it has the answer: sent again, it is done once",
  async () => {
    const { cut } = await beginSearch("slow-restart");
    await sidecar.kill9();
    expect(await cut).toMatchObject({ code: "unavailable" });
    await sidecar.start();
    await sendPatiently("slow-restart");
    expect(found("slow-restart")).toBe(1);
    expect(inputsOnTheirWay(sidecar)).toEqual([]);
  },
  START_MS,
);

test(
  "the browser ends before it answers: its sender hears that nobody knows, also the second time",
  async () => {
    const { cut } = await beginSearch("slow-unknown");
    signal(await program(), "SIGKILL");
    for (const refused of [await cut, await refusal(sendPatiently("slow-unknown"))])
      expect(refused).toMatchObject({
        code: "unknown_outcome",
        message: expect.stringContaining("look at the picture before you do it again"),
      });
  },
  START_MS,
);
