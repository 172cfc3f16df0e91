/** Whether a request comes from the hook's sender: by a signature over the raw bytes of its body, or by a token. Pure. */
import { createHmac, hash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { HMAC_ALGORITHMS, type HmacAlgorithm, type HookProof } from "../../shared/hooks/settings.ts";

/** How far a signed time may be from ours, both ways. */
const MAX_SKEW_SECONDS = 300;
/** Senders that change their secret sign with the old one too. */
const MAX_SIGNATURES = 10;

export interface SentRequest {
  headers: IncomingHttpHeaders;
  /** As it came. */
  body: Buffer;
}

export type Verdict =
  | { kind: "right" }
  | { kind: "wrong" }
  /** Signed by the sender, at another time. */
  | { kind: "stale"; header: string };

/** What a request says to prove itself. */
interface Claim {
  key: Buffer;
  algorithm: HmacAlgorithm;
  /** Signed before the body. */
  before: string;
  signatures: readonly Buffer[];
  /** In place of signatures. */
  token?: string;
  time?: { header: string; seconds: number };
}

/** For a name that no hook has: all that is done for one is done for it. */
const NO_SECRET = "no hook has this secret";
const NO_HOOK: HookProof = { preset: "bearer" };

/**
 * Takes as long for a wrong secret as for a right one, and as long for a name that no hook has: every algorithm is
 * run over the body, whichever of them counts.
 * @param hook undefined: there is none of that name
 */
export function judgeProof(
  hook: { proof: HookProof; secret: string } | undefined,
  { headers, body }: SentRequest,
  now: number,
): Verdict {
  const { proof, secret } = hook ?? { proof: NO_HOOK, secret: NO_SECRET };
  const claim = claimOf(proof, secret, headers);
  const digests = Object.fromEntries(
    HMAC_ALGORITHMS.map((algorithm) => [
      algorithm,
      createHmac(algorithm, claim.key).update(claim.before).update(body).digest(),
    ]),
  ) as Record<HmacAlgorithm, Buffer>;
  const hasToken = isSame(sha256(claim.token ?? ""), sha256(secret)) && claim.token !== undefined;
  const expected = digests[claim.algorithm];
  const matches = claim.signatures.filter((signature) => isSame(signature, expected));
  const isRight = hook !== undefined && (matches.length > 0 || hasToken);
  if (!isRight) return { kind: "wrong" };
  const { time } = claim;
  if (time && !(Math.abs(now / 1000 - time.seconds) <= MAX_SKEW_SECONDS))
    return { kind: "stale", header: time.header };
  return { kind: "right" };
}

function claimOf(proof: HookProof, secret: string, headers: IncomingHttpHeaders): Claim {
  const nothing = { key: Buffer.from(secret), algorithm: "sha256", before: "", signatures: [] } as const;
  const read = (name: string) => String(headers[name] ?? "");
  switch (proof.preset) {
    case "github":
      return {
        ...nothing,
        signatures: digestsIn([read("x-hub-signature-256").replace(/^sha256=/, "")], "hex"),
      };
    case "gitlab":
      return { ...nothing, ...tokenIn(read("x-gitlab-token")) };
    case "alertmanager":
    case "bearer":
      return { ...nothing, ...tokenIn(tokenOf(read("authorization"))) };
    case "stripe":
      return { ...nothing, ...stripeClaim(read("stripe-signature")) };
    case "standard":
      return { ...nothing, ...standardClaim(secret, read) };
    case "hmac": {
      const { header, timestampHeader, algorithm, signs } = proof;
      const sent = read(header).replace(/^[\w-]{1,16}=(?=.)/, "");
      const stamp = timestampHeader === undefined ? "" : read(timestampHeader);
      return {
        ...nothing,
        algorithm,
        before: signs.replace("{body}", "").replace("{timestamp}", () => stamp),
        signatures: [...digestsIn([sent], "hex"), ...digestsIn([sent], "base64")],
        ...(timestampHeader !== undefined && { time: timeIn(timestampHeader, stamp) }),
      };
    }
  }
}

/** `t=1700000000,v1=<hex>,v1=<hex>` over `<t>.<body>`. */
function stripeClaim(header: string): Partial<Claim> {
  const parts = header.split(",", 2 * MAX_SIGNATURES).map((part) => part.trim());
  const valuesOf = (name: string) =>
    parts.filter((part) => part.startsWith(`${name}=`)).map((part) => part.slice(name.length + 1));
  const [stamp = ""] = valuesOf("t");
  return {
    before: `${stamp}.`,
    signatures: digestsIn(valuesOf("v1"), "hex"),
    time: timeIn("stripe-signature", stamp),
  };
}

/** `v1,<base64> v1,<base64>` over `<id>.<timestamp>.<body>`; the secret is base64 after `whsec_`. */
function standardClaim(secret: string, read: (name: string) => string): Partial<Claim> {
  const stamp = read("webhook-timestamp");
  if (read("webhook-id") === "") return {};
  const sent = read("webhook-signature").split(" ", 2 * MAX_SIGNATURES);
  const signatures = sent.filter((one) => one.startsWith("v1,")).map((one) => one.slice(3));
  return {
    key: Buffer.from(secret.replace(/^whsec_/, ""), "base64"),
    before: `${read("webhook-id")}.${stamp}.`,
    signatures: digestsIn(signatures, "base64"),
    time: timeIn("webhook-timestamp", stamp),
  };
}

/** Alertmanager also sends `Basic`, where the secret is the password. */
function tokenOf(authorization: string): string {
  const [, scheme = "", value = ""] = /^(Bearer|Basic) +(\S+)$/i.exec(authorization) ?? [];
  if (scheme.toLowerCase() !== "basic") return value;
  return Buffer.from(value, "base64")
    .toString()
    .replace(/^[^:]*:?/, "");
}

function tokenIn(token: string): Partial<Claim> {
  return token === "" ? {} : { token };
}

function timeIn(header: string, stamp: string): { header: string; seconds: number } {
  return { header, seconds: /^\d{1,12}$/.test(stamp) ? Number(stamp) : Number.NaN };
}

function digestsIn(texts: readonly string[], encoding: "hex" | "base64"): Buffer[] {
  const shape = encoding === "hex" ? /^(?:[0-9a-f]{2}){1,64}$/i : /^[\w+/-]{2,88}={0,2}$/;
  return texts
    .slice(0, MAX_SIGNATURES)
    .filter((text) => shape.test(text))
    .map((text) => Buffer.from(text, encoding));
}

function isSame(one: Buffer, other: Buffer): boolean {
  // A text of another length is compared with itself, so that the time is the same.
  return timingSafeEqual(one.length === other.length ? one : other, other) && one.length === other.length;
}

function sha256(text: string): Buffer {
  return hash("sha256", text, "buffer");
}

/** What a sender of this preset puts on a request: for tests of a hook by hand. @param nowSeconds since 1970 */
export function signRequest(
  proof: HookProof,
  secret: string,
  body: Buffer,
  { id, nowSeconds }: { id: string; nowSeconds: number },
): Record<string, string> {
  const sign = (algorithm: HmacAlgorithm, key: Buffer, before: string) =>
    createHmac(algorithm, key).update(before).update(body);
  const key = Buffer.from(secret);
  switch (proof.preset) {
    case "github":
      return {
        "x-github-delivery": id,
        "x-github-event": "ping",
        "x-hub-signature-256": `sha256=${sign("sha256", key, "").digest("hex")}`,
      };
    case "gitlab":
      return { "idempotency-key": id, "x-gitlab-token": secret };
    case "stripe":
      return {
        "stripe-signature": `t=${nowSeconds},v1=${sign("sha256", key, `${nowSeconds}.`).digest("hex")}`,
      };
    case "standard": {
      const bytes = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
      return {
        "webhook-id": id,
        "webhook-timestamp": String(nowSeconds),
        "webhook-signature": `v1,${sign("sha256", bytes, `${id}.${nowSeconds}.`).digest("base64")}`,
      };
    }
    case "alertmanager":
      return { authorization: `Bearer ${secret}` };
    case "bearer":
      return { authorization: `Bearer ${secret}`, "idempotency-key": id };
    case "hmac": {
      const { header, timestampHeader, algorithm, signs } = proof;
      const before = signs.replace("{body}", "").replace("{timestamp}", String(nowSeconds));
      return {
        "idempotency-key": id,
        [header]: sign(algorithm, key, before).digest("hex"),
        ...(timestampHeader !== undefined && { [timestampHeader]: String(nowSeconds) }),
      };
    }
  }
}
