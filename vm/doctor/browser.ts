/** Looks at what browser threads need. */
import { type Finding, type Look, note } from "../../shared/doctor.ts";
import { findChromium, whyNoChromium } from "../browser/find-chromium.ts";
import type { VmConfig } from "../config.ts";
import type { Surroundings } from "./surroundings.ts";

const MEND = "apt-get install -y chromium";

export function browserLooks(
  { browser, threadEnv }: VmConfig,
  { isRoot }: Pick<Surroundings, "isRoot">,
): Look[] {
  const run = (): string | Finding[] => {
    const program = findChromium(browser.program, threadEnv["PATH"] ?? "");
    // A sidecar that opens no browser needs no Chromium.
    if (program === undefined)
      return [note("browser", `${whyNoChromium(browser.program)}: /browser opens no page`, MEND)];
    if (!isRoot && browser.isSandboxed) return program;
    const says = `${program} runs without its own sandbox: a page that breaks out of it has the rights of the sidecar's user`;
    return [note("browser", says, "run the sidecar as a user that is not root, with BROWSER_SANDBOX=1")];
  };
  return [{ name: "browser", mend: MEND, run }];
}
