/** By what a request is known again, should its sender send it twice. Pure. */
import { hash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { HookPreset } from "../../shared/hooks/settings.ts";
import { findAt, type Json } from "./body.ts";

/** How long a sender's own id is known again. */
const ID_KEPT_MS = 7 * 24 * 3_600_000;
/** How long a body is, of a sender that gives no ids: the same may happen again. */
const BODY_KEPT_MS = 10 * 60_000;

export interface DeliveryId {
  /** At most 64 characters of `[\w-]`. */
  id: string;
  keptMs: number;
}

export function deliveryIdOf(
  preset: HookPreset,
  headers: IncomingHttpHeaders,
  body: Buffer,
  json: Json,
): DeliveryId {
  const own = ownId(preset, (name) => String(headers[name] ?? ""), json);
  if (own) return { id: bounded(own), keptMs: ID_KEPT_MS };
  return { id: `body-${hash("sha256", body, "base64url")}`, keptMs: BODY_KEPT_MS };
}

function ownId(preset: HookPreset, read: (name: string) => string, json: Json): string | undefined {
  switch (preset) {
    case "github":
      return read("x-github-delivery") || undefined;
    case "gitlab":
      return read("idempotency-key") || read("x-gitlab-event-uuid") || undefined;
    case "stripe": {
      const id = findAt(json?.value, "/id")?.value;
      return typeof id === "string" && id !== "" ? id : undefined;
    }
    case "standard":
      return read("webhook-id") || undefined;
    case "alertmanager":
      return alertsId(json);
    case "hmac":
    case "bearer":
      return read("idempotency-key") || read("request-id") || alertsId(json);
  }
}

/** Grafana and Alertmanager send the same alerts again as long as they last. */
function alertsId(json: Json): string | undefined {
  const read = (pointer: string) => findAt(json?.value, pointer)?.value;
  const alerts = read("/alerts");
  if (typeof read("/groupKey") !== "string" || !Array.isArray(alerts)) return undefined;
  const states = alerts.map((alert) =>
    ["/fingerprint", "/status", "/startsAt"].map((pointer) => {
      const found = findAt(alert, pointer)?.value;
      return typeof found === "string" ? found : null;
    }),
  );
  const sorted = states.map((state) => JSON.stringify(state)).sort();
  const status = read("/status");
  const all = [read("/groupKey"), typeof status === "string" ? status : null, ...sorted];
  return `alerts-${hash("sha256", JSON.stringify(all), "base64url")}`;
}

/** A sender's id as ours: itself if it fits. */
function bounded(id: string): string {
  return /^[\w-]{1,64}$/.test(id) ? id : `id-${hash("sha256", id, "base64url")}`;
}
