/** Pages that do harm: the browser says what is the matter, stays usable, and takes no more than it may. */
import { createSocket, type Socket } from "node:dgram";
import { readdirSync, statSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MAX_ATTACHMENT_BYTES } from "../../shared/agent/attachments.ts";
import { act, type Browsing, browserPids, START_MS, startBrowsing, untilState } from "../support/browsers.ts";
import { isFull } from "../support/faults.ts";
import { until } from "../support/wait.ts";

let browsing: Browsing;
let sidecar: Browsing["sidecar"];
let site: Browsing["site"];

beforeAll(async () => {
  browsing = await startBrowsing();
  ({ sidecar, site } = browsing);
}, START_MS);
afterAll(() => browsing?.close());

const open = (path: string) => act(sidecar, "page", { do: "open", url: site.at(path) });
const look = () => act(sidecar, "page", { do: "look" });
const shown = (what: string, isMet: Parameters<typeof untilState>[3]) =>
  untilState(sidecar, "page", what, isMet);

/** Another page opens, and can be used. */
async function expectUsable(): Promise<void> {
  const { status, title, marks } = await open("/about");
  expect({ status, title, marks: marks.length }).toEqual({ status: "ready", title: "/about", marks: 1 });
}

test("a page that never loads: it says so, and can be stopped", async () => {
  const opening = open("/hang");
  await shown("that it loads", ({ status, url }) => status === "loading" && url === site.at("/hang"));
  if (isFull) expect((await shown("a reason", ({ status }) => status === "failed")).note).toContain("20 s");
  else expect((await act(sidecar, "page", { do: "stop" })).status).toMatch(/loading|failed/);
  await opening;
  await shown("its end", ({ status }) => status === "failed");
  await expectUsable();
});

test("a page whose script never ends: it says so, and another page takes its place", async () => {
  await open("/busy");
  const { status, note } = await look();
  expect({ status, note }).toMatchObject({
    status: "failed",
    note: expect.stringContaining("does not answer"),
  });
  await expectUsable();
});

test("100,000 links, and a page of 30,000 × 30,000: they are shown, within the numbers", async () => {
  await open("/many");
  // A look while the page is still being laid out finds fewer.
  const isWhole = (marks: readonly unknown[]) => marks.length === 99;
  await shown("the links", (at) => at.title === "/many" && at.status === "ready" && isWhole(at.marks));
  await open("/wide");
  const wide = await act(sidecar, "page", { do: "scroll", to: "right" });
  expect(wide).toMatchObject({ status: "ready", title: "/wide" });
  await expectUsable();
});

test("a page that asks without an end is closed", async () => {
  await open("/dialogs");
  await shown("its end", ({ note }) => note?.includes("The page has asked 11 times and is closed.") ?? false);
  await expectUsable();
});

test("a download without an end is ended at its bound, and leaves nothing", async () => {
  const before = site.sent();
  await open("/large");
  await shown("its end", ({ note }) => note?.includes("it has more than 26,214,400 bytes") ?? false);
  await until("the server to be left", () => site.isIdle());
  // The bound is looked at twenty times a second; sockets hold some of it.
  expect(site.sent() - before).toBeLessThan(MAX_ATTACHMENT_BYTES * 40);
  const files = (name: string) =>
    readdirSync(join(sidecar.stateDir, "browsers/page", name), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => statSync(join(entry.parentPath, entry.name)).size);
  await until("its file to be gone", () => files("scratch").every((size) => size < 1_000_000));
  expect(files("attachments")).toEqual([]);
  await expectUsable();
});

test("a page that opens a hundred windows, by itself and at a click, stays the only one", async () => {
  await open("/windows");
  await act(sidecar, "page", { do: "click", number: 1 });
  await shown("the one window that was meant", ({ title }) => title === "/about");
  await until("the others to be gone", () => browserPids(sidecar, "page").length <= 4);
  await expectUsable();
});

test("WebRTC and WebTransport send nothing, neither to this machine nor to its network", async () => {
  const own = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === "IPv4" && !one.internal)?.address;
  const heard: string[] = [];
  const sockets = await Promise.all(
    ["127.0.0.1", ...(own === undefined ? [] : [own])].map((address) => listen(address, heard)),
  );
  try {
    const places = sockets.map((socket) => `to=${socket.address().address}:${socket.address().port}`);
    await open(`/datagrams?${places.join("&")}`);
    await shown("that it has tried", ({ title }) => title === "Tried");
    expect(heard).toEqual([]);
  } finally {
    for (const socket of sockets) socket.close();
  }
  await expectUsable();
});

test.runIf(isFull)(
  "a page that nobody uses stands still after a minute, until its next use",
  async () => {
    const ticks = () => site.asked.filter((path) => path === "/tick").length;
    await open("/ticks");
    await until("it to run", () => ticks() > 3);
    const openedAt = performance.now();
    let last = { count: ticks(), at: openedAt };
    await until(
      "it to stand still for ten seconds",
      () => {
        if (ticks() > last.count) last = { count: ticks(), at: performance.now() };
        return performance.now() - last.at > 10_000;
      },
      { timeoutMs: START_MS, intervalMs: 500 },
    );
    expect(last.at - openedAt).toBeGreaterThan(50_000);
    await look();
    await until("it to run again", () => ticks() > last.count + 3);
    await expectUsable();
  },
  START_MS,
);

async function listen(address: string, heard: string[]): Promise<Socket> {
  const socket = createSocket("udp4");
  socket.on("message", (message, { address: from, port }) =>
    heard.push(`${message.length} bytes from ${from}:${port}`),
  );
  await new Promise<void>((resolve) => socket.bind(0, address, resolve));
  return socket;
}
