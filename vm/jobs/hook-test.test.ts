/** An example for a hook goes to an address, at which another program may listen. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import type { Hook } from "../hooks/intake.ts";
import { HookTests } from "./hook-test.ts";

let server: Server | undefined;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
});

async function testsAt(answer: Parameters<typeof createServer>[1]): Promise<HookTests> {
  server = createServer(answer);
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const hook = { secret: "s".repeat(32), settings: { proof: { preset: "bearer" } } } as unknown as Hook;
  const tests = new HookTests({ findHook: () => hook, now: Date.now });
  tests.setUrl(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return tests;
}

test("an answer that never ends is read no further than a hook's door writes", async () => {
  let isOver = false;
  const tests = await testsAt((_, response) => {
    const write = () => {
      while (!isOver && response.write("x".repeat(64 * 1024)));
    };
    response.on("drain", write);
    response.on("close", () => {
      isOver = true;
    });
    write();
  });
  expect(await tests.send("ci", undefined)).toEqual({
    status: 200,
    answer: "(more than 64 KiB, which no hook's door answers)",
  });
  await expect.poll(() => isOver).toBe(true);
});

test("a short answer is told as it is", async () => {
  const tests = await testsAt((_, response) => void response.writeHead(202).end("begun"));
  expect(await tests.send("ci", undefined)).toEqual({ status: 202, answer: "begun" });
});
