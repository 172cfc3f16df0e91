/** Looks at the sidecar's surroundings and prints what it found, as JSON, for `threadmux doctor`. Changes nothing. */
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { lookAll } from "../../shared/doctor.ts";
import { looksOfSidecar } from "./looks.ts";
import { machineAround } from "./surroundings.ts";

const builtAt = statSync(fileURLToPath(import.meta.url)).mtimeMs;
const findings = await lookAll(looksOfSidecar(process.env, machineAround(builtAt)));
process.stdout.write(JSON.stringify(findings));
