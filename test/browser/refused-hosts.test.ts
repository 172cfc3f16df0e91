/**
 * A browser reaches no refused host: asked for by people, after a redirect, in a page, or by a name that leads inside.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { act, type Browsing, START_MS, startBrowsing } from "../support/browsers.ts";
import { type Site, startSite } from "../support/site.ts";
import { refusal } from "../support/threads.ts";

let browsing: Browsing;
let sidecar: Browsing["sidecar"];
let site: Browsing["site"];
/** A site on the same machine that no setting opens to the browser. */
let secret: Site;

beforeAll(async () => {
  secret = await startSite();
  browsing = await startBrowsing();
  ({ sidecar, site } = browsing);
}, START_MS);
afterAll(async () => {
  await browsing?.close();
  await secret?.close();
});

const port = () => secret.host.split(":")[1] ?? "";

test.each([
  ["file:///etc/passwd", "url: must begin with http:// or https://"],
  ["ftp://127.0.0.1/x", "url: must begin with http:// or https://"],
  ["http://nothing.invalid/", "url: nothing.invalid does not resolve"],
  ["http://169.254.169.254/latest/meta-data", "url: 169.254.169.254 is in a network that is not public"],
  ["http://0.0.0.0/", "url: 0.0.0.0 "],
  ["http://2130706433/", "url: 127.0.0.1 is"],
  ["http://0x7f.1/", "url: 127.0.0.1 is"],
  ["http://[::1]/", "url: ::1 is"],
  ["http://[::ffff:127.0.0.1]/", "url: ::ffff:7f00:1 is"],
])("%s is opened neither in a new thread nor in an old one", async (url, sentence) => {
  const create = { threadId: "none", type: "browser", dir: ".", command: url } as const;
  expect(await refusal(sidecar.client.createThread(create))).toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining(sentence),
  });
  expect(await refusal(act(sidecar, "page", { do: "open", url }))).toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining(sentence),
  });
});

// Promise: S50
test("a redirect, an image and a name that leads inside are refused, and nothing of them is asked for", async () => {
  const hidden = `http://localhost:${port()}/`;
  const byName = await refusal(act(sidecar, "page", { do: "open", url: hidden }));
  expect(byName?.message).toMatch(/localhost leads to \S+, which is/);
  for (const target of [hidden, secret.at("/"), `http://[::ffff:127.0.0.1]:${port()}/`]) {
    const state = await act(sidecar, "page", {
      do: "open",
      url: site.at(`/to?url=${encodeURIComponent(target)}`),
    });
    expect(state, target).toMatchObject({ status: "failed" });
    expect(state.note, target).toContain("BROWSER_HOSTS");
    const embeds = site.at(`/embeds?url=${encodeURIComponent(target)}`);
    const seen = await act(sidecar, "page", { do: "open", url: embeds });
    expect(seen, target).toMatchObject({ status: "ready", title: "Embeds" });
    expect(seen.note, target).toContain("Refused: ");
  }
  expect(secret.asked).toEqual([]);
}, 120_000);
