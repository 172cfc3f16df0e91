/** A viewer whose terminal has a size of its own, as `threadmux attach` has. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { attach, refusedWith } from "../support/console.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar();
  await openTerminal(sidecar.client, "a", "echo up; exec sleep 600", { cols: 90, rows: 20 });
});
afterAll(() => sidecar.close());

async function clients(format: string): Promise<string[]> {
  const all = await sidecar.folders.tmux("list-clients", "-t", "=thread-a", "-F", format);
  return all.split("\n").filter((line) => line !== "");
}

test("is drawn for in that size and in each that it names later; the thread keeps its own", async () => {
  const viewer = await attach(sidecar, "a", { query: "?cols=300&rows=70" });
  await viewer.untilScreen("up");
  expect(viewer.frames[0]).toEqual({ type: "size", cols: 90, rows: 20 });
  const size = "#{client_width}x#{client_height}";
  expect(await clients(size)).toEqual(["300x70"]);
  for (let i = 1; i <= 500; i++) viewer.socket.send(JSON.stringify({ type: "viewport", cols: i, rows: i }));
  viewer.socket.send(JSON.stringify({ type: "viewport", cols: 1, rows: 1 }));
  await until("the smallest terminal", async () => (await clients(size))[0] === "1x1");
  await sidecar.client.resizeThread("a", { cols: 100, rows: 30 });
  await viewer.untilFrame("size", ({ cols, rows }) => cols === 100 && rows === 30);
  viewer.socket.send(JSON.stringify({ type: "viewport", cols: 40, rows: 10 }));
  await until("the last one", async () => (await clients(size))[0] === "40x10");
  expect(await sidecar.client.getThread("a")).toMatchObject({ cols: 100, rows: 30 });
  expect(await sidecar.folders.tmux("list-windows", "-t", "=thread-a", "-F", "#{window_width}")).toBe(
    "100\n",
  );
  await viewer.close();
});

test("a plain terminal is sent no true colour", async () => {
  await until("nobody else", async () => (await clients("x")).length === 0);
  const plain = await attach(sidecar, "a", { query: "?plain=1" });
  await plain.untilScreen("up");
  expect((await clients("#{client_termfeatures}")).join()).not.toMatch(/RGB/);
  const rich = await attach(sidecar, "a");
  await rich.untilScreen("up");
  expect((await clients("#{client_termfeatures}")).filter((names) => /RGB/.test(names))).toHaveLength(1);
  await Promise.all([plain.close(), rich.close()]);
});

test.each([
  "cols=80",
  "rows=24",
  "cols=0&rows=1",
  "cols=1001&rows=1",
  "cols=1e2&rows=1",
  "cols=&rows=",
  "plain=0",
])("%s is refused", async (query) => {
  expect(await refusedWith(attach(sidecar, "a", { query: `?${query}` }))).toBe(400);
});

test("a size that no terminal has closes the socket", async () => {
  for (const size of [{ cols: 0, rows: 1 }, { cols: 1.5, rows: 1 }, { cols: 1, rows: 501 }, { cols: 1 }]) {
    const viewer = await attach(sidecar, "a");
    viewer.socket.send(JSON.stringify({ type: "viewport", ...size }));
    expect(await viewer.closed).toBe(4400);
  }
});
