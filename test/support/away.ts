/** A sidecar that is away: whoever asks it gets no answer. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { TestSidecar } from "./sidecar.ts";
import { until } from "./wait.ts";

/** Stops the sidecar, does something, and starts it again when it was asked for that path in vain. */
export async function whileAway({ url, stop, restart }: TestSidecar, act: () => string): Promise<void> {
  await stop();
  const asked = new Set<string | undefined>();
  const nobody = createServer((request) => {
    asked.add(request.url);
    request.socket.destroy();
  });
  await once(nobody.listen(Number(new URL(url).port), "127.0.0.1"), "listening");
  const path = act();
  try {
    await until(`${path} to be asked for in vain`, () => asked.has(path));
  } finally {
    nobody.close();
  }
  await once(nobody, "close");
  await restart();
}
