/** A backup's first file: what it is. */
import * as z from "zod";
import { AppError } from "../../shared/errors.ts";
import { VERSION } from "../../shared/version.ts";
import { NEWEST_VERSION } from "../store/migrations.ts";

export const MANIFEST = "threadmux-backup.json";
export const DATABASE = "threadmux.db";
/** The archive's own version; a newer one may mean something else by the same names. */
const FORMAT = 1;

const manifestSchema = z.object({
  format: z.int().min(1),
  version: z.string(),
  databaseVersion: z.int(),
  stateDir: z.string(),
  madeAt: z.string(),
  threads: z.int(),
  /**
   * How many bytes files that grow had when the database was copied, by their names in the archive: it may have more of
   * them, and what comes later is cut off. Left out by versions that did not cut.
   */
  ends: z.record(z.string(), z.int().min(0)).optional(),
});
export type Manifest = z.infer<typeof manifestSchema>;

export function makeManifest(facts: Omit<Manifest, "format" | "version">): Manifest {
  return { format: FORMAT, version: VERSION, ...facts };
}

/** @throws AppError `invalid_request` if this threadmux can't restore it */
export function parseManifest(file: string, text: string): Manifest {
  const manifest = manifestSchema.safeParse(jsonOf(text)).data;
  if (!manifest) throw notOne(file);
  if (manifest.format > FORMAT || manifest.databaseVersion > NEWEST_VERSION)
    throw new AppError(
      "invalid_request",
      `${file} was made by a newer threadmux (${manifest.version}, database ${manifest.databaseVersion}); this one knows database ${NEWEST_VERSION}: restore it with that one`,
    );
  return manifest;
}

export function notOne(file: string, cause?: unknown): AppError {
  return new AppError("invalid_request", `${file} is no backup that threadmux backup has made`, { cause });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the schema says so
  }
}
