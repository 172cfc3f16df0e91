import { expect, test } from "vitest";
import type { HookPreset } from "../../shared/hooks/settings.ts";
import { parseBody } from "./body.ts";
import { deliveryIdOf } from "./delivery-id.ts";

const DAY_MS = 24 * 3_600_000;

function idOf(preset: HookPreset, headers: Record<string, string>, body: unknown = {}) {
  const bytes = Buffer.from(JSON.stringify(body));
  return deliveryIdOf(preset, headers, bytes, parseBody(bytes));
}

test("a sender's own id names the request for seven days", () => {
  const guid = "72d3162e-cc78-11e3-81ab-4c9367dc0958";
  expect(idOf("github", { "x-github-delivery": guid })).toEqual({ id: guid, keptMs: 7 * DAY_MS });
  expect(idOf("gitlab", { "idempotency-key": guid, "x-gitlab-event-uuid": "other" }).id).toBe(guid);
  expect(idOf("gitlab", { "x-gitlab-event-uuid": guid }).id).toBe(guid);
  expect(idOf("stripe", {}, { id: "evt_1" }).id).toBe("evt_1");
  expect(idOf("standard", { "webhook-id": "msg_1" }).id).toBe("msg_1");
  expect(idOf("hmac", { "request-id": guid }).id).toBe(guid);
  expect(idOf("bearer", { "idempotency-key": "a" }).id).toBe("a");
});

test("an id of other characters, or a long one, is bounded and stays one's own", () => {
  const ids = ["a b", "ü", "x".repeat(65), "x".repeat(10_000), "../../x"].map(
    (id) => idOf("bearer", { "idempotency-key": id }).id,
  );
  for (const id of ids) expect(id).toMatch(/^[\w-]{1,64}$/);
  expect(new Set(ids).size).toBe(ids.length);
});

test("without one the body's hash names it, for ten minutes", () => {
  for (const preset of [
    "github",
    "gitlab",
    "stripe",
    "standard",
    "alertmanager",
    "hmac",
    "bearer",
  ] as const) {
    const { id, keptMs } = idOf(preset, {}, { n: 1 });
    expect([id, keptMs]).toEqual([expect.stringMatching(/^body-[\w-]{43}$/), 600_000]);
    expect(idOf(preset, {}, { n: 1 }).id).toBe(id);
    expect(idOf(preset, {}, { n: 2 }).id).not.toBe(id);
  }
  expect(idOf("stripe", {}, { id: 5 }).id).toMatch(/^body-/);
});

test("alerts that last are the same request, whichever comes first in it", () => {
  const alert = (fingerprint: string, status = "firing") => ({ fingerprint, status, startsAt: "2026-01-01" });
  const group = (...alerts: object[]) => ({ version: "4", groupKey: "{}:{a}", status: "firing", alerts });
  for (const preset of ["alertmanager", "bearer", "hmac"] as const) {
    const { id, keptMs } = idOf(preset, {}, group(alert("a"), alert("b")));
    expect([id, keptMs]).toEqual([expect.stringMatching(/^alerts-/), 7 * DAY_MS]);
    expect(idOf(preset, {}, { ...group(alert("b"), alert("a")), truncatedAlerts: 1 }).id).toBe(id);
    const others = [
      group(alert("a")),
      group(alert("a"), alert("b", "resolved")),
      { ...group(alert("a"), alert("b")), status: "resolved" },
      { ...group(alert("a"), alert("b")), groupKey: "other" },
      group(alert("a"), { ...alert("b"), startsAt: "2026-01-02" }),
    ];
    const ids = others.map((other) => idOf(preset, {}, other).id);
    expect(new Set([id, ...ids]).size).toBe(6);
  }
});
