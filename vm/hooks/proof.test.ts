import { createHmac, randomBytes } from "node:crypto";
import { sign, verify } from "@octokit/webhooks-methods";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import { findSecretProblem, type HookProof, hookProofSchema } from "../../shared/hooks/settings.ts";
import { judgeProof, signRequest } from "./proof.ts";

const NOW = 1_750_000_000_000;
const SECONDS = NOW / 1000;
const SECRET = "It's a secret to everybody".replaceAll(" ", "-");
const BASE64_SECRET = `whsec_${Buffer.from("a key of twenty-four byte").toString("base64")}`;
const hmac = (proof: object) => hookProofSchema.parse({ preset: "hmac", ...proof });
const SENTRY = hmac({ header: "Sentry-Hook-Signature" });
const GRAFANA = hmac({
  header: "X-Grafana-Alerting-Signature",
  timestampHeader: "X-Grafana-Alerting-Timestamp",
  signs: "{timestamp}:{body}",
});

const PROOFS: [string, HookProof, string][] = [
  ["github", { preset: "github" }, SECRET],
  ["gitlab", { preset: "gitlab" }, SECRET],
  ["stripe", { preset: "stripe" }, SECRET],
  ["standard", { preset: "standard" }, BASE64_SECRET],
  ["alertmanager", { preset: "alertmanager" }, SECRET],
  ["bearer", { preset: "bearer" }, SECRET],
  ["hmac of the body", SENTRY, SECRET],
  ["hmac of a time and the body", GRAFANA, SECRET],
  ["hmac by sha512", hmac({ header: "x-sig", algorithm: "sha512" }), SECRET],
  ["hmac by sha1", hmac({ header: "x-sig", algorithm: "sha1" }), SECRET],
];

const BODIES = ["", "{}", '{"a":"ü"}', "\u0000\r\n\u2028", "x".repeat(70_000)].map((text) =>
  Buffer.from(text),
);

describe.each(PROOFS)("%s", (_name, proof, secret) => {
  const headersOf = (body: Buffer, key = secret, nowSeconds = SECONDS) =>
    signRequest(proof, key, body, { id: "id-1", nowSeconds });
  const judge = (headers: Record<string, string>, body: Buffer) =>
    judgeProof({ proof, secret }, { headers, body }, NOW).kind;

  test("what the sender signs is right, whatever the body", () => {
    for (const body of BODIES) expect(judge(headersOf(body), body)).toBe("right");
  });

  test("another secret, no header, each header changed in one place: wrong or old, never right", () => {
    const [, body = Buffer.alloc(0)] = BODIES;
    const other = secret === SECRET ? `${SECRET}!` : `whsec_${randomBytes(24).toString("base64")}`;
    expect(judge(headersOf(body, other), body)).toBe("wrong");
    expect(judge({}, body)).toBe("wrong");
    const headers = headersOf(body);
    const judged = Object.keys(headers).filter((name) => !/delivery|event|idempotency/.test(name));
    for (const name of judged) {
      expect(judge({ ...headers, [name]: "" }, body), name).not.toBe("right");
      const value = headers[name] ?? "";
      for (let at = 0; at < value.length; at++) {
        const changed = `${value.slice(0, at)}${value[at] === "0" ? "1" : "0"}${value.slice(at + 1)}`;
        if (changed.toLowerCase() === value.toLowerCase()) continue;
        // A digest's last character of base64 has bits that mean nothing.
        if (proof.preset === "standard" && at >= value.length - 2) continue;
        expect(judge({ ...headers, [name]: changed }, body), `${name} ${changed}`).not.toBe("right");
      }
    }
  });

  test("a body changed by one byte is wrong where bodies are signed", () => {
    const body = Buffer.from('{"a":1}');
    const isSigned = !/gitlab|alertmanager|bearer/.test(proof.preset);
    expect(judge(headersOf(body), Buffer.from('{"a":2}'))).toBe(isSigned ? "wrong" : "right");
  });

  test("no name, no hook", () => {
    const body = Buffer.from("{}");
    expect(judgeProof(undefined, { headers: headersOf(body), body }, NOW).kind).toBe("wrong");
    const guess = {
      authorization: "Bearer no hook has this secret",
      "x-gitlab-token": "no hook has this secret",
    };
    expect(judgeProof(undefined, { headers: guess, body }, NOW).kind).toBe("wrong");
  });
});

test.each([
  ["stripe", { preset: "stripe" } as const, SECRET],
  ["standard", { preset: "standard" } as const, BASE64_SECRET],
  ["grafana", GRAFANA, SECRET],
])(
  "%s: a time more than five minutes off is old, both ways, and only if it is signed",
  (_, proof, secret) => {
    const body = Buffer.from("{}");
    const judgeAt = (nowSeconds: number, key = secret) =>
      judgeProof(
        { proof, secret },
        { headers: signRequest(proof, key, body, { id: "a", nowSeconds }), body },
        NOW,
      ).kind;
    expect([-300, 300].map((off) => judgeAt(SECONDS + off))).toEqual(["right", "right"]);
    expect([-301, 301, -SECONDS].map((off) => judgeAt(SECONDS + off))).toEqual(["stale", "stale", "stale"]);
    expect(judgeAt(SECONDS - 301, `whsec_${"A".repeat(32)}`)).toBe("wrong");
  },
);

