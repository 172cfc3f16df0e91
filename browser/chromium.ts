/** Starts Chromium on a profile of the thread's own, with all of its traffic through our proxy. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type BrowserContext, chromium } from "playwright-core";
import { makeShortTmp } from "../shared/browser/short-tmp.ts";
import { BROWSER_FILES, type BrowserSpec, VIEW } from "../shared/browser/spec.ts";
import { errorText } from "../shared/errors.ts";
import { withDeadline } from "../shared/lifecycle.ts";
import { endDescendants } from "./processes.ts";

const START_MS = 60_000;
const END_MS = 10_000;

const ARGS = [
  "--disable-gpu",
  "--disable-quic",
  // Without a proxy WebRTC would send to any address.
  "--webrtc-ip-handling-policy=disable_non_proxied_udp",
  "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
  // Loopback goes through the proxy too, and no name is resolved but by it.
  "--proxy-bypass-list=<-loopback>",
  "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
  "--disable-background-networking",
  "--disable-breakpad",
  "--disable-domain-reliability",
  "--no-pings",
  "--renderer-process-limit=4",
  "--disk-cache-size=33554432",
  "--media-cache-size=8388608",
  "--mute-audio",
];

export interface ChromiumOptions {
  spec: Pick<BrowserSpec, "program" | "isSandboxed">;
  /** The thread's folder. */
  folder: string;
  proxyPort: number;
  env: Readonly<Record<string, string | undefined>>;
}

/** @throws Error in words for a person if it does not start */
export async function startChromium({
  spec,
  folder,
  proxyPort,
  env,
}: ChromiumOptions): Promise<BrowserContext> {
  const profile = join(folder, BROWSER_FILES.profile);
  const scratch = join(folder, BROWSER_FILES.scratch);
  // A Chromium that was killed leaves a lock, which another one would wait for.
  for (const name of ["SingletonLock", "SingletonSocket", "SingletonCookie"])
    rmSync(join(profile, name), { force: true });
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true, mode: 0o700 });
  try {
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: spec.program,
      headless: true,
      chromiumSandbox: spec.isSandboxed,
      args: ARGS,
      // Its popup blocker stays on.
      ignoreDefaultArgs: ["--disable-popup-blocking"],
      proxy: { server: `http://127.0.0.1:${proxyPort}`, bypass: "<-loopback>" },
      viewport: VIEW,
      deviceScaleFactor: 1,
      acceptDownloads: true,
      downloadsPath: scratch,
      permissions: [],
      serviceWorkers: "allow",
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      timeout: START_MS,
      env: chromiumEnv(env, scratch, makeShortTmp(folder, scratch)),
    });
    return context;
  } catch (error) {
    throw new Error(`Chromium (${spec.program}) does not start: ${firstLines(errorText(error))}`);
  }
}

/** Ends Chromium, also one that does not answer. */
export async function endChromium(context: BrowserContext): Promise<void> {
  // One that has died is closed already.
  await withDeadline(context.close(), END_MS, "closing Chromium").catch(() => endDescendants());
}

/** Nothing of it is written outside of the thread's folder but what it makes in its short one. */
function chromiumEnv(
  env: Readonly<Record<string, string | undefined>>,
  scratch: string,
  tmp: string,
): Record<string, string> {
  const own = Object.fromEntries(Object.entries(env).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]])));
  return { ...own, HOME: scratch, TMPDIR: tmp, XDG_CONFIG_HOME: scratch, XDG_CACHE_HOME: scratch };
}

/** Playwright adds Chromium's whole log. */
function firstLines(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const reason = lines.find((line) =>
    /sandbox|error while loading|cannot open|Permission denied/i.test(line),
  );
  return [lines[0] ?? "", ...(reason === undefined || reason === lines[0] ? [] : [reason.trim()])]
    .join(" ")
    .slice(0, 500);
}
