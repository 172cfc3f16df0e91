/** Looks at the relay's surroundings and prints what it found, as JSON, for `threadmux doctor`. Changes nothing. */
import { lookAll } from "../../shared/doctor.ts";
import { looksOfRelay } from "./looks.ts";

const findings = await lookAll(looksOfRelay(process.env));
process.stdout.write(JSON.stringify(findings));