test("GitHub's own signatures are judged as its library judges them", async () => {
  for (const body of BODIES.slice(1)) {
    const signature = await sign(SECRET, body.toString());
    for (const sent of [
      signature,
      signature.slice(0, -1),
      `${signature}0`,
      signature.slice(7),
      "sha256=",
      "x",
    ]) {
      const isRight = await verify(SECRET, body.toString(), sent);
      const verdict = judgeProof(
        { proof: { preset: "github" }, secret: SECRET },
        { headers: { "x-hub-signature-256": sent }, body },
        NOW,
      );
      // The library also refuses the bare digest; it proves as much.
      if (sent !== signature.slice(7))
        expect([sent, verdict.kind]).toEqual([sent, isRight ? "right" : "wrong"]);
    }
  }
});

test("Standard Webhooks are judged as their library judges them", () => {
  const library = new Webhook(BASE64_SECRET);
  const now = Math.floor(Date.now() / 1000);
  const body = Buffer.from('{"type":"deploy.done"}');
  const signed = (id: string, seconds: number) => ({
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": library.sign(id, new Date(seconds * 1000), body.toString()),
  });
  const right = signed("msg_1", now);
  const cases = [
    right,
    { ...right, "webhook-signature": `v1a,abc v1,AAAA ${right["webhook-signature"]}` },
    { ...right, "webhook-signature": right["webhook-signature"].slice(3) },
    { ...right, "webhook-id": "msg_2" },
    { ...right, "webhook-timestamp": String(now + 1) },
    { ...right, "webhook-timestamp": "soon" },
    { ...right, "webhook-id": "" },
    signed("msg_1", now - 290),
    signed("msg_1", now - 400),
    signed("msg_1", now + 400),
  ];
  for (const headers of cases) {
    const isRight = (() => {
      try {
        library.verify(body.toString(), headers);
        return true;
      } catch {
        return false;
      }
    })();
    const proof = { preset: "standard" } as const;
    const verdict = judgeProof({ proof, secret: BASE64_SECRET }, { headers, body }, now * 1000);
    expect([headers, verdict.kind === "right"]).toEqual([headers, isRight]);
  }
});

test("a signature in base64, and with a word before it", () => {
  const body = Buffer.from("{}");
  const digest = createHmac("sha256", SECRET).update(body).digest();
  const [base64, hex] = [digest.toString("base64"), digest.toString("hex")];
  for (const sent of [base64, hex, hex.toUpperCase(), `sha256=${hex}`, `v0=${base64}`])
    expect(
      judgeProof({ proof: SENTRY, secret: SECRET }, { headers: { "sentry-hook-signature": sent }, body }, NOW)
        .kind,
    ).toBe("right");
});

test("the secret as the password of Basic", () => {
  const authorization = `Basic ${Buffer.from(`alerts:${SECRET}`).toString("base64")}`;
  const judge = (secret: string) =>
    judgeProof(
      { proof: { preset: "alertmanager" }, secret },
      { headers: { authorization }, body: Buffer.alloc(0) },
      NOW,
    ).kind;
  expect([judge(SECRET), judge(`${SECRET}!`)]).toEqual(["right", "wrong"]);
});

test("settings that could prove nothing are refused, with the field", () => {
  const issuesOf = (proof: object) =>
    hookProofSchema.safeParse(proof).error?.issues.map(({ path }) => path.join("."));
  expect(issuesOf({ preset: "hmac" })).toEqual(["header"]);
  expect(issuesOf({ preset: "hmac", header: "a b" })).toEqual(["header"]);
  expect(issuesOf({ preset: "hmac", header: "a", algorithm: "md5" })).toEqual(["algorithm"]);
  expect(issuesOf({ preset: "hmac", header: "a", signs: "x{body}" })).toEqual(["signs"]);
  expect(issuesOf({ preset: "hmac", header: "a", timestampHeader: "b" })).toEqual(["timestampHeader"]);
  expect(issuesOf({ preset: "hmac", header: "a", signs: "{timestamp}.{body}" })).toEqual(["timestampHeader"]);
  expect(issuesOf({ preset: "github", header: "a" })).toEqual([""]);
  expect(findSecretProblem("github", "short")).toMatch(/at least 16/);
  expect(findSecretProblem("github", SECRET)).toBeUndefined();
  // Read as base64 these are no bytes, or few: anybody could sign with them.
  for (const secret of ["whsec_!!!!!!!!!!!!!!!!", "----------------", "whsec_AAAAAAAAAAAA"])
    expect(findSecretProblem("standard", secret), secret).toMatch(/base64/);
  expect(findSecretProblem("standard", BASE64_SECRET)).toBeUndefined();
});

test("a wrong secret takes as long as a right one, and as no hook at all", () => {
  const body = randomBytes(500);
  const proof = { preset: "github" } as const;
  const right = { headers: signRequest(proof, SECRET, body, { id: "a", nowSeconds: SECONDS }), body };
  const wrong = { headers: signRequest(proof, `${SECRET}!`, body, { id: "a", nowSeconds: SECONDS }), body };
  const hook = { proof, secret: SECRET };
  const times: Record<"right" | "wrong" | "none", number[]> = { right: [], wrong: [], none: [] };
  const ways = [
    ["right", hook, right],
    ["wrong", hook, wrong],
    ["none", undefined, wrong],
  ] as const;
  for (let i = 0; i < 1_000; i++) {
    for (const [way, of, request] of ways) {
      const startedAt = process.hrtime.bigint();
      judgeProof(of, request, NOW);
      times[way].push(Number(process.hrtime.bigint() - startedAt));
    }
  }
  const medianOf = (way: keyof typeof times) => times[way].sort((a, b) => a - b)[500] ?? 0;
  const medians = [medianOf("right"), medianOf("wrong"), medianOf("none")];
  // Loosely here, where other tests run beside it.
  expect(Math.max(...medians) / Math.min(...medians)).toBeLessThan(1.25);
});
